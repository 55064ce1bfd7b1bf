// A constant rate of starts, each with its number.
import exec from "k6/execution";
import { Trend } from "k6/metrics";

const number = new Trend("number");
export const options = {
  scenarios: { even: { executor: "constant-arrival-rate", rate: 10, timeUnit: "1s", duration: "2s", preAllocatedVUs: 10, maxVUs: 10 } },
  thresholds: { iterations: ["count>=20", "count<=21"], dropped_iterations: ["count==0"], number: ["min==0", "max>=19"] },
};

export default function () {
  number.add(exec.scenario.iterationInTest);
}
