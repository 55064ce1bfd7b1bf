// What goes wrong with blocking WebSockets is thrown, or told.
import ws from "k6/ws";
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 1 };
const shown = (call) => { try { return call(); } catch (error) { return `thrown ${error}`; } };

export default function () {
  const refused = shown(() => { const r = ws.connect("ws://127.0.0.1:1/", null, () => {}); return `${r.status} ${r.error}`; });
  check(null, { [`nobody there: ${refused}`]: () => true });
  const thrown = shown(() => ws.connect(`ws://${__ENV.SHOP}/ws`, null, () => { throw new Error("in setup"); }));
  check(null, { [`in its function: ${thrown}`]: () => true });
  check(null, { [`no function: ${shown(() => ws.connect("ws://127.0.0.1:1/"))}`]: () => true });
  http.cookieJar().set(`http://${__ENV.SHOP}`, "mine", "1");
  let cookies = "none";
  ws.connect(`ws://${__ENV.SHOP}/ws/cookies`, null, (socket) => {
    socket.on("message", (text) => { cookies = text; socket.close(); });
  });
  check(null, { [`cookies of the user: ${cookies}`]: () => true });
  const jar = new http.CookieJar();
  jar.set(`http://${__ENV.SHOP}`, "other", "2");
  ws.connect(`ws://${__ENV.SHOP}/ws/cookies`, { jar }, (socket) => {
    socket.on("message", (text) => { cookies = text; socket.close(); });
  });
  check(null, { [`cookies of a jar: ${cookies}`]: () => true });
}
