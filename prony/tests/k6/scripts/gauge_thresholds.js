// Thresholds on a gauge: the last value counts.
import { Gauge } from "k6/metrics";
import exec from "k6/execution";

const level = new Gauge("level");
export const options = {
  vus: 1,
  iterations: 4,
  thresholds: { level: ["value==3", "value<3"], "level{side:left}": ["value==2"] },
};

export default function () {
  const number = exec.scenario.iterationInTest;
  level.add(number, number % 2 ? {} : { side: "left" });
}
