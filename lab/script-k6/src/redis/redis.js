// Redis: each command is a promise; as many at a time as the client may have connections.
import r from "prony:redis";

const integer = (value) => Math.trunc(Number(value ?? 0)) || 0;
const goError = (message) => Object.assign(new Error(message), { name: "GoError" });
// As text it is its message alone, as k6's errors of Redis are.
const named = (error) => Object.assign(error, { name: "" });
const isTrue = (reply) => reply === 1;
// As k6 tells of keys without an end, or without a value.
const seconds = (reply) => (reply < 0 ? reply * 1e-9 : reply);
const pairs = (reply) => {
  const object = {};
  for (let at = 0; at + 1 < reply.length; at += 2) object[reply[at]] = reply[at + 1];
  return object;
};

export class Client {
  #held;
  #free;
  #waiting = [];

  constructor(...args) {
    if (args.length !== 1) throw goError("must specify one argument");
    this.#held = r.client(args[0]);
    this.#free = r.poolSize(this.#held);
  }

  isConnected() { return r.isConnected(this.#held); }

  set(key, value, expiration) {
    const ends = integer(expiration);
    return this.#send(["SET", String(key), value, ...(ends > 0 ? ["EX", ends] : [])]);
  }
  expire(key, time) { return this.#send(["EXPIRE", String(key), integer(time)], isTrue); }
  lrange(key, start, stop) { return this.#send(["LRANGE", String(key), integer(start), integer(stop)]); }
  lindex(key, index) { return this.#send(["LINDEX", String(key), integer(index)]); }
  lset(key, index, element) { return this.#send(["LSET", String(key), integer(index), String(element)]); }
  lrem(key, count, value) { return this.#send(["LREM", String(key), integer(count), String(value)]); }
  hset(key, field, value) { return this.#send(["HSET", String(key), String(field), value]); }
  hincrby(key, field, by) { return this.#send(["HINCRBY", String(key), String(field), integer(by)]); }
  sendCommand(command, ...args) { return this.#send([String(command), ...args]); }

  #send(words, convert = (reply) => reply) {
    return new Promise((resolve, reject) => {
      const begin = () => {
        const onEvent = (id) => {
          let reply;
          try {
            reply = r.take(id, onEvent);
            if (reply === undefined) return;
            resolve(convert(reply));
          } catch (error) {
            reject(named(error));
          }
          this.#release();
        };
        try {
          r.send(this.#held, words, onEvent);
          this.#free--;
        } catch (error) {
          reject(named(error));
        }
      };
      if (this.#free > 0) begin();
      else this.#waiting.push(begin);
    });
  }

  #release() {
    this.#free++;
    this.#waiting.shift()?.();
  }

  static {
    const texts = (values) => values.map(String);
    // Names of methods, what their arguments become, and what their replies do.
    const add = (names, write, convert) => {
      for (const name of names.split(" ")) {
        Client.prototype[name] = function (...args) { return this.#send([name.toUpperCase(), ...write(args)], convert); };
      }
    };
    const key = ([key]) => [String(key)];
    add("get getDel incr decr lpop rpop llen hkeys hvals hlen smembers srandmember spop", key);
    add("ttl", key, seconds);
    add("persist", key, isTrue);
    add("hgetall", key, pairs);
    add("randomKey", () => []);
    add("del exists mget", texts);
    add("getSet", ([key, value]) => [String(key), value]);
    add("sismember", ([key, value]) => [String(key), value], isTrue);
    add("incrBy decrBy", ([key, by]) => [String(key), integer(by)]);
    add("lpush rpush sadd srem", ([key, ...values]) => [String(key), ...values]);
    add("hget hdel", texts);
    add("hsetnx", texts, isTrue);
  }
}

export default { Client };
