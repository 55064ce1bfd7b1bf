// The option `throw`: what fails is thrown, by requests and by blocking WebSockets.
import http from "k6/http";
import ws from "k6/ws";
import { check } from "k6";

export const options = { iterations: 1, throw: true };
const shown = (call) => {
  try {
    const answer = call();
    return `answered ${answer.status}`;
  } catch (error) {
    return `thrown ${String(error).split(__ENV.SHOP).join("SHOP")}`;
  }
};

export default function () {
  const calls = {
    "nobody there": () => http.get("http://127.0.0.1:1/"),
    "not for this one": () => http.get("http://127.0.0.1:1/", { throw: false }),
    "an odd URL": () => http.get("http://a b/"),
    "an odd body": () => http.post(`http://${__ENV.SHOP}/echo`, 5),
    "a batch": () => http.batch(["http://127.0.0.1:1/"])[0],
    "no socket": () => ws.connect("ws://127.0.0.1:1/", null, () => {}),
    "a refused socket": () => ws.connect(`ws://${__ENV.SHOP}/ws/forbidden`, null, () => {}),
  };
  for (const [name, call] of Object.entries(calls)) check(null, { [`${name}: ${shown(call)}`]: () => true });
}
