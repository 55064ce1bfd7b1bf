// The server that the tests talk to: the one that is named on the command line, or the program that cargo has built,
// started on a copy of the sample database and stopped at the end.
import { spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../..', import.meta.url));

const target = process.env.CARGO_TARGET_DIR ?? join(repository, 'target');

export function program() {
  const found = [process.env.PRONY, join(target, 'debug/prony'), join(target, 'release/prony')]
    .filter(Boolean)
    .find((path) => existsSync(path));
  if (!found) throw new Error('prony is not built: run `cargo build -p prony`, or name the program in PRONY');
  return found;
}

/** A copy of the sample database. */
export function sample(folder) {
  const database = join(folder, 'chinook.sqlite');
  copyFileSync(join(repository, 'testkit/data/chinook/chinook.sqlite'), database);
  return `sqlite:${database}`;
}

/** A graph without anything in it. */
export function emptyGraph(folder) {
  return `graph:${join(folder, 'graph')}`;
}

/** Both, under one schema. */
export function both(folder) {
  return [sample(folder), emptyGraph(folder)];
}

/** Calls `work` with the URL of a server, without a slash at its end. `source` names what it serves in a folder of its own. */
export async function withServer(given, work, source = sample) {
  return given ? work(given.replace(/\/+$/, '')) : withSources(source, work);
}

export async function withSources(source, work) {
  const folder = mkdtempSync(join(tmpdir(), 'prony-web-'));
  try {
    return await withProgram(['serve', ...[source(folder)].flat(), '--listen', '127.0.0.1:0'], work);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The same with a server of donuts, which pages of `origin` may ask. */
export function withDonuts(origin, work) {
  return withProgram(['example', 'donuts', '--cors-origin', origin, '--listen', '127.0.0.1:0'], work);
}

/** The same with an example of the crate prony-server. */
export function withExample(name, options, work) {
  const path = join(target, 'debug/examples', name);
  if (!existsSync(path)) throw new Error(`${name} is not built: run \`cargo build -p prony-server --example ${name}\``);
  return withProgram(options, work, path);
}

export async function withProgram(options, work, path = program()) {
  const child = spawn(path, options);
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
    const read = (piece) => {
      log += piece;
      const found = /listening on (http:\/\/[\d.:]+)/.exec(log);
      if (found) resolve(found[1]);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`prony ended with ${code}:\n${log}`)));
  });
}
