// A setup that takes too long.
import { sleep } from "k6";
import { Counter } from "k6/metrics";

const begun = new Counter("begun");
export const options = { iterations: 1, setupTimeout: "500ms" };

export function setup() { sleep(5); }
export default function () { begun.add(1); }
