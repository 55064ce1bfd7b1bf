// No system tags at all: what is left are the script's own.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2, systemTags: [], tags: { run: "7" } };

export default function () {
  check(http.get(`http://${__ENV.SHOP}/json`, { tags: { own: "yes" } }), { ok: (r) => r.status === 200 }, { of: "check" });
}
