// Pictures of what people see, for the README and the documentation: `node screenshots/main.mjs FOLDER [NAME…]`, or `cargo xtask screenshots`. Each page is
// pictured in light, in dark and on a phone, from the program that cargo has built, with its documentation (PRONY_DOCS=on, or --release).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { demand, drawn, launch, views } from '../tests/page.mjs';
import { withRun } from '../tests/run.mjs';
import { program, withProgram, withSources } from '../tests/server.mjs';
import { write } from './png.mjs';
import { QUERY, fillColdRoom, makeShop, plan, writePlan, writeSamples } from './shop.mjs';
import { seen } from './terminal.mjs';

const [folder, ...names] = process.argv.slice(2);
if (!folder) {
  console.error('name a folder for the pictures');
  process.exit(2);
}

/** Of pages of results, whose first plots stand beneath the figures. */
const WITH_PLOTS = 1150;

/** Calls `work` with a page that has a size and colours, for each of them. */
async function onScreens(browser, work, height) {
  for (const { name, viewport, ...options } of views) {
    const own = options.isMobile ? { viewport, deviceScaleFactor: 1.5 } : { viewport: { ...viewport, height: height ?? viewport.height } };
    const context = await browser.newContext({ ...options, ...own, timezoneId: 'UTC' });
    const page = await context.newPage();
    await work(page, name);
    await context.close();
  }
}

async function shoot(page, name) {
  const size = write(join(folder, `${name}.png`), await page.screenshot({ animations: 'disabled' }));
  console.log(`${name}.png: ${size} bytes`);
}

async function inFolder(work) {
  const own = mkdtempSync(join(tmpdir(), 'prony-pictures-'));
  try {
    return await work(own);
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

/** A measurement may find that a threshold failed, or that its figures cannot be believed; its page is the same. */
function measure(own, ...options) {
  try {
    execFileSync(program(), options, { cwd: own, stdio: ['ignore', 'ignore', 'pipe'] });
  } catch (error) {
    demand([1, 3].includes(error.status), `prony ${options.join(' ')}: ${error.stderr}`);
  }
}

/** The page of all results of a folder, or of a file. */
function report(own, of = 'results') {
  measure(own, 'report', of, '--html', 'page.html');
  return join(own, 'page.html');
}

/** The page that a sweep has left. */
function sweepPage(own) {
  const folder = readdirSync(join(own, 'results')).find((name) => name.startsWith('sweep-'));
  demand(folder, 'the sweep has left no folder');
  return join(own, 'results', folder, 'report.html');
}

/** A page of results on each screen, from a section of it on. */
function pictured(browser, name, path, section) {
  return onScreens(browser, async (page, view) => {
    await page.goto(pathToFileURL(path).href, { waitUntil: 'load' });
    await drawn(page);
    if (section) await page.locator(section).first().evaluate((part) => part.scrollIntoView({ behavior: 'instant' }));
    await shoot(page, `${name}-${view}`);
  }, WITH_PLOTS);
}

/** The page of what was measured at a server of the shop. */
function measured(browser, name, begin, { pageOf = report, section } = {}) {
  return withSources(makeShop, (url) =>
    inFolder(async (own) => {
      begin(own, url);
      await pictured(browser, name, pageOf(own), section);
    }),
  );
}

/** A panel of the console, with the query of the shop in the editor. */
function panel(browser, name, title, work, height) {
  return withSources(makeShop, (url) =>
    onScreens(browser, async (page, view) => {
      await page.goto(`${url}/?${new URLSearchParams({ query: QUERY })}`, { waitUntil: 'networkidle' });
      await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
      await page.getByRole('button', { name: `Show ${title}` }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.prony-panel h2', { hasText: title }).waitFor();
      await work(page);
      await shoot(page, `${name}-${view}`);
    }, height),
  );
}

/** Asks the query again and again for a while, so that there is something to see. */
function ask(page, forMs) {
  const post = async ({ query, forMs }) => {
    const until = performance.now() + forMs;
    const request = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query }) };
    while (performance.now() < until) await fetch('/graphql', request).then((response) => response.text());
  };
  return page.evaluate(post, { query: QUERY, forMs });
}

