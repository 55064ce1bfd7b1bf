// Checks: those that hold and those that do not, in groups and with tags; a threshold on one of them.
import http from "k6/http";
import { check, group } from "k6";

export const options = {
  vus: 2,
  iterations: 6,
  thresholds: { checks: ["rate>0.5"], "checks{kind:shape}": ["rate==1"], "checks{kind:wrong}": ["rate<0.1"] },
};

export default function () {
  const answer = http.get(`http://${__ENV.SHOP}/json`);
  check(answer, {
    "status is 200": (r) => r.status === 200,
    "body has a hammer": (r) => r.body.includes("hammer"),
    "body has a saw": (r) => r.body.includes("saw"),
  });
  check(answer.json(), { "three items": (json) => json.items.length === json.total }, { kind: "shape" });
  const holds = check(null, { "never": () => false, "a value": 1 }, { kind: "wrong" });
  check(holds, { "check says what it found": (found) => found === false });
  group("inner", () => {
    group("innermost", () => check(1, { "one is one": (one) => one === 1 }));
  });
}
