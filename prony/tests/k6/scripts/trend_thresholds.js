// Thresholds on a trend: each statistic, percentiles between values, one that is crossed.
import { Trend } from "k6/metrics";

const size = new Trend("size");
export const options = {
  vus: 1,
  iterations: 10,
  summaryTrendStats: ["avg", "min", "med", "max", "p(0)", "p(50)", "p(99.99)", "p(100)", "count"],
  thresholds: {
    size: ["avg==5.5", "min==1", "med==5.5", "max==10", "p(0)==1", "p(50)==5.5", "p(90)==9.1", "p(95)<9.56", "p(99.9)<10", "p(100)==10", "max<10"],
    "size{empty:yes}": ["avg<1", "p(95)<1"],
  },
};

export default function () {
  size.add(__ITER + 1);
}
