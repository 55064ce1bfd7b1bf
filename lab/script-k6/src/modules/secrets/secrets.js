import native from "prony:secrets";

const source = (name) => ({ async get(key) { return native.get(name, String(key)); } });

async function get(key) { return native.get(undefined, String(key)); }

export { get };
export default { get, async source(name) { native.check(String(name)); return source(String(name)); } };
