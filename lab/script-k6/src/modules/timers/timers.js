// The timers that scripts find without importing them.
import timers from "prony:timers";

export const setTimeout = (callback, delay, ...rest) => {
  timers.check("setTimeout", callback);
  return timers.start(() => { callback(...rest); }, delay);
};

export const setInterval = (callback, delay, ...rest) => {
  timers.check("setInterval", callback);
  const tick = (id) => {
    timers.again(id, tick, delay);
    callback(...rest);
  };
  return timers.start(tick, delay);
};

export const { stop: clearTimeout, stop: clearInterval } = timers;
