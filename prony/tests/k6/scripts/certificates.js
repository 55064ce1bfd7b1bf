// Certificates: their names, times, keys and fingerprints, and texts that are none.
import { parse, getAltNames, getIssuer, getSubject } from "k6/crypto/x509";
import x509 from "k6/crypto/x509";
import { check } from "k6";

export const options = { iterations: 2 };

const FILES = ["rsa", "pss", "p256", "p521", "dsa", "ed25519", "names", "sans", "broken", "key", "empty"];
const texts = Object.fromEntries(FILES.map((name) => [name, open(`./certificates/${name}.pem`)]));

// Numbers of keys are larger than JSON's.
const plain = (_, value) => (typeof value === "bigint" ? value.toString(16) : value);
const tried = (work) => {
  try {
    return JSON.parse(JSON.stringify(work(), plain));
  } catch (error) {
    // How a certificate is malformed is said in each tool's own words.
    return String(error).replace(/(malformed|failed to parse certificate).*/, "$1");
  }
};

export function setup() {
  const shape = {};
  for (const [name, text] of Object.entries(texts)) {
    shape[name] = {
      whole: tried(() => parse(text)),
      members: tried(() => Object.keys(parse(text)).join()),
      subject: tried(() => getSubject(text)),
      issuer: tried(() => Object.keys(getIssuer(text)).join()),
      names: tried(() => getAltNames(text)),
    };
  }
  return shape;
}

export default function () {
  const { publicKey, fingerPrint } = parse(texts.rsa);
  check(publicKey, {
    "a large number": (key) => typeof key.key.n === "bigint" && key.key.n > 2n ** 2047n,
    "a small one": (key) => key.key.e === 65537,
    "a fingerprint": () => fingerPrint.length === 20 && fingerPrint.every((byte) => byte >= 0 && byte < 256),
  });
  const { curve, x, y } = x509.parse(texts.p256).publicKey.key;
  check(curve.params(), {
    "a curve": (params) => params.name === "P-256" && params.bit_size === 256,
    "a point": () => typeof x === "bigint" && typeof y === "bigint",
  });
}

// Members have no order that could be relied on.
const sorted = (_, value) => (Object.prototype.toString.call(value) === "[object Object]" ? Object.fromEntries(Object.entries(value).sort()) : value);

export const handleSummary = (data) => ({ "shape.json": JSON.stringify(data.setup_data, sorted) });
