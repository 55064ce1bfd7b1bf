// What scripts find without importing it.
import console from "prony:console";
import timers from "prony:timers";
import crypto from "prony:webcrypto";

const add = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, enumerable: false, configurable: true });

add("console", { ...console });
add("crypto", crypto);
add("setTimeout", (callback, delay, ...rest) => {
  timers.check("setTimeout", callback);
  return timers.start(() => { callback(...rest); }, delay);
});
add("setInterval", (callback, delay, ...rest) => {
  timers.check("setInterval", callback);
  const tick = (id) => {
    timers.again(id, tick, delay);
    callback(...rest);
  };
  return timers.start(tick, delay);
});
add("clearTimeout", timers.stop);
add("clearInterval", timers.stop);
