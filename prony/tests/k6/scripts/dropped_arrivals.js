// Too few users for a rate: what nobody is free for is dropped.
import { sleep } from "k6";

export const options = {
  scenarios: { few: { executor: "constant-arrival-rate", rate: 10, timeUnit: "1s", duration: "2s", preAllocatedVUs: 2, maxVUs: 2, gracefulStop: "5s" } },
  thresholds: { "dropped_iterations{scenario:few}": ["count>10"], iterations: ["count>=4", "count<=6"] },
};

export default function () {
  sleep(0.9);
}
