// Without grace an iteration is cut at the end, and is none.
import { sleep } from "k6";
import { Counter } from "k6/metrics";

const ends = new Counter("ends");
const begins = new Counter("begins");
export const options = { scenarios: { cut: { executor: "constant-vus", vus: 3, duration: "1s", gracefulStop: "0s" } }, thresholds: { iterations: ["count==0"], ends: ["count==0"] } };

export default function () {
  begins.add(1);
  sleep(3);
  ends.add(1);
}
