// Promises that nobody handles end their iteration.
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const after = new Counter("after");
export const options = { vus: 1, iterations: 4 };

export default async function () {
  const number = exec.scenario.iterationInTest;
  if (number === 0) Promise.reject(new Error("nobody waits"));
  if (number === 1) await Promise.reject(new Error("awaited"));
  if (number === 2) setTimeout(() => { throw new Error("in a timer"); }, 10);
  await null;
  after.add(1, { number: String(number) });
}
