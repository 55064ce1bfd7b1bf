// Each rule finds what it is for, and leaves alone what it is not for: code, parts of words, and the glossary's own table.
import assert from 'node:assert/strict';

import { lint } from './lint.mjs';

const found = async (text, path = 'page.md') =>
  (await lint(path, text)).map(({ line, message }) => `${line}: ${message}`);

const long = Array.from({ length: 60 }, (_, number) => `word${number}`).join(' ');
assert.deepEqual(await found(`It is Simply there.\n\nPostgres is the\nthe database of a load\ngenerator.\n\n${long}.\n`), [
  '1: "simply" is not used; write nothing: what is said is enough (docs/glossary.md)',
  '3: "Postgres" is not used; write PostgreSQL (docs/glossary.md)',
  '3: a word stands twice',
  '4: "load generator" is not used; write lab (docs/glossary.md)',
  '7: Line 7 sentence length(410) exceeds the maximum sentence length of 300.',
]);
assert.deepEqual(await found('`simply` is code, `Postgres` too; unjust, postgres://, PostgreSQL.\n\n```\njust code\n```\n'), []);
const table = '## Words that are not used\n\n| a | b |\n|---|---|\n| simply | c |\n';
assert.deepEqual(await found(table, 'docs/glossary.md'), []);
assert.equal((await found(table)).length, 1);
