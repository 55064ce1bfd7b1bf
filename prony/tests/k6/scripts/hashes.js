// Each hash and its HMAC, in each encoding.
import crypto from "k6/crypto";
import { check } from "k6";

export const options = { iterations: 1 };

export default function () {
  for (const name of ["md4", "md5", "sha1", "sha256", "sha384", "sha512", "sha512_224", "sha512_256", "ripemd160"]) {
    check(crypto[name]("text", "hex"), { [`${name} ${crypto[name]("text", "hex")}`]: () => true });
    const mac = crypto.hmac(name, "key", "text", "base64");
    check(mac, { [`hmac of ${name} ${mac}`]: () => true });
  }
  const steps = crypto.createHMAC("sha256", "key");
  steps.update("te");
  steps.update("xt");
  check(steps.digest("hex"), { "in steps": (digest) => digest === crypto.hmac("sha256", "key", "text", "hex") });
  check(crypto.sha256("text", "binary"), { "as bytes": (bytes) => bytes.byteLength === 32 });
  check(crypto.sha256(new Uint8Array([116, 101, 120, 116]).buffer, "hex"), { "of bytes": (digest) => digest === crypto.sha256("text", "hex") });
}
