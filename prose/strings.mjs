// The texts in programs that people may be shown: what stands between quotes in Rust and TypeScript, text between tags, and the
// descriptions of options. Comments, tests, attributes that no one is shown and names of things are left out.

/** Attributes of Rust whose strings are shown: messages of errors, and texts of the command line. */
const SHOWN_ATTRIBUTES = /^#!?\[\s*(error|command|arg|group|clap)\b/;
const TEST_ATTRIBUTE = /^#\[\s*(cfg\s*\(\s*(test|all\s*\(\s*test)\b|test\b)/;
/** Where derived from comments, `--help` shows those of options and commands. */
const HELP = /\bclap::/;

/** Each text with the line that it begins in. */
export function texts(path, source) {
  const found = path.endsWith('.rs') ? rust(source) : script(source, path.endsWith('x'));
  found.sort((left, right) => left.at - right.at);
  let [line, counted] = [1, 0];
  return found.map(({ at, text }) => {
    line += newlines(source.slice(counted, at));
    counted = at;
    return { line, text: plain(text) };
  });
}

/** How many there are. */
export const newlines = (text) => text.split('\n').length - 1;

/** Without code, places for values, escapes and addresses: as long as before, so that lines can be told. */
function plain(text) {
  const blank = (part) => part.replace(/[^\n]/g, '_');
  return text
    .replace(/\\\r?\n[ \t]*/g, (part) => part.replace(/[^\n]/g, ' '))
    .replace(/\\[nrt0]/g, '  ')
    .replace(/`[^`]*`/g, blank)
    .replace(/\$?\{[^{}]*\}/g, blank)
    .replace(/\b[a-z][\w+.-]*:\/\/\S*/gi, blank);
}

const END = -1;
const past = (at, source) => (at === END ? source.length : at);

/** The end of a string that is closed by `quote`, escapes skipped. */
function closed(source, from, quote) {
  let at = from;
  while (at < source.length && source[at] !== quote) at += source[at] === '\\' ? 2 : 1;
  return Math.min(at, source.length);
}

// ---- Rust

const RUST_RAW = /(b|c|br|cr|r)?(#*)"/y;
const RUST_CHAR = /b?'(\\(x[0-9a-fA-F]{2}|u\{[^}]*\}|.)|[^'\\\n])'/y;

function rust(source) {
  const found = [];
  const showsComments = HELP.test(source);
  let at = 0;
  while (at < source.length) {
    const rest = '/#'.includes(source[at]) ? source.slice(at, at + 80) : '';
    if (rest.startsWith('//')) {
      const end = past(source.indexOf('\n', at), source);
      if (showsComments && /^\/\/\/(?!\/)/.test(rest)) found.push({ at: at + 3, text: source.slice(at + 3, end) });
      at = end;
    } else if (rest.startsWith('/*')) {
      at = blockEnd(source, at);
    } else if (TEST_ATTRIBUTE.test(rest)) {
      at = itemEnd(source, rustEnd(source, at));
    } else if (/^#!?\[/.test(rest) && !SHOWN_ATTRIBUTES.test(rest)) {
      at = rustEnd(source, at);
    } else {
      const [end, text] = rustToken(source, at);
      if (text) found.push(text);
      at = end;
    }
  }
  return found;
}

/** Comments of Rust nest. */
function blockEnd(source, from) {
  let [at, depth] = [from, 0];
  do {
    if (source.startsWith('/*', at)) [at, depth] = [at + 2, depth + 1];
    else if (source.startsWith('*/', at)) [at, depth] = [at + 2, depth - 1];
    else at += 1;
  } while (depth > 0 && at < source.length);
  return at;
}

/** What follows `at`: where it ends, and its text where it is a string that may be shown. */
function rustToken(source, at) {
  const before = at > 0 && /[\w]/.test(source[at - 1]);
  RUST_RAW.lastIndex = at;
  const opened = before ? (source[at] === '"' ? ['"', '', ''] : null) : RUST_RAW.exec(source);
  if (opened) {
    const [open, prefix = '', hashes] = opened;
    const from = at + open.length;
    if (!prefix.includes('r') && hashes) return [at + 1, null];
    const end = prefix.includes('r') ? past(source.indexOf(`"${hashes}`, from), source) : closed(source, from, '"');
    // Bytes are for machines.
    const text = prefix.startsWith('b') || prefix.startsWith('c') ? null : { at: from, text: source.slice(from, end) };
    return [end + 1 + hashes.length, text];
  }
  RUST_CHAR.lastIndex = at;
  const character = before ? null : RUST_CHAR.exec(source);
  return [at + (character ? character[0].length : 1), null];
}

