// Iterations take no less than the option says.
import { Counter } from "k6/metrics";

const begun = new Counter("begun");
export const options = { vus: 1, iterations: 3, minIterationDuration: "300ms", thresholds: { begun: ["count==3"], iteration_duration: ["max<250"] } };

export default function () {
  begun.add(1);
}
