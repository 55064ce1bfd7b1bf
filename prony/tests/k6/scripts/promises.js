// Async functions, timers, asyncRequest: an iteration ends when nothing is left to wait for.
import http from "k6/http";
import { check, group } from "k6";
import { setInterval, clearInterval, setTimeout } from "k6/timers";

export const options = { vus: 2, iterations: 4 };
const later = (ms, value) => new Promise((resolve) => setTimeout(() => resolve(value), ms));

export default async function () {
  const [one, two] = await Promise.all([http.asyncRequest("GET", `http://${__ENV.SHOP}/json`), http.asyncRequest("POST", `http://${__ENV.SHOP}/echo`, "x")]);
  check(null, { "both": () => one.status === 200 && two.json("body") === "x" });
  check(await later(10, 5), { "later": (value) => value === 5 });
  const raced = await Promise.race([later(20, "slow"), later(5, "fast")]);
  check(raced, { "raced": (value) => value === "fast" });
  let ticks = 0;
  const timer = setInterval(() => {
    ticks += 1;
    if (ticks === 3) {
      clearInterval(timer);
      check(ticks, { "ticks": (count) => count === 3 });
    }
  }, 5);
  try {
    await Promise.reject(new Error("caught"));
  } catch (error) {
    check(error, { "caught": (e) => e.message === "caught" });
  }
}
