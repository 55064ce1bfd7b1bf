// Users that go on until the time is over; the last iteration ends in its grace.
import { sleep } from "k6";

export const options = { scenarios: { steady: { executor: "constant-vus", vus: 2, duration: "1s", gracefulStop: "2s" } }, thresholds: { iterations: ["count==4"] } };

export default function () {
  sleep(0.7);
}
