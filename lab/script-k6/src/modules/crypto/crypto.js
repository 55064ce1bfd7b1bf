import c from "prony:crypto";

export const { md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256, ripemd160, hmac, hexEncode, randomBytes } = c;

const hasher = (held) => ({
  update(input) { c.update(held, input); },
  digest(encoding) { return c.digest(held, encoding); },
});

export function createHash(algorithm) { return hasher(c.begin(algorithm)); }
export function createHMAC(algorithm, key) { return hasher(c.begin(algorithm, key)); }

export default {
  md4, md5, sha1, sha256, sha384, sha512, sha512_224, sha512_256, ripemd160, hmac, hexEncode, randomBytes,
  createHash, createHMAC,
};
