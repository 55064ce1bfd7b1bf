// Files: as text, as bytes, and piece by piece.
import { open as openFile, SeekMode } from "k6/experimental/fs";
import { check } from "k6";

const text = open("./letter.txt");
const bytes = open("letter.txt", "b");
let file;
(async function () {
  file = await openFile("letter.txt");
})();

export const options = { iterations: 2 };

export default async function () {
  check(bytes, { "as many bytes as letters": (b) => b.byteLength === text.length });
  const { name, size } = await file.stat();
  check(name, { [`${name} has ${size} bytes`]: () => size === text.length });
  await file.seek(0, SeekMode.Start);
  const buffer = new Uint8Array(4);
  let total = 0;
  for (;;) {
    const read = await file.read(buffer);
    if (read === null) break;
    total += read;
  }
  check(total, { "read whole": (all) => all === size });
}
