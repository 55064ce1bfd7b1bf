// Each rule finds what it is for, and leaves alone what it is not for: code, parts of words, and the glossary's own table. Of programs the texts
// that are shown are found, and no others.
import assert from 'node:assert/strict';

import { wordsInProgram } from './glossary.mjs';
import { lint } from './lint.mjs';
import { texts } from './strings.mjs';

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

/** The texts that are found in a program, with their lines. */
const shown = (path, source) => texts(path, source).map(({ line, text }) => `${line}: ${text}`);

const rust = String.raw`//! A load generator in a comment.
use std::path::Path;
#[cfg(feature = "simply")]
#[derive(thiserror::Error)]
#[error("cannot open {path}: \"{reason}\"")]
struct Fault<'a> { letter: char, text: &'a str }
const LONG: &str = "first \
    second";
fn say() -> String { /* "no" /* "nested" */ "no" */ let _ = ('"', b'"', b"bytes", '\''); format!(r#"raw "quoted" text"#) }
#[cfg(test)]
#[allow(unused)]
mod tests { const T: &str = "just } a test"; }
#[cfg(test)]
mod other;
#[test]
fn a_test() { assert!(true, "simply"); }
const LAST: &str = "see ${'`'}simply.toml${'`'} at http://simply.test/ now";
`.replaceAll("${'`'}", '`');
assert.deepEqual(shown('lab/a/src/a.rs', rust), [
  `5: cannot open ______: \\"________\\"`,
  '7: first  \n    second',
  '9: raw "quoted" text',
  '17: see _____________ at ___________________ now',
]);
// Comments are shown where `--help` is made of them.
assert.deepEqual(shown('prony/src/a.rs', 'use clap::Args;\n/// Simply so.\n// Not so.\n#[arg(long, help = "And so")]\n'), ['2:  Simply so.', '4: And so']);

const script = `// simply
import { h } from './simply';
const split = text.split(/['"]simply/g), half = a / 2 / b;
const said = \`so \${many > 1 ? 'many' : "one"} of \${\`all \${of}\`} there\`;
`;
assert.deepEqual(shown('web/a.ts', script), ['4: so ____________________________ of ______________ there', '4: many', '4: one', '4: all _____']);
const element = 'const view = <p class="lead" onClick={() => go(a > b)}>\n  Not {count} of <b>them</b>, isn’t it\n</p>;\n';
assert.deepEqual(shown('web/a.tsx', element), ['1: lead', '1: \n  Not ', '2:  of ', '2: them', '2: , isn’t it\n']);

const words = (text) => wordsInProgram(text).map(({ message }) => message.split(';')[0]);
assert.deepEqual(words('the load\n   generator of Postgres'), ['"load generator" is not used', '"Postgres" is not used']);
// A property has the name that it has; a name is wrong by itself too.
assert.deepEqual(['rampUp', 'middleware', 'Postgres'].map(words), [[], [], ['"Postgres" is not used']]);
