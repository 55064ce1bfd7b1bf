// The WebSocket of browsers: events, binary types, protocols, several at a time.
import { WebSocket } from "k6/websockets";
import { check } from "k6";
import { setTimeout } from "k6/timers";

export const options = { vus: 2, iterations: 2, insecureSkipTLSVerify: true };

export default function () {
  const told = (name) => check(null, { [name]: () => true });
  const echo = new WebSocket(`ws://${__ENV.SHOP}/ws`, ["chat"], { tags: { kind: "echo" } });
  echo.binaryType = "arraybuffer";
  told(`begins with ${echo.readyState}`);
  echo.addEventListener("open", () => {
    told(`opens with ${echo.readyState} and ${echo.protocol}`);
    echo.send("one");
  });
  echo.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") {
      told(`${data.byteLength} bytes`);
      return echo.ping();
    }
    told(`says ${data}`);
    if (data === "one") echo.send(new Uint8Array([1, 2, 3]));
    else echo.close(1000, "done");
  });
  echo.onpong = () => setTimeout(() => echo.send("two"), 10);
  echo.onclose = (event) => told(`closes with ${event.code} in ${echo.readyState}`);

  const counter = new WebSocket(`ws://${__ENV.SHOP}/ws/count`);
  let count = 0;
  counter.onmessage = (event) => {
    count += 1;
    if (event.data === "3") { told(`counts ${count}`); counter.close(); }
  };
  const bye = new WebSocket(`ws://${__ENV.SHOP}/ws/bye`);
  bye.onclose = (event) => told(`is closed with ${event.code}`);
  bye.onerror = (event) => told(`says goodbye by ${event.error}`);
  const blobs = new WebSocket(`wss://${__ENV.SECURE_SHOP}/ws`);
  blobs.binaryType = "blob";
  blobs.onopen = () => blobs.send(new Uint8Array([104, 105]).buffer);
  blobs.onmessage = async ({ data }) => {
    told(`a blob over TLS says ${await data.text()}`);
    blobs.close();
  };
  const refused = new WebSocket(`ws://${__ENV.SHOP}/ws/forbidden`);
  refused.onerror = (event) => told(`is refused: ${event.error}`);
  refused.onopen = () => told("is not refused");
}
