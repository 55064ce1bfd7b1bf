// gRPC: calls with metadata and tags, errors with their codes, health, and thresholds on tags.
import grpc from "k6/net/grpc";
import { check, group } from "k6";

const client = new grpc.Client();
const methods = client.load([__ENV.PROTOS], "shop.proto");

export const options = {
  scenarios: { calls: { executor: "per-vu-iterations", vus: 2, iterations: 2 } },
  thresholds: {
    "grpc_req_duration": ["p(95)<20000"],
    "grpc_req_duration{kind:known}": ["avg>=0", "max<20000"],
    "checks{kind:refused}": ["rate==1"],
  },
};

export default function () {
  client.connect(__ENV.GRPC, { plaintext: true });
  const known = client.invoke("shop.v1.Shop/Get", { id: 3, note: "a" }, { metadata: { "X-One": "1" }, tags: { kind: "known" } });
  check(known, {
    "four methods": () => methods.length === 4,
    "its status": (r) => r.status === grpc.StatusOK && r.error === null,
    "its message": (r) => r.message.id === "3" && r.message.name === "item a" && r.message.color === "RED",
    "its metadata": (r) => r.headers["seen-x-one"][0] === "1" && r.trailers["x-trailer"][0] === "at the end",
    "is large": (r) => r.message.name.length > 100,
  });
  const of = (note, params) => client.invoke("shop.v1.Shop/Get", { id: 1, note }, { tags: { kind: "refused" }, ...params });
  group("refused", () => {
    check(of("missing"), { "not found": (r) => r.status === grpc.StatusNotFound && r.error.message === "no such item" }, { kind: "refused" });
    check(of("empty"), { "no message": (r) => r.status === grpc.StatusInternal }, { kind: "refused" });
    let thrown = "";
    try {
      client.invoke("shop.v1.Shop/Nope", {});
    } catch (error) {
      thrown = error.message;
    }
    check(thrown, { "no such method": (text) => text.includes("not found in file descriptors") }, { kind: "refused" });
  });
  check(client.healthCheck("down"), { "its health": (h) => h.status === grpc.HealthCheckNotServing });
  client.close();
}
