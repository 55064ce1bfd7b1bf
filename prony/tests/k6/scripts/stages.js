// Stages as a shortcut, with a user from the start.
import { sleep } from "k6";

export const options = { vus: 1, stages: [{ duration: "500ms", target: 2 }, { duration: "500ms", target: 0 }], thresholds: { iterations: ["count>2"] } };

export default function () {
  sleep(0.1);
}
