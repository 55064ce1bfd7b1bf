// Each method with its own tags: what a request is counted by.
import http from "k6/http";

const BASE = `http://${__ENV.SHOP}`;
export const options = {
  iterations: 3,
  thresholds: { "http_reqs{method:DELETE}": ["count==3"], "http_reqs{method:HEAD}": ["count==3"], "http_reqs{method:PURGE}": ["count==3"] },
};

export default function () {
  http.get(`${BASE}/echo`);
  http.head(`${BASE}/echo`);
  http.post(`${BASE}/echo`, { a: "1" });
  http.put(`${BASE}/echo`, "text");
  http.patch(`${BASE}/echo`, null);
  http.del(`${BASE}/echo`);
  http.options(`${BASE}/echo`);
  http.request("PURGE", `${BASE}/echo`, "x", { tags: { own: "yes" } });
}
