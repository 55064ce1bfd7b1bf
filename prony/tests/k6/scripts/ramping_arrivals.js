// A rate that rises and falls.
export const options = {
  scenarios: { wave: { executor: "ramping-arrival-rate", startRate: 0, timeUnit: "1s", preAllocatedVUs: 20, stages: [{ duration: "1s", target: 20 }, { duration: "1s", target: 0 }] } },
  thresholds: { iterations: ["count>=18", "count<=21"], dropped_iterations: ["count==0"] },
};

export default function () {}
