// The server that the tests talk to: the one that is named on the command line, or the program that cargo has built,
// started on a copy of the sample database and stopped at the end.
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

function program() {
  const target = process.env.CARGO_TARGET_DIR ?? join(repository, 'target');
  const found = [process.env.PRONY, join(target, 'debug/prony'), join(target, 'release/prony')]
    .filter(Boolean)
    .find((path) => existsSync(path));
  if (!found) throw new Error('prony is not built: run `cargo build -p prony`, or name the program in PRONY');
  return found;
}

/** A copy of the sample database. */
function sample(folder) {
  const database = join(folder, 'chinook.sqlite');
  copyFileSync(join(repository, 'crates/testkit/data/chinook/chinook.sqlite'), database);
  return `sqlite:${database}`;
}

/** A graph without anything in it. */
export function emptyGraph(folder) {
  return `graph:${join(folder, 'graph')}`;
}

/** Calls `work` with the URL of a server, without a slash at its end. `source` names what it serves in a folder of its own. */
export async function withServer(given, work, source = sample) {
  if (given) return work(given.replace(/\/+$/, ''));
  const folder = mkdtempSync(join(tmpdir(), 'prony-web-'));
  try {
    return await withProgram(['serve', source(folder), '--listen', '127.0.0.1:0'], work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same with a server of donuts, which pages of `origin` may ask. */
export function withDonuts(origin, work) {
  return withProgram(['example', 'donuts', '--cors-origin', origin, '--listen', '127.0.0.1:0'], work);
}

async function withProgram(options, work) {
  const child = spawn(program(), options);
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    return await work(await address(child));
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

function address(child) {
  return new Promise((resolve, reject) => {
    let log = '';
    child.stderr.on('data', (piece) => {
      log += piece;
      const found = /listening on (http:\/\/[\d.:]+)/.exec(log);
      if (found) resolve(found[1]);
    });
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`prony ended with ${code}:\n${log}`)));
  });
}
