// Groups in groups: paths, returned values, what is thrown through them, thresholds on their time.
import http from "k6/http";
import { check, group } from "k6";

export const options = {
  iterations: 2,
  thresholds: { "group_duration{group:::shop}": ["avg<5000", "p(95)<5000"], "group_duration{group:::shop::cart}": ["max<5000"], "checks{group:::shop::cart}": ["rate==1"] },
};

export default function () {
  const returned = group("shop", () => {
    http.get(`http://${__ENV.SHOP}/json`);
    return group("cart", () => {
      check(http.post(`http://${__ENV.SHOP}/echo`, "x"), { "put in": (r) => r.status === 200 });
      return 5;
    });
  });
  check(returned, { "a group returns": (five) => five === 5 });
  try {
    group("throws", () => { throw new Error("within"); });
  } catch (error) {
    check(error, { "is caught outside": (e) => e.message === "within" });
  }
  http.get(`http://${__ENV.SHOP}/json`);
}
