// Statements on lines of their own, as people read them: clauses begin lines, and what is in parentheses is indented where it is a
// statement itself. Nothing but spaces is changed.

const TOKENS = /"(?:[^"]|"")*"|'(?:[^']|'')*'|\s+|[A-Za-z_]\w*|[$?]\d+|\d+(?:\.\d+)?|<=|>=|<>|::|./gs;

/** Words that begin a line of a statement. */
const CLAUSES = new Set(['SELECT', 'FROM', 'WHERE', 'GROUP', 'ORDER', 'HAVING', 'LIMIT', 'UNION', 'RETURNING', 'VALUES', 'SET', 'ON', 'INSERT', 'UPDATE', 'DELETE', 'WITH']);
const JOINS = new Set(['LEFT', 'INNER', 'CROSS', 'JOIN']);
/** Longer lists of columns go on on the next line. */
const WIDTH = 72;

interface Level {
  isStatement: boolean;
  /** Of the line that the parenthesis is in. */
  indent: number;
}

export function formatSql(sql: string): string {
  const tokens = (sql.match(TOKENS) ?? []).map((token) => (/^\s+$/.test(token) ? ' ' : token));
  const levels: Level[] = [{ isStatement: true, indent: 0 }];
  const lines: string[] = [''];
  let before = '';
  const newLine = (indent: number) => {
    if (lines.at(-1)?.trim() === '') lines.pop();
    lines.push('  '.repeat(Math.max(indent, 0)));
  };
  tokens.forEach((token, place) => {
    const level = levels.at(-1)!;
    const word = token.toUpperCase();
    if (token === '(') {
      const next = tokens.slice(place + 1).find((other) => other !== ' ')?.toUpperCase();
      const isStatement = next === 'SELECT' || next === 'WITH';
      add(lines, token);
      levels.push({ isStatement, indent: isStatement ? indentOf(lines) + 1 : level.indent });
      return;
    }
    if (token === ')') {
      const closed = levels.length > 1 ? levels.pop()! : level;
      if (closed.isStatement) newLine(closed.indent - 1);
      add(lines, token);
    } else if (level.isStatement && beginsLine(word, before)) {
      const isPart = word === 'AND' || word === 'OR';
      if (lines.length > 1 || lines[0] !== '') newLine(level.indent + (isPart ? 1 : 0));
      add(lines, token);
    } else if (token === ' ') {
      const isBreak = level.isStatement && before === ',' && (lines.at(-1)?.length ?? 0) > WIDTH;
      if (isBreak) newLine(level.indent + 1);
      else if (lines.at(-1)?.trim()) add(lines, token);
    } else {
      add(lines, token);
    }
    if (token !== ' ') before = word;
  });
  return lines.map((line) => line.trimEnd()).filter(Boolean).join('\n');
}

function add(lines: string[], token: string): void {
  lines[lines.length - 1] += token;
}

function indentOf(lines: string[]): number {
  return ((lines.at(-1) ?? '').match(/^ */)?.[0].length ?? 0) / 2;
}

function beginsLine(word: string, before: string): boolean {
  if (word === 'AND' || word === 'OR') return true;
  // `DELETE FROM` and `DO UPDATE SET` stay together, and so do the two words of a join.
  if (word === 'FROM') return before !== 'DELETE';
  if (word === 'UPDATE') return before !== 'DO';
  if (JOINS.has(word)) return !JOINS.has(before);
  return word !== 'ON' && CLAUSES.has(word);
}
