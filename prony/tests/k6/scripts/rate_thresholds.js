// Thresholds on a rate of one's own, on checks and on failed requests.
import http from "k6/http";
import { check } from "k6";
import { Rate } from "k6/metrics";

const good = new Rate("good");
export const options = {
  iterations: 4,
  thresholds: { good: ["rate>=0.5", "rate<0.5"], "good{kind:odd}": ["rate==0"], checks: ["rate>0.4", "rate>0.9"], http_req_failed: ["rate<0.6", "rate==0"] },
};

export default function () {
  const isEven = __ITER % 2 === 0;
  good.add(isEven, { kind: isEven ? "even" : "odd" });
  check(isEven, { even: (even) => even });
  http.get(`http://${__ENV.SHOP}/status/${isEven ? 200 : 500}`);
}
