// Thresholds on a counter and its parts, with each operator.
import { Counter } from "k6/metrics";

const parts = new Counter("parts");
export const options = {
  vus: 1,
  iterations: 5,
  thresholds: {
    parts: ["count>=10", "count<=10", "count==10", "count===10", "count!=9", "count>9", "count<11", "rate>0"],
    "parts{of:screw}": ["count<5"],
    "parts{of:nothing}": ["count==0", "count>0"],
  },
};

export default function () {
  parts.add(1, { of: "screw" });
  parts.add(true, { of: "nut" });
}
