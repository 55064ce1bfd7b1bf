// Users that come and go in steps.
import { sleep } from "k6";

export const options = {
  scenarios: { ramp: { executor: "ramping-vus", startVUs: 0, stages: [{ duration: "1s", target: 4 }, { duration: "0s", target: 1 }, { duration: "500ms", target: 1 }], gracefulRampDown: "1s" } },
  thresholds: { iterations: ["count>5", "count<40"], vus_max: ["value==4"] },
};

export default function () {
  sleep(0.1);
}
