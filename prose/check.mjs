// Reads the documents, decisions with them, prints what is wrong with file and line, and fails where something is.
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { lint } from './lint.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['docs', 'docs/architecture', 'docs/decisions'];

const documents = ['README.md', 'ARCHITECTURE.md'];
for (const folder of FOLDERS) {
  const names = await readdir(`${ROOT}${folder}`);
  documents.push(...names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`));
}
let wrong = 0;
for (const document of documents) {
  for (const { line, message } of await lint(document, await readFile(`${ROOT}${document}`, 'utf8'))) {
    console.log(`${document}:${line}: ${message}`);
    wrong += 1;
  }
}
console.log(`${documents.length} documents read, ${wrong} faults`);
process.exitCode = wrong > 0 ? 1 : 0;
