// The part of the module `k6` that parks.
import vm from "prony:vm";

export function sleep(seconds) {
  vm.sleep(seconds);
  if (vm.park()) vm.unwind();
}
