// Reads the documents, decisions with them, and the texts in programs that people are shown, prints what is wrong with file and line,
// and fails where something is. Of programs only the glossary's words are looked for.
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

import { wordsInProgram } from './glossary.mjs';
import { lint } from './lint.mjs';
import { newlines, texts } from './strings.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDERS = ['docs', 'docs/architecture', 'docs/decisions'];

/** Where programs are that people use; those for whoever builds them are none. */
const PROGRAMS = ['engine', 'lab', 'prony', 'site', 'web'];
const IS_PROGRAM = /\.(rs|ts|tsx)$/;
const IS_LEFT_OUT = /(^|\/)(node_modules|target|dist|tests?|benches|examples)\/|(^|\/)(build|tests?|\w+_tests?)\.rs$/;

/** Texts that stand as they do because they are another program's, by where they are. */
const OF_OTHERS = [
  // What JMeter's samplers for WebSocket write into a sample.
  ['lab/script-jmeter/', 'Websocket I/O error'],
];

async function documents() {
  const found = ['README.md', 'ARCHITECTURE.md'];
  for (const folder of FOLDERS) {
    const names = await readdir(`${ROOT}${folder}`);
    found.push(...names.filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`));
  }
  return found;
}

async function programs() {
  const all = await Promise.all(PROGRAMS.map(async (folder) => (await readdir(`${ROOT}${folder}`, { recursive: true })).map((name) => `${folder}/${name}`)));
  return all.flat().filter((path) => IS_PROGRAM.test(path) && !IS_LEFT_OUT.test(path)).sort();
}

function ofProgram(path, source) {
  const own = texts(path, source).filter(({ text }) => !OF_OTHERS.some(([folder, other]) => path.startsWith(folder) && text === other));
  return own.flatMap(({ line, text }) =>
    wordsInProgram(text).map(({ index, message }) => ({ line: line + newlines(text.slice(0, index)), message })),
  );
}

let wrong = 0;
function tell(path, faults) {
  for (const { line, message } of faults) console.log(`${path}:${line}: ${message}`);
  wrong += faults.length;
}

const [prose, code] = [await documents(), await programs()];
for (const path of prose) tell(path, await lint(path, await readFile(`${ROOT}${path}`, 'utf8')));
for (const path of code) tell(path, ofProgram(path, await readFile(`${ROOT}${path}`, 'utf8')));
console.log(`${prose.length} documents and the texts of ${code.length} programs read, ${wrong} faults`);
process.exitCode = wrong > 0 ? 1 : 0;
