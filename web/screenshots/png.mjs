// Pictures as small files: a palette in the place of every colour there is.
import { statSync, writeFileSync } from 'node:fs';
import UPNG from 'upng-js';

const COLOURS = 256;
/** Of one file. */
const BYTES_MAX = 100_000;

/** Writes what a browser has pictured; its size. */
export function write(path, png) {
  const { width, height, ...image } = UPNG.decode(png);
  const [pixels] = UPNG.toRGBA8({ width, height, ...image });
  writeFileSync(path, Buffer.from(UPNG.encode([pixels], width, height, COLOURS)));
  const { size } = statSync(path);
  if (size > BYTES_MAX) throw new Error(`${path} has ${size} bytes, more than ${BYTES_MAX}: picture less of the page`);
  return size;
}
