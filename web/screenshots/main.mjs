// Pictures of what people see, for the README and the documentation: `node screenshots/main.mjs FOLDER [NAME…]`, or `cargo xtask screenshots`. Each page is
// pictured in light, in dark and on a phone, from the program that cargo has built, with its documentation (PRONY_DOCS=on, or --release).
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { demand, drawn, launch, views } from '../tests/page.mjs';
import { withRun } from '../tests/run.mjs';
import { program, withProgram, withSources } from '../tests/server.mjs';
import { write } from './png.mjs';
import { QUERY, fillColdRoom, makeShop, plan, writePlan } from './shop.mjs';
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

/** The page of all results of a folder. */
function report(own) {
  measure(own, 'report', 'results', '--html', 'page.html');
  return pathToFileURL(join(own, 'page.html')).href;
}

/** The page of what was measured at a server of the shop, on each screen. */
function measured(browser, name, begin) {
  return withSources(makeShop, (url) =>
    inFolder(async (own) => {
      begin(own, url);
      const page = report(own);
      await onScreens(browser, async (shown, view) => {
        await shown.goto(page, { waitUntil: 'load' });
        await drawn(shown);
        await shoot(shown, `${name}-${view}`);
      }, WITH_PLOTS);
    }),
  );
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
