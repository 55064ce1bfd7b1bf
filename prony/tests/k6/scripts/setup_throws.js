// An exception in setup ends the run; nothing else begins but the summary.
import { Counter } from "k6/metrics";

const begun = new Counter("begun");
export const options = { iterations: 2, thresholds: { begun: ["count==0"] } };

export function setup() { throw new Error("not today"); }
export default function () { begun.add(1); }
export function teardown() { begun.add(1); }
