// A script that ends the run; teardown still runs.
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const ends = new Counter("ends");
export const options = { vus: 1, iterations: 50 };
export default function () {
  if (exec.scenario.iterationInTest === 3) exec.test.abort("enough");
}
export function teardown() {
  ends.add(1);
}
