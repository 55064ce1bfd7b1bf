// Hashes and signatures: k6/crypto, k6/encoding, a signed request, a token, and the crypto of browsers.
import crypto from "k6/crypto";
import encoding from "k6/encoding";
import http from "k6/http";
import { check } from "k6";

export const options = { iterations: 2 };

function token(payload, secret) {
  const part = (value) => encoding.b64encode(JSON.stringify(value), "rawurl");
  const signed = `${part({ alg: "HS256", typ: "JWT" })}.${part(payload)}`;
  return `${signed}.${crypto.hmac("sha256", secret, signed, "base64rawurl")}`;
}

const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
const bytes = (text) => new Uint8Array([...text].map((letter) => letter.charCodeAt(0)));

export default async function () {
  check(crypto, {
    "md5": (c) => c.md5("hello world!", "hex") === "fc3ff98e8c6a0d3087d515c0473f8677",
    "sha1": (c) => c.sha1("hello world!", "hex") === "430ce34d020724ed75a196dfc2ad67c77772d169",
    "sha256": (c) => c.sha256("hello world!", "base64") === "dQnlvaDHYtK6x/kNdYtbImP6Acy8VCq1498WO+CObKk=",
    "in steps": (c) => {
      const hasher = c.createHash("sha384");
      hasher.update("hello ");
      hasher.update("world!");
      return hasher.digest("hex") === c.sha384("hello world!", "hex");
    },
    "random": (c) => c.randomBytes(7).byteLength === 7,
    "md4 and ripemd": (c) => c.md4("a", "hex") === "bde52cb31de33e46245e05fbdbd6fb24" && c.ripemd160("a", "hex") === "0bdc9d2d256b3ee9daae347be6f4dc835a467ffe",
  });
  check(encoding, {
    "base64": (e) => e.b64encode("hi?>") === "aGk/Pg==" && e.b64decode("aGk_Pg", "rawurl", "s") === "hi?>",
  });
  const signed = token({ sub: "ann" }, "secret");
  check(signed, { "a token": (text) => text === "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.PjR3fgnevdXvvFDIexpV052PaeBybdsfUE102L3fkg4" });
  const body = JSON.stringify({ amount: 3 });
  const answer = http.post(`http://${__ENV.SHOP}/echo`, body, { headers: { "X-Signature": crypto.hmac("sha512", "key", body, "hex"), Authorization: `Bearer ${signed}` } });
  check(answer.json("headers"), { "a signed request": (h) => h["x-signature"].length === 128 && h.authorization.endsWith(signed) });

  const digest = await globalThis.crypto.subtle.digest("SHA-256", bytes("hello world!"));
  check(digest, { "subtle.digest": (d) => hex(d) === crypto.sha256("hello world!", "hex") });
  const subtle = globalThis.crypto.subtle;
  const key = await subtle.importKey("raw", bytes("key"), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
  const signature = await subtle.sign("HMAC", key, bytes("text"));
  const isTrue = await subtle.verify("HMAC", key, signature, bytes("text"));
  const isFalse = await subtle.verify("HMAC", key, signature, bytes("other"));
  check(signature, {
    "subtle.sign": (s) => hex(s) === crypto.hmac("sha256", "key", "text", "hex"),
    "subtle.verify": () => isTrue && !isFalse,
  });
  const secret = await subtle.generateKey({ name: "AES-CBC", length: 256 }, true, ["encrypt", "decrypt"]);
  const iv = globalThis.crypto.getRandomValues(new Uint8Array(16));
  const hidden = await subtle.encrypt({ name: "AES-CBC", iv }, secret, bytes("a secret"));
  const shown = await subtle.decrypt({ name: "AES-CBC", iv }, secret, hidden);
  const jwk = await subtle.exportKey("jwk", secret);
  check(shown, {
    "subtle.encrypt": (s) => hex(s) === hex(bytes("a secret").buffer) && hidden.byteLength === 16,
    "a JWK": () => jwk.kty === "oct" && jwk.alg === "A256CBC",
    "a UUID": () => /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(globalThis.crypto.randomUUID()),
  });
  const pair = await subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, true, ["sign", "verify"]);
  const proof = await subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, bytes("text"));
  const holds = await subtle.verify({ name: "ECDSA", hash: "SHA-256" }, pair.publicKey, proof, bytes("text"));
  check(proof, { "a pair of keys": (p) => holds && p.byteLength === 64 });
}
