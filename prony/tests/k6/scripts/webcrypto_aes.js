// AES in three modes, keys brought in and out.
import { check } from "k6";

export const options = { iterations: 1 };
const bytes = (text) => new Uint8Array([...text].map((letter) => letter.charCodeAt(0)));
const shown = (buffer) => String.fromCharCode(...new Uint8Array(buffer));

export default async function () {
  const { subtle } = crypto;
  for (const [name, parameters] of Object.entries({
    "AES-CBC": { iv: new Uint8Array(16) },
    "AES-CTR": { counter: new Uint8Array(16), length: 64 },
    "AES-GCM": { iv: new Uint8Array(12), additionalData: bytes("more") },
  })) {
    const key = await subtle.importKey("raw", new Uint8Array(16).fill(7), name, true, ["encrypt", "decrypt"]);
    const hidden = await subtle.encrypt({ name, ...parameters }, key, bytes("a secret"));
    const hex = [...new Uint8Array(hidden)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    check(hex, { [`${name}: ${hex}`]: () => true });
    check(await subtle.decrypt({ name, ...parameters }, key, hidden), { [`back from ${name}`]: (text) => shown(text) === "a secret" });
    const jwk = await subtle.exportKey("jwk", key);
    check(jwk, { [`${jwk.kty} ${jwk.alg} ${jwk.k} ${jwk.ext}`]: () => true });
    check(key, { [`${key.type} ${key.extractable} ${key.algorithm.name} ${key.algorithm.length} ${key.usages.join()}`]: () => true });
  }
}