/** Past the bracket that closes the first one from here, or past the first semicolon before any. */
function rustEnd(source, from, stopsAtSemicolon = false) {
  let [at, depth] = [from, 0];
  while (at < source.length) {
    if (source.startsWith('//', at)) at = past(source.indexOf('\n', at), source);
    else if (source.startsWith('/*', at)) at = blockEnd(source, at);
    else if ('([{'.includes(source[at])) [at, depth] = [at + 1, depth + 1];
    else if (')]}'.includes(source[at])) {
      const isBody = source[at] === '}' || !stopsAtSemicolon;
      [at, depth] = [at + 1, depth - 1];
      if (depth === 0 && isBody) return at;
    } else if (stopsAtSemicolon && depth === 0 && source[at] === ';') return at + 1;
    else [at] = rustToken(source, at);
  }
  return at;
}

/** Past an item with what stands before it: further attributes, and its body or semicolon. */
function itemEnd(source, from) {
  let at = from;
  for (;;) {
    while (/\s/.test(source[at] ?? '')) at += 1;
    if (!source.startsWith('#[', at)) return rustEnd(source, at, true);
    at = rustEnd(source, at);
  }
}

// ---- TypeScript

/** What a regular expression may follow; after anything else a slash divides. */
const BEFORE_PATTERN = /(^|[=(,:;!&|?{}[+\-*%<>~^]|\b(return|typeof|case|in|of))\s*$/;

function script(source, isJsx) {
  const found = [];
  let at = 0;
  while (at < source.length) {
    const symbol = source[at];
    if (source.startsWith('//', at)) at = past(source.indexOf('\n', at), source);
    else if (source.startsWith('/*', at)) at = past(source.indexOf('*/', at + 2), source) + 2;
    else if (symbol === "'" || symbol === '"') {
      const end = closed(source, at + 1, symbol);
      // Where a module comes from is no text.
      if (!/\b(from|import)\s*\(?$/.test(source.slice(Math.max(0, at - 20), at).trimEnd())) found.push({ at: at + 1, text: source.slice(at + 1, end) });
      at = end + 1;
    } else if (symbol === '`') at = template(source, at, found);
    else if (symbol === '/' && !(isJsx && isTag(source, at)) && BEFORE_PATTERN.test(source.slice(Math.max(0, at - 30), at))) at = patternEnd(source, at);
    else if (isJsx && (symbol === '>' || symbol === '}')) at = between(source, at + 1, found);
    else at += 1;
  }
  return found;
}

/** Whether a slash is that of `</p>` or `<p />`. */
const isTag = (source, at) => source[at - 1] === '<' || source[at + 1] === '>';

/** A template's own text; what stands in its places is read as code. */
function template(source, from, found) {
  let [at, start, text] = [from + 1, from + 1, ''];
  while (at < source.length && source[at] !== '`') {
    if (source.startsWith('${', at)) {
      const end = placeEnd(source, at + 2);
      found.push(...script(source.slice(at + 2, end - 1), false).map((inner) => ({ ...inner, at: inner.at + at + 2 })));
      text += source.slice(start, at) + source.slice(at, end).replace(/[^\n]/g, '_');
      [at, start] = [end, end];
    } else at += source[at] === '\\' ? 2 : 1;
  }
  found.push({ at: from + 1, text: text + source.slice(start, at) });
  return at + 1;
}

/** Past the brace that closes a place for a value. */
function placeEnd(source, from) {
  let [at, depth] = [from, 1];
  while (at < source.length && depth > 0) {
    const symbol = source[at];
    if (symbol === "'" || symbol === '"') at = closed(source, at + 1, symbol) + 1;
    else if (symbol === '`') at = template(source, at, []);
    else [at, depth] = [at + 1, depth + Number(symbol === '{') - Number(symbol === '}')];
  }
  return at;
}

function patternEnd(source, from) {
  let [at, isClass] = [from + 1, false];
  while (at < source.length && source[at] !== '\n' && (isClass || source[at] !== '/')) {
    if (source[at] === '[') isClass = true;
    if (source[at] === ']') isClass = false;
    at += source[at] === '\\' ? 2 : 1;
  }
  return at + 1;
}

/** Text after a tag or a place for a value ends where the next one begins; what has signs of code is none. */
function between(source, from, found) {
  const end = /[<{]/.exec(source.slice(from));
  const text = source.slice(from, from + (end ? end.index : 0));
  if (/[;=>`'"()|&]/.test(text.replace(/\b'\b/g, '')) || !/\p{L}/u.test(text)) return from;
  found.push({ at: from, text });
  return from + text.length;
}
