// The blocking WebSocket: echo, pushed messages, timers, pings, endings, a refusal; over TLS too.
import ws from "k6/ws";
import { check } from "k6";

const url = `ws://${__ENV.SHOP}`;
export const options = { vus: 2, iterations: 2, insecureSkipTLSVerify: true };

export default function () {
  const heard = [];
  const answer = ws.connect(`${url}/ws`, { tags: { kind: "echo" }, headers: { "X-Own": "yes" } }, (socket) => {
    socket.on("open", () => { heard.push("open"); socket.send("one"); });
    socket.on("message", (text) => {
      heard.push(text);
      if (text === "one") socket.sendBinary(new Uint8Array([1, 2, 3]).buffer);
      if (text === "bye") socket.close();
    });
    socket.on("binaryMessage", (bytes) => { heard.push(`${bytes.byteLength} bytes`); socket.ping(); });
    socket.on("pong", () => { heard.push("pong"); socket.setTimeout(() => socket.send("bye"), 20); });
    socket.on("close", (code) => heard.push(`close ${code}`));
    socket.on("error", (error) => heard.push(error.error()));
  });
  check(answer, { "switched": (r) => r.status === 101, "echo": () => heard.join() === "open,one,3 bytes,pong,bye,close 1001" });
  if (heard.join() !== "open,one,3 bytes,pong,bye,close 1001") console.log(heard.join());

  const counted = [];
  ws.connect(`${url}/ws/count`, {}, (socket) => {
    socket.on("message", (text) => { counted.push(text); if (text === "3") socket.close(1000); });
  });
  check(counted, { "pushed": (all) => all.join() === "1,2,3" });

  const ended = [];
  ws.connect(`${url}/ws/bye`, (socket) => {
    socket.on("close", (code) => ended.push(code));
    socket.on("error", (error) => ended.push(error.error()));
  });
  check(ended, { "the server's end": (codes) => codes.length > 0, [`ended with ${ended.join()}`]: () => true });

  const ticks = [];
  ws.connect(`${url}/ws`, null, (socket) => {
    socket.setInterval(() => { ticks.push(1); if (ticks.length === 3) socket.close(); }, 10);
  });
  check(ticks, { "ticks": (all) => all.length === 3 });

  const refused = ws.connect(`${url}/ws/forbidden`, null, () => {});
  check(refused, { [`refused with ${refused.status}`]: () => true });
  const secure = ws.connect(`wss://${__ENV.SECURE_SHOP}/ws`, null, (socket) => {
    socket.on("open", () => socket.send("hi"));
    socket.on("message", (text) => { heard.push(`tls ${text}`); socket.close(); });
  });
  check(secure, { "over TLS": (r) => r.status === 101 && heard.at(-1) === "tls hi" });
}
