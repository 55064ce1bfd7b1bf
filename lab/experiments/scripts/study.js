// What the experiment's scripts share: the load, the objective, the question, and what is said at the end.
// Variables, each with a default: TARGET, USERS, RAMP, HOLD, LIMIT, ROWS, SUMMARY.
import http from 'k6/http';
import { check, sleep } from 'k6';
import { Rate } from 'k6/metrics';
import { textSummary } from 'https://jslib.k6.io/k6-summary/0.0.1/index.js';

const address = `${__ENV.TARGET || 'http://127.0.0.1:8080'}/graphql`;
const users = Number(__ENV.USERS || 100);
const ramp = __ENV.RAMP || '30s';
const hold = __ENV.HOLD || '30s';

export const limit = Number(__ENV.LIMIT || 50);
export const rows = Number(__ENV.ROWS || 100000);

const failures = new Rate('failures');

export const options = {
  stages: [
    { duration: ramp, target: users },
    { duration: hold, target: users },
  ],
  thresholds: {
    http_req_duration: [{ threshold: 'p(95)<500', abortOnFail: true, delayAbortEval: ramp }],
    failures: [{ threshold: 'rate<0.01', abortOnFail: true, delayAbortEval: ramp }],
  },
};

const params = { headers: { 'Content-Type': 'application/json', Accept: 'application/json' } };

// One question, and the time in which its answer is read.
export function ask(query, variables, seconds) {
  const answer = http.post(address, JSON.stringify({ query, variables }), params);
  const isWhole = check(answer, {
    'has rows and no errors': (r) => r.status === 200 && !r.body.includes('"errors"'),
  });
  failures.add(!isWhole);
  sleep(seconds);
}

// A whole number from 0 to `most`.
export function upTo(most) {
  return Math.floor(Math.random() * (most + 1));
}

export function handleSummary(data) {
  return {
    stdout: textSummary(data, { indent: ' ', enableColors: false }),
    [__ENV.SUMMARY || 'summary.json']: JSON.stringify(data),
  };
}
