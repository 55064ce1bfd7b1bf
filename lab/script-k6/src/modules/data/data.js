// An array that is no array: what it holds is parsed when it is read, and the same text serves all users.
import d from "prony:data";

const freeze = (value) => {
  if (typeof value === "object" && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
  return value;
};
const refuse = () => { throw new TypeError("SharedArray is immutable"); };
const isIndex = (key, length) => typeof key === "string" && /^(0|[1-9]\d*)$/.test(key) && +key < length;

function wrap(elements) {
  const length = d.length(elements);
  return new Proxy([], {
    get(target, key) {
      if (key === "length") return length;
      const element = typeof key === "string" ? d.at(elements, key) : undefined;
      return element === undefined ? target[key] : freeze(element);
    },
    has: (target, key) => isIndex(key, length) || key in target,
    ownKeys: () => [...Array(length).keys()].map(String).concat("length"),
    getOwnPropertyDescriptor(target, key) {
      if (key === "length") return { value: length, writable: true, enumerable: false, configurable: false };
      if (!isIndex(key, length)) return undefined;
      return { value: freeze(d.at(elements, key)), writable: true, enumerable: true, configurable: true };
    },
    set(target, key) {
      if (key === "length" || isIndex(key, Infinity)) refuse();
      throw new TypeError(`Cannot set property "${String(key)}" on a dynamic array`);
    },
    defineProperty: refuse,
    deleteProperty: refuse,
    // The array beneath has none of the elements, so it cannot be frozen in their place.
    preventExtensions: refuse,
  });
}

export function SharedArray(name, make) {
  let elements = d.claim(name, make);
  if (elements === undefined) {
    try {
      const made = make();
      if (!Array.isArray(made)) d.refuse("only arrays can be made into SharedArray");
      elements = d.keep(name, Array.from(made, (element) => JSON.stringify(element) ?? "null"));
    } finally {
      if (elements === undefined) d.giveUp(name);
    }
  }
  return wrap(elements);
}

export default { SharedArray };
