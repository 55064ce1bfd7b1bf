// Counter, Gauge, Rate and Trend, with tags of their own and thresholds on each.
import { Counter, Gauge, Rate, Trend } from "k6/metrics";
import exec from "k6/execution";

const things = new Counter("things");
const level = new Gauge("level");
const even = new Rate("even");
const size = new Trend("size");
const span = new Trend("span", true);

export const options = {
  scenarios: { numbers: { executor: "per-vu-iterations", vus: 1, iterations: 10 } },
  thresholds: {
    things: ["count==55", "rate>0"],
    "things{parity:odd}": ["count==25"],
    level: ["value==9"],
    even: ["rate==0.5"],
    size: ["avg==4.5", "min==0", "max==9", "med==4.5", "p(90)<8.2", "p(99.9)<9"],
    "size{parity:even}": ["max<8"],
  },
};

export default function () {
  const number = exec.scenario.iterationInTest;
  const parity = number % 2 ? "odd" : "even";
  things.add(number + 1, { parity: parity === "even" ? "odd" : "even" });
  level.add(number);
  even.add(parity === "even");
  size.add(number, { parity });
  span.add(number * 100);
}
