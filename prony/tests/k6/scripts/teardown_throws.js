// An exception in teardown comes after the load, which counts.
import { Counter } from "k6/metrics";

const begun = new Counter("begun");
export const options = { iterations: 2 };

export default function () { begun.add(1); }
export function teardown() { throw new Error("left a mess"); }
