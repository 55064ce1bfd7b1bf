// Requests that do not block, side by side; their samples have the group that they were asked in.
import http from "k6/http";
import { check, group } from "k6";

export const options = { iterations: 2 };

export default async function () {
  const BASE = `http://${__ENV.SHOP}`;
  let asked;
  group("asked", () => {
    asked = [
      http.asyncRequest("GET", `${BASE}/json`, null, { tags: { side: "left" } }),
      http.asyncRequest("POST", `${BASE}/echo`, "text", { tags: { side: "right" } }),
    ];
  });
  const [json, posted] = await Promise.all(asked);
  check(json, { "one": (r) => r.json("total") === 3 });
  check(posted, { "the other": (r) => r.json("body") === "text" });
  const failed = await http.asyncRequest("GET", "http://127.0.0.1:1/");
  check(failed, { [`failed with ${failed.error_code}`]: () => true });
}
