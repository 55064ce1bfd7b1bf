// Bodies that nobody wants, but where one is asked for.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2, discardResponseBodies: true };

export default function () {
  check(http.get(`http://${__ENV.SHOP}/json`), { "none by default": (r) => r.body === null && r.status === 200 });
  check(http.get(`http://${__ENV.SHOP}/json`, { responseType: "text" }), { "where it is asked for": (r) => r.json("total") === 3 });
  let thrown = false;
  try {
    http.get(`http://${__ENV.SHOP}/json`).json();
  } catch (error) {
    thrown = true;
  }
  check(thrown, { "nothing to parse": (t) => t });
}
