// Scenarios one after the other, with environment, tags and functions of their own.
import http from "k6/http";
import exec from "k6/execution";
import { check } from "k6";

export const options = {
  scenarios: {
    browse: { executor: "per-vu-iterations", vus: 1, iterations: 2, exec: "browse", env: { PAGE: "json" }, tags: { flow: "browse" } },
    buy: { executor: "shared-iterations", vus: 1, iterations: 3, exec: "buy", startTime: "500ms", env: { PAGE: "echo" }, tags: { flow: "buy" } },
  },
  thresholds: { "http_reqs{scenario:buy}": ["count==3"], "http_reqs{flow:browse}": ["count==2"], "iterations{scenario:browse}": ["count==2"] },
};

export function browse() {
  check(http.get(`http://${__ENV.SHOP}/${__ENV.PAGE}`), { "a page": (r) => r.status === 200 && exec.scenario.name === "browse" });
}

export function buy() {
  check(http.post(`http://${__ENV.SHOP}/${__ENV.PAGE}`, "1"), { "a sale": (r) => r.status === 200 && exec.scenario.name === "buy" });
}
