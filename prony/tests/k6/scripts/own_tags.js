// Tags and metadata that a user puts on all of its samples.
import http from "k6/http";
import exec from "k6/execution";
import { check } from "k6";
import { Counter } from "k6/metrics";

const seen = new Counter("seen");
export const options = { vus: 1, iterations: 2 };

export default function () {
  exec.vu.metrics.tags.step = "one";
  exec.vu.metrics.metadata.trace = "abc";
  http.get(`http://${__ENV.SHOP}/json`);
  seen.add(1, { step: "mine" });
  exec.vu.metrics.tags.step = 2;
  check(exec.vu.metrics.tags, { "as text": (tags) => tags.step === "2" && tags.scenario === "default" });
  delete exec.vu.metrics.tags.step;
  seen.add(1);
}
