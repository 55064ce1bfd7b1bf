// Sessions of WebSockets with tags and thresholds; their samples have the group that they were opened in.
import { group } from "k6";
import ws from "k6/ws";
import { WebSocket } from "k6/websockets";

export const options = {
  iterations: 2,
  thresholds: { "ws_sessions{of:blocking}": ["count==2"], ws_msgs_sent: ["count==4"], "ws_msgs_received{of:events}": ["count==2"], ws_connecting: ["avg<5000"] },
};

export default function () {
  ws.connect(`ws://${__ENV.SHOP}/ws`, { tags: { of: "blocking" } }, (socket) => {
    socket.on("open", () => socket.send("one"));
    socket.on("message", () => socket.close());
  });
  group("opened", () => {
    const socket = new WebSocket(`ws://${__ENV.SHOP}/ws`, null, { tags: { of: "events" } });
    socket.onopen = () => socket.send("two");
    socket.onmessage = () => socket.close();
  });
}
