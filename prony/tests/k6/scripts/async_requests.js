// Requests that do not block, side by side.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2 };

export default async function () {
  const BASE = `http://${__ENV.SHOP}`;
  const [json, posted] = await Promise.all([
    http.asyncRequest("GET", `${BASE}/json`, null, { tags: { side: "left" } }),
    http.asyncRequest("POST", `${BASE}/echo`, "text", { tags: { side: "right" } }),
  ]);
  check(json, { "one": (r) => r.json("total") === 3 });
  check(posted, { "the other": (r) => r.json("body") === "text" });
  const failed = await http.asyncRequest("GET", "http://127.0.0.1:1/");
  check(failed, { [`failed with ${failed.error_code}`]: () => true });
}
