// Puts a `.gz` and a `.br` beside each file of the build that gains by it, so that the server compresses nothing.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const folder = fileURLToPath(new URL('dist', import.meta.url));
const smallest = 512;

for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
  const path = join(entry.parentPath, entry.name);
  if (!entry.isFile() || /\.(gz|br)$/.test(path)) continue;
  const bytes = readFileSync(path);
  if (bytes.length < smallest) continue;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  for (const [suffix, small] of [
    ['.gz', gzipSync(bytes, { level: 9 })],
    ['.br', brotliCompressSync(bytes, { params })],
  ]) {
    if (small.length < bytes.length) writeFileSync(path + suffix, small);
  }
}
