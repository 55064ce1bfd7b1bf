// A setup that ends the run: no iteration, but teardown does not come either.
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const parts = new Counter("parts");
export const options = { iterations: 2 };

export function setup() { parts.add(1, { of: "setup" }); exec.test.abort("nothing to test"); }
export default function () { parts.add(1, { of: "load" }); }
export function teardown() { parts.add(1, { of: "teardown" }); }
