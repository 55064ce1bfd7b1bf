import native from "prony:secrets";

const of = (name) => ({ async get(key) { return native.get(name, String(key)); } });

export async function get(key) { return native.get(undefined, String(key)); }

export async function source(name) {
  native.check(String(name));
  return of(String(name));
}

export default { get, source };
