// src/main.ts
import { check } from "k6";

// src/shop.ts
var label = (item) => `\u{1D4B3} ${item.name}`;
function price(item, way) {
  if (item.cents < 0) {
    const said = label(item);
    if (way === 0) throw new Error(`no price for ${said}`);
    if (way === 1) throw `a text about ${said}`;
    throw { toString: () => `an object about ${said}` };
  }
  return item.cents / 100;
}

// src/main.ts
var options = { iterations: 3 };
function main_default() {
  const items = [{ name: "\xE4\u{1D4B3}", cents: 120 }, { name: "b", cents: -1 }];
  check(items, { "there are items": (list) => list.length === 2 });
  for (const item of items) price(item, __ITER);
}
export {
  main_default as default,
  options
};
//# sourceMappingURL=esbuild-external.js.map
