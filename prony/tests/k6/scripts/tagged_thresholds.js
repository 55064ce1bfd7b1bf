// Tags of requests, of users, of groups and of the run; thresholds on each; names that gather URLs. One is crossed.
import http, { get, url } from "k6/http";
import { group } from "k6";
import exec from "k6/execution";

const BASE = `http://${__ENV.SHOP}`;

export const options = {
  iterations: 4,
  tags: { build: "42" },
  thresholds: {
    http_req_duration: ["p(95)<5000", "avg<5000"],
    "http_reqs{type:api}": ["count==4"],
    "http_reqs{name:an item}": ["count==8"],
    "http_reqs{group:::catalogue}": ["count==4"],
    "http_reqs{status:404}": ["count<4"],
    "http_reqs{build:42}": ["count==24"],
    "http_reqs{phase:late,method:POST}": ["count==4"],
    "http_req_failed{type:api}": ["rate==0"],
    "http_req_failed{expected_response:false}": [{ threshold: "rate==1" }],
  },
};

export default function () {
  http.get(`${BASE}/json`, { tags: { type: "api" } });
  for (const id of [1, 2]) get(`${BASE}/items/${id}`, { tags: { name: "an item" } });
  http.get(url`${BASE}/items/${exec.vu.iterationInScenario}`);
  group("catalogue", () => http.get(`${BASE}/status/404`));
  exec.vu.metrics.tags.phase = "late";
  http.post(`${BASE}/echo`, "x");
  delete exec.vu.metrics.tags.phase;
}
