var __defProp = Object.defineProperty;
var __getOwnPropDesc = Object.getOwnPropertyDescriptor;
var __getOwnPropNames = Object.getOwnPropertyNames;
var __hasOwnProp = Object.prototype.hasOwnProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};
var __copyProps = (to, from, except, desc) => {
  if (from && typeof from === "object" || typeof from === "function") {
    for (let key of __getOwnPropNames(from))
      if (!__hasOwnProp.call(to, key) && key !== except)
        __defProp(to, key, { get: () => from[key], enumerable: !(desc = __getOwnPropDesc(from, key)) || desc.enumerable });
  }
  return to;
};
var __toCommonJS = (mod) => __copyProps(__defProp({}, "__esModule", { value: true }), mod);

// src/main.ts
var main_exports = {};
__export(main_exports, {
  default: () => main_default,
  options: () => options
});
module.exports = __toCommonJS(main_exports);
var import_k6 = require("k6");

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
  (0, import_k6.check)(items, { "there are items": (list) => list.length === 2 });
  for (const item of items) price(item, __ITER);
}
//# sourceMappingURL=data:application/json;base64,ewogICJ2ZXJzaW9uIjogMywKICAic291cmNlcyI6IFsiLi4vc3JjL21haW4udHMiLCAiLi4vc3JjL3Nob3AudHMiXSwKICAic291cmNlc0NvbnRlbnQiOiBbIi8vIEEgc2NyaXB0IGluIHR3byBmaWxlcywgYXMgYW4gYXV0aG9yIHdyaXRlcyB0aGVtIGJlZm9yZSBhIGJ1bmRsZXIgbWFrZXMgb25lIG9mIHRoZW0uXG5pbXBvcnQgeyBjaGVjayB9IGZyb20gJ2s2JztcbmltcG9ydCB7IHByaWNlLCB0eXBlIEl0ZW0gfSBmcm9tICcuL3Nob3AnO1xuXG5leHBvcnQgY29uc3Qgb3B0aW9ucyA9IHsgaXRlcmF0aW9uczogMyB9O1xuXG5leHBvcnQgZGVmYXVsdCBmdW5jdGlvbiAoKTogdm9pZCB7XG4gIGNvbnN0IGl0ZW1zOiBJdGVtW10gPSBbeyBuYW1lOiAnXHUwMEU0XHVEODM1XHVEQ0IzJywgY2VudHM6IDEyMCB9LCB7IG5hbWU6ICdiJywgY2VudHM6IC0xIH1dO1xuICBjaGVjayhpdGVtcywgeyAndGhlcmUgYXJlIGl0ZW1zJzogKGxpc3QpID0+IGxpc3QubGVuZ3RoID09PSAyIH0pO1xuICBmb3IgKGNvbnN0IGl0ZW0gb2YgaXRlbXMpIHByaWNlKGl0ZW0sIF9fSVRFUik7XG59XG4iLCAiZXhwb3J0IGludGVyZmFjZSBJdGVtIHtcbiAgbmFtZTogc3RyaW5nO1xuICBjZW50czogbnVtYmVyO1xufVxuXG5jb25zdCBsYWJlbCA9IChpdGVtOiBJdGVtKTogc3RyaW5nID0+IGBcdUQ4MzVcdURDQjMgJHtpdGVtLm5hbWV9YDtcblxuLyoqIEZhaWxzIGZvciB3aGF0IGNvc3RzIGxlc3MgdGhhbiBub3RoaW5nLCBpbiB0aHJlZSB3YXlzLiAqL1xuZXhwb3J0IGZ1bmN0aW9uIHByaWNlKGl0ZW06IEl0ZW0sIHdheTogbnVtYmVyKTogbnVtYmVyIHtcbiAgaWYgKGl0ZW0uY2VudHMgPCAwKSB7XG4gICAgY29uc3Qgc2FpZCA9IGxhYmVsKGl0ZW0pOyBpZiAod2F5ID09PSAwKSB0aHJvdyBuZXcgRXJyb3IoYG5vIHByaWNlIGZvciAke3NhaWR9YCk7XG4gICAgaWYgKHdheSA9PT0gMSkgdGhyb3cgYGEgdGV4dCBhYm91dCAke3NhaWR9YDtcbiAgICB0aHJvdyB7IHRvU3RyaW5nOiAoKSA9PiBgYW4gb2JqZWN0IGFib3V0ICR7c2FpZH1gIH07XG4gIH1cbiAgcmV0dXJuIGl0ZW0uY2VudHMgLyAxMDA7XG59XG4iXSwKICAibWFwcGluZ3MiOiAiOzs7Ozs7Ozs7Ozs7Ozs7Ozs7O0FBQUE7QUFBQTtBQUFBO0FBQUE7QUFBQTtBQUFBO0FBQ0EsZ0JBQXNCOzs7QUNJdEIsSUFBTSxRQUFRLENBQUMsU0FBdUIsYUFBTSxLQUFLLElBQUk7QUFHOUMsU0FBUyxNQUFNLE1BQVksS0FBcUI7QUFDckQsTUFBSSxLQUFLLFFBQVEsR0FBRztBQUNsQixVQUFNLE9BQU8sTUFBTSxJQUFJO0FBQUcsUUFBSSxRQUFRLEVBQUcsT0FBTSxJQUFJLE1BQU0sZ0JBQWdCLElBQUksRUFBRTtBQUMvRSxRQUFJLFFBQVEsRUFBRyxPQUFNLGdCQUFnQixJQUFJO0FBQ3pDLFVBQU0sRUFBRSxVQUFVLE1BQU0sbUJBQW1CLElBQUksR0FBRztBQUFBLEVBQ3BEO0FBQ0EsU0FBTyxLQUFLLFFBQVE7QUFDdEI7OztBRFhPLElBQU0sVUFBVSxFQUFFLFlBQVksRUFBRTtBQUV4QixTQUFSLGVBQTBCO0FBQy9CLFFBQU0sUUFBZ0IsQ0FBQyxFQUFFLE1BQU0saUJBQU8sT0FBTyxJQUFJLEdBQUcsRUFBRSxNQUFNLEtBQUssT0FBTyxHQUFHLENBQUM7QUFDNUUsdUJBQU0sT0FBTyxFQUFFLG1CQUFtQixDQUFDLFNBQVMsS0FBSyxXQUFXLEVBQUUsQ0FBQztBQUMvRCxhQUFXLFFBQVEsTUFBTyxPQUFNLE1BQU0sTUFBTTtBQUM5QzsiLAogICJuYW1lcyI6IFtdCn0K
