// URL and URLSearchParams of the WHATWG's standard; addresses are parsed natively.
import native from "prony:jslib";

const plus = (text) => encodeURIComponent(text).replace(/%20/g, "+").replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
const pairsOf = (init) => {
  if (typeof init === "string") return native.queryPairs(init.replace(/^\?/, ""));
  if (typeof init?.[Symbol.iterator] === "function") {
    return Array.from(init, (pair) => {
      if ([...pair].length !== 2) throw new TypeError("each pair of a query has a name and a value");
      return [...pair].map(String);
    });
  }
  return Object.entries(init ?? {}).map(([name, value]) => [name, String(value)]);
};

export class URLSearchParams {
  #pairs;
  #changed;
  constructor(init = "", changed = () => {}) {
    this.#pairs = pairsOf(init);
    this.#changed = changed;
  }
  #set(pairs) {
    this.#pairs = pairs;
    this.#changed(this.toString());
  }
  get size() { return this.#pairs.length; }
  append(name, value) { this.#set([...this.#pairs, [String(name), String(value)]]); }
  delete(name, value) {
    this.#set(this.#pairs.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value))));
  }
  get(name) { return this.#pairs.find(([n]) => n === String(name))?.[1] ?? null; }
  getAll(name) { return this.#pairs.filter(([n]) => n === String(name)).map(([, value]) => value); }
  has(name, value) { return this.#pairs.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
  set(name, value) {
    const at = this.#pairs.findIndex(([n]) => n === String(name));
    if (at < 0) return this.append(name, value);
    this.#set(this.#pairs.filter(([n], index) => n !== String(name) || index === at).map((pair, index) => index === at ? [pair[0], String(value)] : pair));
  }
  sort() { this.#set([...this.#pairs].sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0)); }
  forEach(callback, self) { this.#pairs.forEach(([name, value]) => callback.call(self, value, name, this)); }
  entries() { return this.#pairs.map((pair) => [...pair]).values(); }
  keys() { return this.#pairs.map(([name]) => name).values(); }
  values() { return this.#pairs.map(([, value]) => value).values(); }
  [Symbol.iterator]() { return this.entries(); }
  toString() { return this.#pairs.map((pair) => pair.map(plus).join("=")).join("&"); }
}

const PARTS = ["protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

export class URL {
  #href;
  #query;
  constructor(url, base) {
    this.#href = native.parseUrl(String(url), base === undefined ? undefined : String(base));
  }
  static canParse(url, base) {
    try { return !!new URL(url, base); } catch { return false; }
  }
  part(name) { return native.urlPart(this.#href, name); }
  change(name, value) {
    this.#href = native.setUrlPart(this.#href, name, String(value));
    if (name === "search") this.#query = undefined;
  }
  get href() { return this.#href; }
  set href(url) { this.#href = native.parseUrl(String(url)); this.#query = undefined; }
  get origin() { return this.part("origin"); }
  get searchParams() {
    return this.#query ??= new URLSearchParams(this.search, (text) => {
      this.#href = native.setUrlPart(this.#href, "search", text);
    });
  }
  toString() { return this.#href; }
  toJSON() { return this.#href; }
}

for (const name of PARTS) {
  Object.defineProperty(URL.prototype, name, {
    get() { return this.part(name); },
    set(value) { this.change(name, value); },
    enumerable: true,
    configurable: true,
  });
}
