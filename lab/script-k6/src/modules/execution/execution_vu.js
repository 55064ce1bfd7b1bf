// `exec.vu` and `exec.test.options`, made at a user's first look at them.
import x from "prony:execution";

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

export function makeVu() {
  const vu = Object.defineProperties({}, Object.getOwnPropertyDescriptors(x.vu));
  // Tags are set one by one: an object in their place would be told to nobody. As in k6, `vu.tags = …` changes nothing.
  const tags = entries("tag");
  const metrics = Object.freeze({ tags, metadata: entries("metadata") });
  return Object.defineProperties(vu, {
    tags: { get: () => tags, set() {}, enumerable: true },
    metrics: { value: metrics, enumerable: true },
  });
}

let named;
export const namedVu = () => (named ??= makeVu());

let options;
export const testOptions = () => (options ??= freeze(x.options()));
