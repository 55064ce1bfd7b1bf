// Texts and bytes as base64, in each of its alphabets.
import encoding from "k6/encoding";
import { check } from "k6";

export const options = { iterations: 1 };

export default function () {
  const text = "Ünïcödé?>~";
  for (const alphabet of ["std", "rawstd", "url", "rawurl"]) {
    const encoded = encoding.b64encode(text, alphabet);
    check(encoded, { [`${alphabet}: ${encoded}`]: (e) => encoding.b64decode(e, alphabet, "s") === text });
  }
  const bytes = new Uint8Array([0, 255, 16]);
  check(encoding.b64encode(bytes.buffer), { "of bytes": (e) => e === "AP8Q" });
  check(new Uint8Array(encoding.b64decode("AP8Q")), { "to bytes": (b) => b.join() === "0,255,16" });
  let thrown = "nothing";
  try {
    encoding.b64decode("***");
  } catch (error) {
    thrown = "an error";
  }
  check(thrown, { [`of what is none: ${thrown}`]: () => true });
}
