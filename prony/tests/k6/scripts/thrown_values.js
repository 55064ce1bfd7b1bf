// What is no error can be thrown too; each ends its iteration.
import exec from "k6/execution";
import { Counter } from "k6/metrics";

const begun = new Counter("begun");
export const options = { vus: 1, iterations: 6 };

export default function () {
  begun.add(1);
  switch (exec.scenario.iterationInTest) {
    case 0: throw 5;
    case 1: throw null;
    case 2: throw undefined;
    case 3: throw { a: 1 };
    case 4: throw "text";
    default: throw new TypeError("a type");
  }
}
