// What goes wrong in iterations ends them, and not the run.
import { check, fail, group } from "k6";
import { Counter } from "k6/metrics";
import exec from "k6/execution";

const reached = new Counter("reached");
export const options = { vus: 1, iterations: 6 };

export default function () {
  reached.add(1, { at: "begin" });
  switch (exec.scenario.iterationInTest) {
    case 0: throw new Error("thrown");
    case 1: fail("failed");
    case 2: undefined.property;
    case 3: group("inner", () => { throw "a text"; });
    case 4: check(1, { "throws": () => { throw new Error("in a check"); } });
  }
  reached.add(1, { at: "end" });
}
