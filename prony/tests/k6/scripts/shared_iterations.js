// Iterations that users share: each number is there once.
import { Trend } from "k6/metrics";
import exec from "k6/execution";
import { sleep } from "k6";

const number = new Trend("number");
export const options = { scenarios: { all: { executor: "shared-iterations", vus: 4, iterations: 20, maxDuration: "20s" } } };

export default function () {
  number.add(exec.scenario.iterationInTest);
  sleep(0.01);
}
