// A threshold that ends the run once its delay is over.
import { Counter } from "k6/metrics";
import { sleep } from "k6";

const seen = new Counter("seen");
export const options = {
  scenarios: { long: { executor: "constant-vus", vus: 2, duration: "30s" } },
  thresholds: { seen: [{ threshold: "count<1", abortOnFail: true, delayAbortEval: "1s" }] },
};

export default function () {
  seen.add(1);
  sleep(0.2);
}
