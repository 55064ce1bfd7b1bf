// Cookies that stay from iteration to iteration.
import http from "k6/http";
import { check } from "k6";

export const options = { vus: 1, iterations: 3, noCookiesReset: true };

export default function () {
  const known = http.get(`http://${__ENV.SHOP}/cookies`).json("cookies");
  check(known, { [`in iteration ${__ITER} there are ${Object.keys(known).length}`]: () => true });
  http.get(`http://${__ENV.SHOP}/cookies/set?n${__ITER}=1`);
}
