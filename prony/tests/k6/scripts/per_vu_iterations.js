// As many iterations for each user, and their numbers.
import { Trend } from "k6/metrics";
import exec from "k6/execution";

const number = new Trend("number");
const user = new Trend("user");
export const options = { scenarios: { each: { executor: "per-vu-iterations", vus: 3, iterations: 4, tags: { kind: "each" } } } };

export default function () {
  number.add(exec.vu.iterationInScenario, { of: "user" });
  number.add(__ITER, { of: "global" });
  user.add(exec.vu.idInTest);
}
