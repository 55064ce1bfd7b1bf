// Users that sleep at every depth, throw, run out of stack, and are ended while they sleep. `cargo xtask valgrind` runs it.
import { check, sleep } from 'k6';
import exec from 'k6/execution';

export const options = {
  scenarios: {
    rest: { executor: 'per-vu-iterations', vus: 40, iterations: 3, maxDuration: '10m', exec: 'rest' },
    ended: { executor: 'constant-vus', vus: 10, duration: '2s', gracefulStop: '0s', exec: 'ended' },
  },
  thresholds: { checks: ['rate==1'] },
};

const deep = (n) => (n === 0 ? 0 : 1 + deep(n - 1));
const endless = () => 1 + endless();

function below(n, values, seconds) {
  const own = values.map((value) => value + n);
  if (n > 0) return below(n - 1, own, seconds) + own[0];
  sleep(seconds);
  return own[0];
}

function* numbers() {
  for (let number = 0; number < 3; number += 1) {
    sleep(0.001);
    yield number;
  }
}

function caught(act) {
  try {
    act();
  } catch (error) {
    return error instanceof Error;
  }
  return false;
}

export function rest() {
  const user = exec.vu.idInTest;
  check(null, {
    'what was on the stack is there after a sleep': () => below(8, [user], 0.01) === 9 * user + 240,
    'a stack that is used up is an error': () => caught(endless),
    'an error goes through native code': () =>
      caught(() =>
        [1].map(() => {
          sleep(0.001);
          throw new Error('no');
        }),
      ),
    'a generator sleeps': () => [...numbers()].join() === '0,1,2',
    'the stack is whole afterwards': () => deep(60) === 60,
  });
}

export function ended() {
  below(20, [exec.vu.idInTest], 600);
}
