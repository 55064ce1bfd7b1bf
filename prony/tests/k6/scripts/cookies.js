// Cookies: the user's jar, a request's own, jars of the script, what answers set, what an iteration forgets.
import http from "k6/http";
import { check } from "k6";

const BASE = `http://${__ENV.SHOP}`;

export const options = { iterations: 3 };

export default function () {
  check(http.get(`${BASE}/cookies`).json("cookies"), { "an iteration begins without": (c) => Object.keys(c).length === 0 });
  const jar = http.cookieJar();
  jar.set(BASE, "flavour", "oat", { path: "/cookies", max_age: 600 });
  jar.set(BASE, "elsewhere", "no", { path: "/json" });
  const set = http.get(`${BASE}/cookies/set?a=1&b=2`);
  check(set, {
    "sent back": (r) => JSON.stringify(Object.entries(r.json("cookies")).sort()) === '[["a","1"],["b","2"],["flavour","oat"]]',
    "in the jar": () => jar.cookiesForURL(`${BASE}/cookies`).a[0] === "1",
    "not for others": () => jar.cookiesForURL("http://other.invalid/").a === undefined,
  });
  const own = http.get(`${BASE}/cookies`, { cookies: { a: { value: "mine", replace: true }, c: "3" } });
  check(own.json("cookies"), { "the request's own": (c) => c.a === "mine" && c.b === "2" && c.c === "3" });
  const empty = new http.CookieJar();
  check(http.get(`${BASE}/cookies`, { jar: empty }).json("cookies"), { "another jar": (c) => c.a === undefined });
  jar.delete(BASE, "a");
  check(http.get(`${BASE}/cookies`).json("cookies"), { "deleted": (c) => c.a === undefined && c.b === "2" });
  jar.clear(BASE);
  check(http.get(`${BASE}/cookies`).json("cookies"), { "cleared": (c) => c.b === undefined });
  const answer = http.get(`${BASE}/cookies/set?d=4`, { redirects: 0 });
  check(answer, { "what an answer sets": (r) => r.status === 302 && r.cookies.d[0].value === "4" && r.cookies.d[0].path === "/" });
}
