// gRPC: what a server has is asked of itself; calls that do not wait for each other.
import { Client, StatusOK } from "k6/net/grpc";
import { check } from "k6";

const client = new Client();

export const options = { vus: 2, iterations: 4 };

export default async function () {
  client.connect(__ENV.GRPC, { plaintext: true, reflect: true });
  const all = await Promise.all([1, 2, 3].map((id) => client.asyncInvoke("shop.v1.Shop/Get", { id, note: String(id) })));
  check(all, {
    "all are OK": (responses) => responses.every((response) => response.status === StatusOK),
    "in their order": (responses) => responses.map((response) => response.message.name).join() === "item 1,item 2,item 3",
  });
  client.close();
}
