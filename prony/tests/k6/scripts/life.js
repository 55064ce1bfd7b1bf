// The life of a run: setup's data is each user's own copy; teardown and the summary see it too.
import { check, sleep } from "k6";
import http from "k6/http";
import { Counter } from "k6/metrics";
import exec from "k6/execution";

const told = new Counter("told");
export const options = { vus: 2, iterations: 4, setupTimeout: "10s" };

export function setup() {
  const answer = http.get(`http://${__ENV.SHOP}/json`);
  told.add(1, { by: "setup" });
  return { items: answer.json("items"), at: new Date(0), nothing: undefined, vu: __VU };
}

export default function (data) {
  check(data, {
    "setup's data": (d) => d.items.length === 3 && d.items[1].tags[0] === "iron",
    [`a date is ${data.at}`]: () => true,
    [`what is undefined is ${data.nothing}`]: () => true,
    "setup's user": (d) => d.vu === 0,
    "an own copy": (d) => d.changed === undefined || d.changed === __VU,
  });
  data.changed = __VU;
  check(exec, {
    "who runs": ({ vu, scenario, instance }) => vu.idInTest === __VU && vu.iterationInInstance === __ITER && scenario.name === "default"
      && scenario.executor === "shared-iterations" && instance.vusActive === 2 && instance.vusInitialized === 2,
    "options": ({ test }) => test.options.scenarios.default.iterations === 4,
  });
  sleep(0.05);
}

export function teardown(data) {
  told.add(data.items.length, { by: "teardown" });
}
