// Timers: their order, intervals, and what is taken back.
import { setTimeout, clearTimeout, setInterval, clearInterval } from "k6/timers";
import { check } from "k6";

export const options = { iterations: 2 };

export default function () {
  const seen = [];
  setTimeout(() => seen.push("late"), 60);
  setTimeout((...given) => seen.push(`early ${given.join()}`), 20, "a", "b");
  clearTimeout(setTimeout(() => seen.push("never"), 30));
  let ticks = 0;
  const interval = setInterval(() => {
    ticks += 1;
    seen.push(`tick ${ticks}`);
    if (ticks === 2) {
      clearInterval(interval);
      setTimeout(() => check(seen, { [seen.join()]: () => true }), 150);
    }
  }, 90);
  seen.push("now");
}
