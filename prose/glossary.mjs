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

/** A rule of textlint. */
export default function glossary({ Syntax, RuleError, report, getSource, getFilePath }) {
  let isTable = false;
  return {
    [Syntax.Header](node) {
      isTable = getFilePath()?.endsWith('docs/glossary.md') && getSource(node).trim() === HEADING;
    },
    [Syntax.Str](node) {
      if (isTable) return;
      const text = getSource(node);
      for (const { word, instead, pattern } of FORBIDDEN) {
        for (const found of text.matchAll(pattern)) {
          const message = `"${word}" is not used; write ${instead} (docs/glossary.md)`;
          report(node, new RuleError(message, { index: found.index }));
        }
      }
    },
  };
}
