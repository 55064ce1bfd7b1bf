// UUIDs of RFC 9562, by the names of the npm package uuid.
import { md5, randomBytes, sha1 } from "k6/crypto";

const HEX = Array.from({ length: 256 }, (_, byte) => (byte + 256).toString(16).slice(1));

export const NIL = "00000000-0000-0000-0000-000000000000";
export const MAX = "ffffffff-ffff-ffff-ffff-ffffffffffff";

export const validate = (text) => typeof text === "string"
  && (/^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i.test(text) || text === NIL || text.toLowerCase() === MAX);

export function version(text) {
  if (!validate(text)) throw new TypeError("Invalid UUID");
  return parseInt(text[14], 16);
}

export function stringify(bytes, offset = 0) {
  const hex = Array.from({ length: 16 }, (_, at) => HEX[bytes[offset + at]]).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

export function parse(text) {
  if (!validate(text)) throw new TypeError("Invalid UUID");
  return Uint8Array.from(text.replace(/-/g, "").match(/../g), (hex) => parseInt(hex, 16));
}

function marked(bytes, version) {
  bytes[6] = (bytes[6] & 15) | (version << 4);
  bytes[8] = (bytes[8] & 63) | 128;
  return bytes;
}

function given(bytes, buffer, offset = 0) {
  if (!buffer) return stringify(bytes);
  bytes.forEach((byte, at) => { buffer[offset + at] = byte; });
  return buffer;
}

const random = (options) => Uint8Array.from(options?.random ?? options?.rng?.() ?? new Uint8Array(randomBytes(16)));

export const v4 = (options, buffer, offset) => given(marked(random(options), 4), buffer, offset);

let node, clock, last = -1n;

// 100 ns since 1582; ids of one user never go back.
export function v1(options, buffer, offset) {
  node ??= random(options).slice(10).map((byte, at) => at ? byte : byte | 1);
  clock ??= new Uint16Array(randomBytes(2))[0] & 0x3fff;
  let time = BigInt(options?.msecs ?? Date.now()) * 10000n + 122192928000000000n + BigInt(options?.nsecs ?? 0);
  if (options?.msecs === undefined && time <= last) time = last + 1n;
  last = time;
  const bytes = new Uint8Array(16), view = new DataView(bytes.buffer);
  view.setUint32(0, Number(time & 0xffffffffn));
  view.setUint16(4, Number((time >> 32n) & 0xffffn));
  view.setUint16(6, Number((time >> 48n) & 0xfffn));
  view.setUint16(8, options?.clockseq ?? clock);
  bytes.set(options?.node ?? node, 10);
  return given(marked(bytes, 1), buffer, offset);
}

const bytesOf = (text) => Uint8Array.from(unescape(encodeURIComponent(text)), (c) => c.charCodeAt(0));

function named(version, hash) {
  const make = (name, namespace, buffer, offset) => {
    const space = typeof namespace === "string" ? parse(namespace) : namespace;
    if (space?.length !== 16) throw new TypeError("Namespace must be array-like (16 iterable integer values, 0-255)");
    const text = typeof name === "string" ? bytesOf(name) : name;
    const digest = hash(Uint8Array.from([...space, ...text]).buffer, "hex");
    const bytes = Uint8Array.from(digest.slice(0, 32).match(/../g), (hex) => parseInt(hex, 16));
    return given(marked(bytes, version), buffer, offset);
  };
  make.DNS = "6ba7b810-9dad-11d1-80b4-00c04fd430c8";
  make.URL = "6ba7b811-9dad-11d1-80b4-00c04fd430c8";
  return make;
}

export const v3 = named(3, md5);
export const v5 = named(5, sha1);
export default { v1, v3, v4, v5, NIL, MAX, validate, version, parse, stringify };
