// What a program shows in a terminal, as a page: the bytes that it writes are read by what draws terminals.
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import xterm from '@xterm/headless';

const COLUMNS = 92;
const ROWS = 22;
/** Of the sixteen colours, those that the screen uses; by their numbers. */
const PALETTE = { 1: '#ff8f8f', 2: '#7fd487', 3: '#e5c07b', 6: '#5ccfe6' };
const STYLE = `
  body { margin: 0; background: #15181e; }
  pre { display: inline-block; margin: 0; padding: 18px 22px; color: #e4e7ec; background: #15181e;
    font: 15px/1.3 'DejaVu Sans Mono', monospace; }`;

/** Runs a command of the shell in a terminal, and gives what is seen after so many milliseconds. */
export async function seen(command, folder, path, afterMs) {
  const terminal = new xterm.Terminal({ cols: COLUMNS, rows: ROWS, allowProposedApi: true });
  const env = { ...process.env, TERM: 'xterm-256color', PATH: `${path}:${process.env.PATH}` };
  for (const name of ['CI', 'NO_COLOR', 'XTERM_VERSION']) delete env[name];
  const typed = `stty cols ${COLUMNS} rows ${ROWS}; printf '$ ${command}\\n'; exec ${command}`;
  const program = spawn('script', ['-qfec', typed, '/dev/null'], { cwd: folder, env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => program.once('exit', resolve));
  program.stdout.on('data', (piece) => terminal.write(piece));
  await Promise.race([sleep(afterMs), ended]);
  await new Promise((resolve) => terminal.write('', resolve));
  const page = html(terminal.buffer.active);
  program.kill('SIGTERM');
  await ended;
  return page;
}

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

function html(buffer) {
  const rows = Array.from({ length: ROWS }, (_, row) => spans(buffer.getLine(buffer.viewportY + row)));
  while (rows.at(-1) === '') rows.pop();
  return `<!doctype html><meta charset="utf-8"><style>${STYLE}</style><pre>${rows.join('\n')}</pre>`;
}

function spans(line) {
  let text = '';
  for (let column = 0; column < line.translateToString(true).length; column += 1) {
    const cell = line.getCell(column);
    const style = [
      cell.isFgPalette() ? `color:${PALETTE[cell.getFgColor()] ?? 'inherit'}` : '',
      cell.isBold() ? 'font-weight:bold' : '',
      cell.isDim() ? 'opacity:0.65' : '',
    ].filter(Boolean);
    const shown = escaped(cell.getChars() || ' ');
    text += style.length > 0 ? `<span style="${style.join(';')}">${shown}</span>` : shown;
  }
  return text;
}
