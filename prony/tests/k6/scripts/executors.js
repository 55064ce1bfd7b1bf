// All six executors, each with a function, environment and tags of its own. Starts have users enough for all that a
// machine that stood still for a moment owes.
import exec from "k6/execution";
import { Counter } from "k6/metrics";
import { sleep } from "k6";

const runs = new Counter("runs");
const count = (name) => () => {
  runs.add(1, { name, environment: __ENV.NAME ?? "none" });
  sleep(0.1);
};
export const shared = count("shared");
export const perUser = count("perUser");
export function constant() { sleep(0.2); }
export function ramping() { sleep(0.2); }
export function arrivals() { runs.add(1, { name: "arrivals" }); }
export function rampingArrivals() { runs.add(1, { name: "rampingArrivals" }); }

export const options = {
  scenarios: {
    shared: { executor: "shared-iterations", exec: "shared", vus: 3, iterations: 7, env: { NAME: "s" } },
    per_user: { executor: "per-vu-iterations", exec: "perUser", vus: 2, iterations: 4, env: { NAME: "p" }, tags: { own: "yes" } },
    constant: { executor: "constant-vus", exec: "constant", vus: 2, duration: "1s" },
    ramping: { executor: "ramping-vus", exec: "ramping", startVUs: 1, stages: [{ duration: "500ms", target: 3 }, { duration: "500ms", target: 0 }], gracefulRampDown: "0s" },
    arrivals: { executor: "constant-arrival-rate", exec: "arrivals", rate: 20, timeUnit: "1s", duration: "1s", preAllocatedVUs: 25 },
    ramping_arrivals: {
      executor: "ramping-arrival-rate", exec: "rampingArrivals", startRate: 10, timeUnit: "1s", preAllocatedVUs: 25,
      stages: [{ duration: "1s", target: 30 }], startTime: "200ms",
    },
  },
  thresholds: {
    "runs{name:shared,environment:s}": ["count==7"],
    "runs{name:perUser,own:yes}": ["count==8"],
    "runs{scenario:arrivals}": ["count>=19", "count<=21"],
    "runs{scenario:ramping_arrivals}": ["count>=18", "count<=21"],
    "iterations{scenario:constant}": ["count>0", "count<=10"],
    "iterations{scenario:ramping}": ["count>0"],
    dropped_iterations: ["count==0"],
  },
};
