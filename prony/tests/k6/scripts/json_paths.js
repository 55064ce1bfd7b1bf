// Selectors into JSON.
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 1 };

// Objects have no order.
const shown = (value) => (value && typeof value === "object" && !Array.isArray(value)
  ? shown(Object.entries(value).sort()) : Array.isArray(value) ? `[${value.map(shown).join()}]` : JSON.stringify(value));

export default function () {
  const response = http.get(`http://${__ENV.SHOP}/json`);
  for (const path of ["total", "next", "nothing", "items", "items.#", "items.0", "items.0.name", "items.#.price", "items.#(name==\"anvil\").id", "items.#(price>1)#.name", "items.#.tags.0", "items.0.tags.#", "items.9"]) {
    const value = response.json(path);
    check(value, { [`${path}: ${shown(value)}`]: () => true });
  }
}
