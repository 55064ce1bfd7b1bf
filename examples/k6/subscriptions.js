// A GraphQL subscription over a WebSocket (graphql-transport-ws), in k6's words. Start `prony example donuts`, then:
//   prony run examples/k6/subscriptions.js
// Where the donuts listen elsewhere, say so: -e URL=127.0.0.1:3001
import http from "k6/http";
import ws from "k6/ws";
import { check } from "k6";
import { Trend } from "k6/metrics";

export const options = { vus: 2, iterations: 2, thresholds: { checks: ["rate==1"], fan_out: ["max<10000"] } };

const address = __ENV.URL || "127.0.0.1:3000";
const fanOut = new Trend("fan_out", true);
const query = "subscription($id: String!) { onDonutUpdated(id: $id) { id name } }";
const mutation = "mutation($donut: DonutInput!) { addOrUpdateDonut(donut: $donut) { id } }";

function update(id) {
  const donut = { id, name: String(Date.now()), flavor: "VANILLA" };
  const body = JSON.stringify({ query: mutation, variables: { donut } });
  http.post(`http://${address}/graphql`, body, { headers: { "Content-Type": "application/json" } });
}

export default function () {
  const id = `k6-${__VU}`;
  const headers = { "Sec-WebSocket-Protocol": "graphql-transport-ws" };
  const response = ws.connect(`ws://${address}/graphql`, { headers }, (socket) => {
    const say = (message) => socket.send(JSON.stringify(message));
    socket.on("open", () => say({ type: "connection_init" }));
    socket.on("message", (text) => {
      const { type, payload } = JSON.parse(text);
      if (type === "connection_ack") {
        say({ id: "1", type: "subscribe", payload: { query, variables: { id } } });
        socket.setInterval(() => update(id), 100);
      } else if (type === "next") {
        fanOut.add(Date.now() - Number(payload.data.onDonutUpdated.name));
        check(payload, { "is of the donut": ({ data }) => data.onDonutUpdated.id === id });
        say({ id: "1", type: "complete" });
        socket.close();
      }
    });
    socket.setTimeout(() => socket.close(), 20000);
  });
  check(response, { "switches protocols": ({ status }) => status === 101 });
}
