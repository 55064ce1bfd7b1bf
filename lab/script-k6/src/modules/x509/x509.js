// Certificates. Numbers of keys are as large as keys are.
import x from "prony:x509";

const large = (digits) => BigInt(`0x${digits}`);
const all = (numbers) => Object.fromEntries(Object.entries(numbers).map(([name, digits]) => [name, large(digits)]));
const keys = {
  RSA: ({ n, e }) => ({ n: large(n), e }),
  ECDSA: ({ curve, x, y }) => ({ curve: { params: () => ({ ...curve }) }, x: large(x), y: large(y) }),
  // As in Go the parameters are members of the key too.
  DSA: ({ parameters, y }) => ({ ...all(parameters), parameters: all(parameters), y: large(y) }),
};

export function parse(encoded) {
  const certificate = x.parse(encoded);
  const { publicKey } = certificate;
  publicKey.key = keys[publicKey.algorithm](publicKey.key);
  return certificate;
}

export const { getAltNames, getIssuer, getSubject } = x;

export default { parse, getAltNames, getIssuer, getSubject };
