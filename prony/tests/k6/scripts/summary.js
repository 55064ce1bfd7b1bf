// handleSummary: a file, and the shape of the data that it is made of.
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
  const shape = (value) => (value && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, shape(one)]))
    : Array.isArray(value) ? value.map(shape) : typeof value);
  const sorted = (value) => (value && typeof value === "object" && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, one]) => [key, sorted(one)]))
    : Array.isArray(value) ? value.map(sorted) : value);
  const { metrics, root_group: root, options, state, ...rest } = data;
  return {
    stdout: "told\n",
    "shape.json": JSON.stringify({
      rest, options: sorted(options), state: shape(state), root: sorted(root),
      metrics: Object.fromEntries(Object.keys(metrics).filter((name) => !name.startsWith("vus")).sort().map((name) => [name, {
        type: metrics[name].type, contains: metrics[name].contains,
        values: Object.keys(metrics[name].values).sort(), thresholds: metrics[name].thresholds,
      }])),
    }),
  };
}
