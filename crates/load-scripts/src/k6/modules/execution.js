import x from "prony:execution";

// An object whose properties are looked up when they are read.
const info = (target, names, rename = {}) => {
  for (const name of names.split(" ")) {
    Object.defineProperty(target, name, { enumerable: true, configurable: false, get: () => x.get(rename[name] ?? name) });
  }
  return target;
};
const entries = (kind) => new Proxy({}, {
  get: (target, key) => (typeof key === "string" ? x.entry(kind, key) ?? undefined : undefined),
  set: (target, key, value) => { x.setEntry(kind, key, value); return true; },
  has: (target, key) => typeof key === "string" && x.entry(kind, key) != null,
  deleteProperty: (target, key) => { x.setEntry(kind, key); return true; },
  ownKeys: () => x.entries(kind),
  getOwnPropertyDescriptor(target, key) {
    const value = typeof key === "string" ? x.entry(kind, key) : null;
    return value == null ? undefined : { value, writable: true, enumerable: true, configurable: true };
  },
});
const freeze = (value) => {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};

const scenario = info({}, "name executor startTime progress iterationInInstance iterationInTest");
const instance = info({}, "currentTestRunDuration iterationsCompleted iterationsInterrupted vusActive vusInitialized");
const vu = info({}, "idInInstance idInTest iterationInInstance iterationInScenario", { iterationInInstance: "userIteration" });
vu.tags = entries("tag");
vu.metrics = { tags: vu.tags, metadata: entries("metadata") };
let options;
const test = {
  get abort() { return x.abort; },
  get fail() { return x.fail; },
  get options() {
    x.require("test");
    return (options ??= freeze(x.options()));
  },
};

export default {
  get instance() { x.require("instance"); return instance; },
  get scenario() { x.require("scenario"); return scenario; },
  get test() { return test; },
  get vu() { x.require("vu"); return vu; },
};
