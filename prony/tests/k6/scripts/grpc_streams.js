// gRPC: streams of the server, of the client and of both, with their ends, errors and tags.
import grpc from "k6/net/grpc";
import { check } from "k6";
import { Counter } from "k6/metrics";

const client = new grpc.Client();
client.load([__ENV.PROTOS], "shop.proto");
const items = new Counter("items");

export const options = {
  iterations: 2,
  thresholds: {
    grpc_streams: ["count==8"],
    grpc_streams_msgs_sent: ["count>10"],
    "grpc_streams_msgs_received{method:Watch}": ["count<5"],
  },
};

function told(method, writes) {
  return new Promise((resolve) => {
    const seen = [];
    const stream = new grpc.Stream(client, `shop.v1.Shop/${method}`, { tags: { own: "tag" } });
    stream.on("data", (data) => {
      items.add(1, { method });
      seen.push(data.name ?? data.sum);
    });
    stream.on("error", (error) => seen.push(JSON.stringify(error.code)));
    stream.on("end", () => resolve(seen.join()));
    writes.forEach((write) => stream.write(write));
    stream.end();
  });
}

export default async function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  check(await told("Watch", [{ id: 2 }]), { "of the server": (seen) => seen === "watched 0,watched 1" });
  check(await told("Sum", [{ id: 2 }, { id: 3 }, { id: 4 }]), { "of the client": (seen) => seen === "9" });
  check(await told("Echo", [{ id: 2, note: "one" }, { id: 3, note: "two" }]), { "of both": (seen) => seen === "one,two" });
  check(await told("Watch", [{ id: 1, note: "fails" }]), { "with an error": (seen) => seen === "watched 0,9" });
  client.close();
}