const scenes = {
  console: (browser) =>
    withSources(makeShop, (url) =>
      onScreens(browser, async (page, view) => {
        await page.goto(`${url}/?${new URLSearchParams({ query: QUERY })}`, { waitUntil: 'networkidle' });
        await page.locator('.graphiql-query-editor .CodeMirror').click();
        await page.keyboard.press('Control+Enter');
        await page.waitForFunction(() => document.querySelector('.result-window .CodeMirror')?.CodeMirror.getValue().includes('"data"'));
        await shoot(page, `console-${view}`);
      }),
    ),
  explain: (browser) =>
    panel(browser, 'explain', 'Explain', async (page) => {
      await page.getByRole('button', { name: 'Explain the operation' }).focus();
      await page.keyboard.press('Enter');
      await page.locator('.prony-panel .said', { hasText: /field/ }).waitFor();
    }, 1000),
  server: (browser) =>
    panel(browser, 'server', 'Server', async (page) => {
      await page.locator('.prony-panel canvas').nth(3).waitFor();
      await ask(page, 12_000);
    }, 1000),
  series: (browser) =>
    withSources(
      (own) => `series:${join(own, 'series')}`,
      async (url) => {
        await fillColdRoom(url);
        await onScreens(browser, async (page, view) => {
          const link = { type: 'ColdRoom', entity: 'ColdRoom:1', attribute: 'temperature', range: 'all', unit: '°C' };
          await page.goto(`${url}/series.html?${new URLSearchParams(link)}`, { waitUntil: 'networkidle' });
          await drawn(page);
          await shoot(page, `series-${view}`);
        }, 680);
      },
    ),
  report: (browser) =>
    measured(browser, 'report', (own, url) => {
      writePlan(own, 'shop.toml', url, 8, '25s');
      measure(own, 'run', 'shop.toml', '--threads', '1', '--quiet');
    }),
  results: (browser) =>
    measured(browser, 'results', (own, url) => {
      for (const users of [4, 8, 16]) {
        writeFileSync(join(own, 'shop.toml'), plan(url, users, '8s').replace('name = "shop"', `name = "shop-${users}-users"`));
        measure(own, 'run', 'shop.toml', '--threads', '1', '--quiet');
      }
    }, { section: 'section.beside' }),
  find: (browser) =>
    measured(browser, 'find', (own, url) => {
      writePlan(own, 'shop.toml', url, 64, '10s', '');
      const search = ['--vary', 'rate', '--slo', 'p95<20ms,errors<1%', '--from', '250', '--ramp', '500ms', '--hold', '2s', '--repeats', '2', '--resolution', '10%'];
      measure(own, 'find', 'shop.toml', ...search, '--threads', '1', '--quiet');
    }, { section: 'section.search' }),
  sweep: (browser) =>
    measured(browser, 'sweep', (own, url) => {
      writePlan(own, 'shop.toml', url, 8, '10s', '');
      measure(own, 'sweep', 'shop.toml', '--users', '4,8,16,32', '--ramp', '1s', '--warm-up', '1s', '--hold', '6s', '--threads', '1', '--quiet');
    }, { pageOf: sweepPage }),
  samples: (browser) =>
    inFolder(async (own) => {
      writeSamples(own, 'samples.jtl');
      await pictured(browser, 'samples', report(own, 'samples.jtl'));
    }),
  comparison: (browser) =>
    measured(browser, 'comparison', (own, url) => {
      writePlan(own, 'before.toml', url, 4, '6s', '');
      writePlan(own, 'after.toml', url, 8, '6s', '');
      measure(own, 'compare', 'before.toml', 'after.toml', '--runs', '5', '--quiet');
    }),
  live: (browser) =>
    withSources(makeShop, (target) =>
      withRun(plan(target, 8, '10m'), ({ url }) =>
        onScreens(browser, async (page, view) => {
          await page.goto(url);
          await page.waitForFunction(() => document.querySelectorAll('.time canvas').length >= 5 && document.querySelector('.claims'));
          await page.waitForTimeout(view === 'light' ? 12_000 : 2_000);
          await shoot(page, `live-${view}`);
        }, WITH_PLOTS),
      ),
    ),
  documentation: (browser) =>
    withProgram(['docs', '--listen', '127.0.0.1:0'], (url) =>
      onScreens(browser, async (page, view) => {
        await page.goto(`${url}/docs/run.html`, { waitUntil: 'networkidle' });
        await shoot(page, `documentation-${view}`);
      }),
    ),
  terminal: (browser) =>
    withSources(makeShop, (url) =>
      inFolder(async (own) => {
        writePlan(own, 'shop.toml', url, 8, '40s');
        const page = await browser.newPage({ viewport: { width: 1100, height: 600 } });
        await page.setContent(await seen('prony run shop.toml', own, dirname(program()), 22_000));
        const size = write(join(folder, 'terminal.png'), await page.locator('pre').screenshot());
        console.log(`terminal.png: ${size} bytes`);
        await page.close();
      }),
    ),
};

const unknown = names.find((name) => !(name in scenes));
demand(!unknown, `there is no picture ${unknown}; there are ${Object.keys(scenes).join(', ')}`);
mkdirSync(folder, { recursive: true });
const browser = await launch();
try {
  for (const [name, picture] of Object.entries(scenes)) {
    if (names.length === 0 || names.includes(name)) await picture(browser);
  }
} finally {
  await browser.close();
}
console.log(`${readdirSync(folder).length} files in ${basename(folder)}`);
