// Streams of values, read one by one.
import { ReadableStream } from "k6/experimental/streams";
import { check } from "k6";

export const options = { iterations: 2 };

export default async function () {
  let number = 0;
  const stream = new ReadableStream({
    pull(controller) {
      number += 1;
      if (number > 3) controller.close();
      else controller.enqueue(`value ${number}`);
    },
  });
  const reader = stream.getReader();
  const seen = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    seen.push(value);
  }
  check(seen, { "all values": (all) => all.join() === "value 1,value 2,value 3", "is locked": () => stream.locked });
  const wrong = new ReadableStream({ start(controller) { controller.error(new Error("broken")); } });
  try {
    await wrong.getReader().read();
  } catch (error) {
    check(error, { "is told what is wrong": (e) => String(e).includes("broken") });
  }
}
