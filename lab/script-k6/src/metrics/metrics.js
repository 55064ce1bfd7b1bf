// The module `k6/metrics`: metrics that scripts define in init code and add to.
import native from "prony:metrics";

function define(kind) {
  return class {
    constructor(name, isTime) {
      const id = native.define(kind, String(name), Boolean(isTime));
      Object.defineProperty(this, "name", { value: name, enumerable: true });
      // A property of each metric, not of the class: scripts pass it around without its metric.
      this.add = (...given) => native.add(id, given.length, given[0], given[1]);
    }
  };
}

export const Counter = define("counter");
export const Gauge = define("gauge");
export const Rate = define("rate");
export const Trend = define("trend");
export default { Counter, Gauge, Rate, Trend };
