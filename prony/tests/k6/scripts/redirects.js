// Redirects: what becomes of the method, how far they are followed, and what each is counted as.
import http from "k6/http";
import { check } from "k6";

const BASE = `http://${__ENV.SHOP}`;
export const options = { iterations: 1, maxRedirects: 2 };

export default function () {
  for (const status of [301, 302, 303, 307, 308]) {
    const response = http.post(`${BASE}/moved/${status}`, "body", { tags: { was: String(status) } });
    check(response, { [`${status} becomes ${response.json("method")} of ${response.json("length")} bytes`]: () => true });
  }
  check(http.get(`${BASE}/redirect/5`), { "no further than 2": (r) => r.status === 302 && r.url.endsWith("/redirect/3") });
  check(http.get(`${BASE}/redirect/2`, { redirects: 0, tags: { name: "none" } }), { "not at all": (r) => r.status === 302 });
}
