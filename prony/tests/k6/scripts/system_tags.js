// Only the system tags that are asked for, users' and iterations' numbers among them.
import http from "k6/http";
import { check, group } from "k6";

export const options = { vus: 1, iterations: 2, systemTags: ["status", "method", "group", "check", "scenario", "vu", "iter", "expected_response"] };

export default function () {
  group("inner", () => {
    check(http.get(`http://${__ENV.SHOP}/json`), { ok: (r) => r.status === 200 });
  });
}
