// Redis: keys, counts, lists, hashes and sets from setup to teardown, and what is refused.
import redis from "k6/experimental/redis";
import http from "k6/http";
import { check } from "k6";

const client = new redis.Client(`redis://${__ENV.REDIS}`);

export const options = {
  scenarios: { users: { executor: "shared-iterations", vus: 2, iterations: 6 } },
  thresholds: { checks: ["rate>0.9"], "checks{kind:missing}": ["rate==1"] },
};

export async function setup() {
  await client.sendCommand("FLUSHALL");
  await client.sadd("carts", "a", "b", "c");
  await client.hset("prices", "hammer", "12.5");
  return { carts: await client.smembers("carts").then((carts) => carts.sort()) };
}

export default async function (data) {
  const visits = await client.incr("visits");
  const cart = data.carts[visits % 3];
  await client.rpush(`cart:${cart}`, "hammer", "nails");
  check(await client.lrange(`cart:${cart}`, 0, 1), { "a cart": (items) => items.join() === "hammer,nails" });
  check(await client.hget("prices", "hammer"), { "a price": (price) => price === "12.5" });
  check(await client.set(`seen:${visits}`, visits, 60), { "is kept": (reply) => reply === "OK" });
  check(await client.ttl(`seen:${visits}`), { "for a while": (seconds) => seconds > 50 && seconds <= 60 });
  check(http.get(`http://${__ENV.SHOP}/items/${await client.get(`seen:${visits}`)}`), { "is shown": (r) => r.json("id") === String(visits) });
  let missing = "";
  try {
    await client.get("nothing");
  } catch (error) {
    missing = String(error);
  }
  check(missing, { "no such key": (text) => text === "redis: nil" }, { kind: "missing" });
  check(await client.sismember("carts", "z"), { "no such cart": (is) => is });
}

export async function teardown(data) {
  check(await client.get("visits"), { "all were counted": (visits) => visits === "6" && data.carts.length === 3 });
}
