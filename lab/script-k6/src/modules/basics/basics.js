import k6 from "prony:k6";
import vm from "prony:vm";

export const { check, fail, randomSeed } = k6;

export function sleep(seconds) {
  vm.sleep(+seconds);
  if (vm.park()) vm.unwind();
}

export function group(name, callback) {
  k6.enterGroup(name, callback);
  try {
    return callback();
  } finally {
    k6.leaveGroup();
  }
}

export default { check, fail, randomSeed, sleep, group };
