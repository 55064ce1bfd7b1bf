// What a user can know of itself, its scenario and the test.
import exec from "k6/execution";
import { instance as named, scenario as own, test as whole, vu as user } from "k6/execution";
import { check } from "k6";

export const options = { scenarios: { one: { executor: "per-vu-iterations", vus: 1, iterations: 2, tags: { a: "b" }, env: { X: "y" } } }, tags: { run: "1" } };

export default function () {
  const { scenario, vu, instance, test } = exec;
  const facts = {
    scenario: [scenario.name, scenario.executor, scenario.iterationInInstance, scenario.iterationInTest, typeof scenario.startTime],
    vu: [vu.idInInstance, vu.idInTest, vu.iterationInInstance, vu.iterationInScenario, JSON.stringify(Object.entries(vu.metrics.tags).sort())],
    instance: [instance.iterationsCompleted, instance.iterationsInterrupted, instance.vusActive, instance.vusInitialized],
    options: [JSON.stringify(test.options.scenarios.one.tags), test.options.noSetup, test.options.paused, JSON.stringify(test.options.tags), __ENV.X],
  };
  user.metrics.tags.mark = "m";
  check(null, { [`by their names: ${own.name} ${own.iterationInTest} ${user.idInTest} ${user.tags.mark} ${named.vusActive} ${typeof whole.abort}`]: () => true });
  delete user.metrics.tags.mark;
  check(global, { "all globals by another name": (all) => all === globalThis });
  for (const [name, values] of Object.entries(facts)) check(values, { [`${name}: ${values.join(" ")}`]: () => true });
}
