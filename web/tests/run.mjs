// A measurement that serves its page while it goes, for tests and pictures of that page.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { program } from './server.mjs';

/** Calls `work` with the address of the page of a run of the plan, with its token. */
export async function withRun(plan, work) {
  const folder = mkdtempSync(join(tmpdir(), 'prony-live-'));
  try {
    writeFileSync(join(folder, 'plan.toml'), plan);
    const run = spawn(program(), ['run', 'plan.toml', '--live=127.0.0.1:0', '--threads', '1'], { cwd: folder });
    const ended = new Promise((resolve) => run.once('exit', resolve));
    try {
      const url = await address(run);
      await work({ url, ended, kill: () => run.kill('SIGKILL'), results: () => readdirSync(join(folder, 'results')) });
    } finally {
      run.kill('SIGKILL');
      await ended;
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function address(run) {
  return new Promise((resolve, reject) => {
    let said = '';
    run.stderr.on('data', (piece) => {
      said += piece;
      const found = /live: (http:\S+)/.exec(said);
      if (found) resolve(found[1]);
    });
    run.once('exit', (code) => reject(new Error(`it ended with ${code}: ${said}`)));
  });
}
