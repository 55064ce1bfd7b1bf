// Runs CommonJS files, each once for its user.
import source from "prony:source";

const running = new Map();

export function run(name, body) {
  const module = { exports: {} };
  running.set(name, module);
  try {
    body.call(module.exports, module, module.exports, requireFrom(name));
  } catch (error) {
    running.delete(name);
    throw error;
  }
  // Packages of Node.js may export nothing; k6 has no packages.
  if (name.includes("/node_modules/")) module.exports ??= {};
  if (module.exports == null) throw new TypeError("CommonJS's exports must not be null: " + name);
  return module.exports;
}

export const requireFrom = (from) => (specifier) => {
  if (typeof specifier !== "string" || specifier === "") {
    throw new TypeError("require() needs a path or the name of a module");
  }
  const name = source.resolve(from, specifier);
  if (running.has(name)) return running.get(name).exports;
  const all = source.namespace(name);
  if ("module.exports" in all) return all["module.exports"];
  return source.isBuiltin(name) && "default" in all ? all.default : all;
};

export const resolveFrom = (from) => (specifier) => source.url(from, specifier === undefined ? "" : String(specifier));
