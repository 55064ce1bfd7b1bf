// Stages, and a threshold that ends the run long before they are over.
import http from "k6/http";
import { sleep } from "k6";

export const options = {
  stages: [{ duration: "2s", target: 3 }, { duration: "5m", target: 3 }],
  gracefulStop: "1s",
  thresholds: { http_req_failed: [{ threshold: "rate<0.1", abortOnFail: true, delayAbortEval: "1s" }] },
};

export default function () {
  http.get(`http://${__ENV.SHOP}/status/500`);
  sleep(0.1);
}
