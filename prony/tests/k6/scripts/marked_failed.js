// A run that its script marks as failed goes on to its end.
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const done = new Counter("done");
export const options = { vus: 1, iterations: 4 };

export default function () {
  if (exec.scenario.iterationInTest === 1) exec.test.fail("not good enough");
  done.add(1);
}
