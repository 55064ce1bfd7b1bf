// What native code gives to scripts and takes from them: bytes, hashes, documents, shared rows, promises and timers. `cargo xtask valgrind` runs it.
import hashes from 'k6/crypto';
import encoding from 'k6/encoding';
import { SharedArray } from 'k6/data';
import { check } from 'k6';
import { parseHTML } from 'k6/html';
import { setTimeout } from 'k6/timers';

export const options = { vus: 5, iterations: 40, thresholds: { checks: ['rate==1'] } };

const ROWS = new SharedArray('rows', () => Array.from({ length: 100 }, (_, place) => ({ place, text: 'x'.repeat(place) })));
const SHA256_OF_A = 'ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb';

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, '0')).join('');
const later = (value) => new Promise((resolve) => setTimeout(() => resolve(value), 5));

export default async function () {
  const many = await Promise.all([1, 2, 3].map(later));
  const digest = await crypto.subtle.digest('SHA-256', new Uint8Array([97]));
  const random = crypto.getRandomValues(new Uint8Array(32));
  check(null, {
    'promises come': () => many.join() === '1,2,3',
    'both hashes are one': () => hex(digest) === SHA256_OF_A && hashes.sha256('a', 'hex') === SHA256_OF_A,
    'bytes are coded and decoded': () => hex(encoding.b64decode(encoding.b64encode(random.buffer))) === hex(random.buffer),
    'a document is read': () => parseHTML('<ul><li>a<li>b</ul>').find('li').size() === 2,
    'rows are shared': () => ROWS[42].text.length === 42 && ROWS.length === 100,
  });
}
