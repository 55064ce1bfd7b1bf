// Requests at the same time: arrays, objects, request objects, an error among them.
import http from "k6/http";
import { check } from "k6";

const BASE = `http://${__ENV.SHOP}`;

export const options = { vus: 2, iterations: 4, batch: 4, batchPerHost: 2 };

export default function () {
  const list = http.batch([
    ["GET", `${BASE}/json`, null, { tags: { ctype: "json" } }],
    ["POST", `${BASE}/echo`, { a: "1", b: "two words" }],
    { method: "PUT", url: `${BASE}/echo`, body: "put", params: { headers: { "X-Own": "yes" } } },
    `${BASE}/items/3`,
  ]);
  check(list, {
    "four answers": (all) => all.length === 4 && all.every((r) => r.status === 200),
    "a form": (all) => all[1].json("form.b") === "two words" && all[1].json("method") === "POST",
    "a header": (all) => all[2].json("headers.x-own") === "yes" && all[2].json("body") === "put",
    "by its URL": (all) => all[3].json().name === "item 3",
  });
  const named = http.batch({ first: `${BASE}/items/1`, second: { method: "GET", url: `${BASE}/delay/20` } });
  check(named, {
    "by name": ({ first, second }) => first.json("name") === "item 1" && second.body === "late",
  });
}
