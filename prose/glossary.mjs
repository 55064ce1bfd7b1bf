// Words that the documents do not use: those on the left of the last table of docs/glossary.md, which says what is written instead.
import { readFileSync } from 'node:fs';

const GLOSSARY = new URL('../docs/glossary.md', import.meta.url);
const HEADING = '## Words that are not used';

/** The rows of the table: each word with what is written instead. */
function words() {
  const [, section] = readFileSync(GLOSSARY, 'utf8').split(HEADING);
  if (!section) throw new Error(`docs/glossary.md has no heading "${HEADING}"`);
  const rows = section.split('\n').filter((line) => line.startsWith('| ')).slice(1);
  return rows.flatMap((row) => {
    const [left, instead] = row.split('|').slice(1, -1).map((cell) => cell.trim());
    return left.split(', ').map((word) => ({ word, instead, pattern: pattern(word) }));
  });
}

/** Names are wrong in these letters alone, words also at the beginning of a sentence. */
function pattern(word) {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll(' ', '\\s+');
  return new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, /[A-Z]/.test(word) ? 'g' : 'gi');
}

const FORBIDDEN = words();

/** The words of a text that are not used: where each begins, and what is said of it. */
export function wordsIn(text) {
  return FORBIDDEN.flatMap(({ word, instead, pattern }) =>
    [...text.matchAll(pattern)].map(({ index }) => ({ index, message: `"${word}" is not used; write ${instead} (docs/glossary.md)` })),
  );
}

/** The same of a text in a program. A single word is a name, such as that of a property, and no sentence: only what is a name itself is wrong there. */
export function wordsInProgram(text) {
  const found = wordsIn(text);
  return /\S\s+\S/.test(text) ? found : found.filter(({ message }) => /^"[^"]*[A-Z]/.test(message));
}

/** A rule of textlint. */
export default function glossary({ Syntax, RuleError, report, getSource, getFilePath }) {
  let isTable = false;
  return {
    [Syntax.Header](node) {
      isTable = getFilePath()?.endsWith('docs/glossary.md') && getSource(node).trim() === HEADING;
    },
    [Syntax.Str](node) {
      if (isTable) return;
      for (const { index, message } of wordsIn(getSource(node))) report(node, new RuleError(message, { index }));
    },
  };
}
