// A gRPC client that cannot do what it is asked to.
import grpc from "k6/net/grpc";
import { check } from "k6";

const client = new grpc.Client();
export const options = { iterations: 2 };

export default function () {
  let thrown = "";
  try {
    client.invoke("shop.v1.Shop/Get", {});
  } catch (error) {
    thrown = error.message ?? String(error);
  }
  check(thrown, { [`without a connection: ${thrown}`]: (text) => text.length > 0 });
  check(grpc, { "its codes": (g) => g.StatusOK == 0 && g.StatusNotFound == 5 && g.StatusUnauthenticated == 16 });
}
