// Pairs of keys: RSA and elliptic curves, signatures and agreed bits.
import { check } from "k6";

export const options = { iterations: 1 };
const bytes = (text) => new Uint8Array([...text].map((letter) => letter.charCodeAt(0)));

export default async function () {
  const { subtle } = crypto;
  const rsa = { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" };
  const pair = await subtle.generateKey(rsa, true, ["sign", "verify"]);
  const signature = await subtle.sign(rsa.name, pair.privateKey, bytes("text"));
  const holds = await subtle.verify(rsa.name, pair.publicKey, signature, bytes("text"));
  const fails = await subtle.verify(rsa.name, pair.publicKey, signature, bytes("other"));
  check(signature, { "RSA signs": (s) => s.byteLength === 256 && holds && !fails });
  check(pair.publicKey, { [`${pair.publicKey.type} ${pair.publicKey.algorithm.name} ${pair.publicKey.algorithm.modulusLength} ${pair.publicKey.usages.join()}`]: () => true });
  for (const [namedCurve, hash] of [["P-256", "SHA-256"], ["P-384", "SHA-384"], ["P-521", "SHA-512"]]) {
    const ecdsa = await subtle.generateKey({ name: "ECDSA", namedCurve }, true, ["sign", "verify"]);
    const proof = await subtle.sign({ name: "ECDSA", hash }, ecdsa.privateKey, bytes("text"));
    const isRight = await subtle.verify({ name: "ECDSA", hash }, ecdsa.publicKey, proof, bytes("text"));
    check(proof, { [`${namedCurve} signs with ${proof.byteLength} bytes`]: () => isRight });
  }
  const [ann, ben] = [await subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]), await subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"])];
  const one = await subtle.deriveBits({ name: "ECDH", public: ben.publicKey }, ann.privateKey, 256);
  const other = await subtle.deriveBits({ name: "ECDH", public: ann.publicKey }, ben.privateKey, 256);
  check(new Uint8Array(one), { "both derive the same": (bits) => bits.join() === new Uint8Array(other).join() && bits.length === 32 });
}
