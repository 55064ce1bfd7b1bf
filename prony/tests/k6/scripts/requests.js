// Methods, headers, authentication, redirects, expected statuses, time-outs, compression and what responses say.
import http from "k6/http";
import { check } from "k6";

const BASE = `http://${__ENV.SHOP}`;

export const options = { iterations: 2, userAgent: "the tests/1.0", thresholds: { http_req_failed: ["rate<0.5"] } };

export default function () {
  for (const [method, call] of Object.entries({ POST: http.post, PUT: http.put, PATCH: http.patch, DELETE: http.del, OPTIONS: http.options })) {
    const answer = call(`${BASE}/echo?a=1`, JSON.stringify({ x: 1 }), { headers: { "Content-Type": "application/json" } });
    check(answer.json(), { [`${method} arrives`]: (e) => e.method === method && e.body === '{"x":1}' && e.query.a === "1" });
  }
  check(http.head(`${BASE}/json`), { "no body": (r) => r.status === 200 && r.body.length === 0 && r.headers["Content-Type"] === "application/json" });
  check(http.get(`${BASE}/echo`).json("headers"), { "who asks": (h) => h["user-agent"] === "the tests/1.0" });
  const basic = http.get(`http://admin:123@${__ENV.SHOP}/basic-auth`);
  check(basic, { "basic": (r) => r.json("authenticated") === true });
  const bearer = http.get(`${BASE}/token-auth`, { headers: { Authorization: "Bearer abc" } });
  check(bearer, { "bearer": (r) => r.status === 200 });
  check(http.get(`${BASE}/token-auth`), { "not without": (r) => r.status === 401 });
  check(http.get(`${BASE}/redirect/3`), { "sent on": (r) => r.url === `${BASE}/json` && r.status === 200 });
  check(http.get(`${BASE}/redirect/3`, { redirects: 1 }), { "not further": (r) => r.status === 302 && r.headers.Location === "/redirect/1" });
  check(http.get(`${BASE}/status/418`, { responseCallback: http.expectedStatuses(418, { min: 500, max: 504 }) }), { "a teapot": (r) => r.status === 418 });
  check(http.get(`${BASE}/delay/2000`, { timeout: 50 }), { "too late": (r) => r.status === 0 && r.error_code === 1050 });
  check(http.get(`${BASE}/bytes/5`, { responseType: "binary" }), { "bytes": (r) => r.body.byteLength === 5 });
  check(http.get(`${BASE}/bytes/5`, { responseType: "none" }), { "nothing": (r) => r.body === null });
  const packed = http.post(`${BASE}/echo`, "z".repeat(500), { compression: "gzip" });
  check(packed.json(), { "packed": (e) => e.headers["content-encoding"] === "gzip" && e.length < 100 });
  const untrusted = http.get(`https://${__ENV.SECURE_SHOP}/json`);
  check(untrusted, { [`not trusted: ${untrusted.error_code}`]: (r) => r.status === 0 });
  check(http.get("http://127.0.0.1:1/"), { "nobody there": (r) => r.status === 0 && r.error_code === 1212 });
  const json = http.get(`${BASE}/json`);
  check(json, {
    "paths": (r) => r.json("items.1.name") === "anvil" && r.json("items.#.id").length === 3 && r.json("items.#(price>50).name") === "anvil",
    "times": ({ timings: t }) => t.duration >= 0 && t.waiting >= 0 && Math.abs(t.sending + t.waiting + t.receiving - t.duration) < 0.01,
    "what was asked": ({ request }) => request.method === "GET" && request.url === `${BASE}/json`,
    "protocol": (r) => r.proto === "HTTP/1.1" && r.status_text === "200 OK" && r.remote_port === Number(__ENV.SHOP.split(":")[1]),
  });
}
