// handleSummary with the text of the usual summary, from a URL import.
import { textSummary } from "https://jslib.k6.io/k6-summary/0.0.2/index.js";
import { check, group } from "k6";
import http from "k6/http";
import { Trend } from "k6/metrics";

const size = new Trend("size");
export const options = {
  vus: 1,
  iterations: 3,
  summaryTrendStats: ["avg", "max", "count", "p(99)"],
  thresholds: { checks: ["rate>0.9"], size: ["max<1"] },
};

export default function () {
  group("catalogue", () => {
    const answer = http.get(`http://${__ENV.SHOP}/json`);
    check(answer, { "status is 200": (r) => r.status === 200 });
    size.add(answer.body.length);
  });
}

export function handleSummary(data) {
  return { stdout: textSummary(data, { indent: " ", enableColors: false }) };
}
