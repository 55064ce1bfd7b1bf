// Opens pages of made-up results in a real browser: `node tests/report.mjs [SCREENSHOT-FOLDER]`. They must open from the
// disk without any network, break no rule of their policy, draw their plots, dark and light, on a desk and on a phone,
// work by keyboard, and show hostile names as text.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const screenshots = process.argv[2];
const repository = fileURLToPath(new URL('../..', import.meta.url));
const program = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .filter(Boolean)
  .find((path) => existsSync(path));
if (!program) {
  console.error('no Chromium was found; install it or name it in CHROMIUM');
  process.exit(2);
}

const desk = { viewport: { width: 1280, height: 900 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

function demand(condition, message) {
  if (!condition) throw new Error(message);
}

/** Opens one of the made-up pages and gives it to `work`; whatever the browser complains of is a failure. */
async function withPage(browser, folder, name, options, work) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults = [];
  const url = pathToFileURL(join(folder, `${name}.html`)).href;
  page.on('request', (request) => request.url() !== url && faults.push(`asked for ${request.url()}`));
  page.on('console', (message) => faults.push(`console: ${message.text()}`));
  page.on('pageerror', (error) => faults.push(`page: ${error.message}`));
  page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`));
  await page.goto(url, { waitUntil: 'load' });
  await work(page);
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

/** Each canvas has pixels that are not transparent. */
async function demandDrawn(page, least) {
  await page.waitForFunction((least) => document.querySelectorAll('canvas').length >= least, least);
  await page.waitForFunction(() =>
    [...document.querySelectorAll('canvas')].every((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value !== 0);
    }),
  );
}

async function demandFits(page) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  demand(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
}

async function shoot(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage: true });
}

const background = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);

const views = [
  ['light', { ...desk, colorScheme: 'light' }],
  ['dark', { ...desk, colorScheme: 'dark' }],
  ['phone', { ...phone, colorScheme: 'light' }],
];
const plotted = { closed: 3, open: 5, subscribers: 2, several: 3, day: 5, void: 3, search: 6, comparison: 4, study: 6, samples: 10 };

const tests = [
  ...Object.entries(plotted).flatMap(([name, plots]) =>
    views.map(([view, options]) => [
      `${name}, ${view}`,
      (browser, folder) =>
        withPage(browser, folder, name, options, async (page) => {
          await demandDrawn(page, plots);
          await demandFits(page);
          await shoot(page, `${name}-${view}`);
        }),
    ]),
  ),
  [
    'findings stand before figures, and void ones in place of the claim',
    (browser, folder) =>
      withPage(browser, folder, 'void', desk, async (page) => {
        const text = await page.locator('main').innerText();
        const [finding, figures] = [text.indexOf('generator-bound'), text.indexOf('Figures')];
        demand(finding >= 0 && finding < figures, 'the finding does not stand first');
        demand(text.includes('voids the figures') && text.includes('not about the target'), 'void is not said');
        demand((await page.locator('.claims').count()) === 0, 'a claim is made');
      }),
  ],
  ...[
    ['search', 'prony find exits with'],
    ['comparison', 'prony compare exits with'],
  ].map(([name, exit]) => [
    `the verdict of a ${name} stands beneath the title, once, with what its exit code means`,
    (browser, folder) =>
      withPage(browser, folder, name, phone, async (page) => {
        const shown = page.locator('.verdict');
        demand((await page.locator('header + .verdict').count()) === 1, 'no verdict follows the title');
        const said = await shown.first().innerText();
        demand(/^(passed|FAILED|VOID, neither passed nor failed): ./.test(said), `the verdict is ${said}`);
        demand(said.includes(exit), `nothing says what the exit code means: ${said}`);
        const conclusion = { passed: '0', failed: '1', void: '3' };
        const word = (await shown.first().getAttribute('class')).split(' ')[1];
        demand(said.includes(`${exit} ${conclusion[word]}: `), `${word} has another exit code: ${said}`);
        await demandFits(page);
      }),
  ]),
  [
    "JMeter's samples have the tables of its dashboard, its graphs and their percentiles, and labels are text",
    (browser, folder) =>
      withPage(browser, folder, 'samples', desk, async (page) => {
        await demandDrawn(page, 10);
        const text = await page.locator('main').innerText();
        for (const part of [
          '36 000 samples, 333 failed',
          'as that of a run that was killed',
          'satisfied up to (T)',
          'Statistics',
          'Errors by kind',
          '503/Service </script> Unavailable',
          'The 5 most frequent errors of each label',
          'Response time by percentile, successes',
          'Response time percentiles',
          'each 16 s',
        ]) {
          demand(text.replaceAll('\u00a0', ' ').includes(part), `${part} is missing`);
        }
        demand((await page.locator('img').count()) === 0, 'a label became an element');
        demand((await page.locator('.histogram').count()) === 1, 'there is no distribution');
        demand((await page.locator('footer').innerText()).includes("JMeter's elapsed time"), 'nothing says what a response time is');
      }),
  ],
  [
    'hostile names are text',
    (browser, folder) =>
      withPage(browser, folder, 'hostile', phone, async (page) => {
        await demandDrawn(page, 3);
        const heading = await page.locator('h1').innerText();
        demand(heading.startsWith('<img src=x onerror='), `the heading is ${heading}`);
        demand((await page.locator('img').count()) === 0, 'a name became an element');
        demand((await page.title()) !== 'broken', 'a name became a script');
        await demandFits(page);
        await shoot(page, 'hostile');
      }),
  ],
  [
    'hostile names are text in the plain page',
    (browser, folder) =>
      withPage(browser, folder, 'plain', phone, async (page) => {
        demand((await page.locator('img, script').count()) === 0, 'a name became an element');
        demand((await page.locator('body').innerText()).includes('tables but no plots'), 'nothing says what is missing');
        await demandFits(page);
      }),
  ],
  [
    'without scripts there are tables',
    (browser, folder) =>
      withPage(browser, folder, 'open', { ...desk, javaScriptEnabled: false }, async (page) => {
        demand((await page.locator('table').count()) > 0, 'there is no table');
      }),
  ],
  [
    'the switch changes the colours, by keyboard',
    (browser, folder) =>
      withPage(browser, folder, 'open', { ...desk, colorScheme: 'light' }, async (page) => {
        const before = await background(page);
        await page.keyboard.press('Tab');
        demand(await page.evaluate(() => document.activeElement.classList.contains('theme')), 'the switch is not first');
        await page.keyboard.press('Enter');
        const after = await background(page);
        demand(before !== after, `the background stays ${before}`);
      }),
  ],
  [
    'runs are tabs that arrow keys choose',
    (browser, folder) =>
      withPage(browser, folder, 'several', desk, async (page) => {
        const tabs = page.locator('[role=tab]');
        await tabs.first().focus();
        const before = await page.locator('[role=tabpanel]').innerText();
        await page.keyboard.press('ArrowRight');
        demand((await tabs.nth(1).getAttribute('aria-selected')) === 'true', 'the second run is not chosen');
        demand(await tabs.nth(1).evaluate((tab) => tab === document.activeElement), 'the second tab has no focus');
        demand((await page.locator('[role=tabpanel]').innerText()) !== before, 'the panel stays the same');
        await page.keyboard.press('End');
        demand((await tabs.last().getAttribute('aria-selected')) === 'true', 'the last run is not chosen');
      }),
  ],
  [
    'arrow keys move the cursor of all plots of a run, plus zooms them, Escape shows all',
    (browser, folder) =>
      withPage(browser, folder, 'open', desk, async (page) => {
        await demandDrawn(page, 5);
        const plots = page.locator('.time .canvas');
        await plots.first().focus();
        for (let press = 0; press < 4; press += 1) await page.keyboard.press('ArrowRight');
        const at = () => page.locator('.time .at, .observed .at').allInnerTexts();
        await page.waitForFunction(() => document.querySelector('.time .at').textContent !== '');
        const times = await at();
        demand(times.length === 4 && times.every((time) => time === times[0]), `cursors are at ${times}`);
        const picture = () => plots.nth(1).locator('canvas').evaluate((canvas) => canvas.toDataURL());
        const whole = await picture();
        await page.keyboard.press('+');
        await page.waitForFunction((whole) => document.querySelectorAll('.time canvas')[1].toDataURL() !== whole, whole);
        await page.keyboard.press('Escape');
        await page.waitForFunction((whole) => document.querySelectorAll('.time canvas')[1].toDataURL() === whole, whole);
      }),
  ],
  [
    'an experiment shows what was published beside what it found, in words too',
    (browser, folder) =>
      withPage(browser, folder, 'study', phone, async (page) => {
        const text = await page.locator('main').innerText();
        demand(text.includes('dashed: published') && text.includes('What differs'), 'nothing says what was published');
        const bars = page.locator('.bars svg[role=img]');
        demand((await bars.count()) === 1, 'there are no bars');
        const label = await bars.first().getAttribute('aria-label');
        demand(label.includes('1 000: p90') && label.includes('too few samples'), `the bars are ${label}`);
        demand((await bars.first().locator('rect').count()) === 5, 'a bar is missing');
        await page.locator('.study .canvas').first().focus();
        await page.keyboard.press('End');
        await page.waitForFunction(() => document.querySelector('.study .at').textContent === '1\u00a0000 users');
      }),
  ],
  [
    'everything that can be reached has a name',
    (browser, folder) =>
      withPage(browser, folder, 'several', desk, async (page) => {
        const nameless = await page.evaluate(() => {
          const named = (element) =>
            element.textContent.trim() || element.getAttribute('aria-label') || element.getAttribute('aria-labelledby');
          const all = document.querySelectorAll('button, a, [tabindex], svg[role=img], section, summary');
          return [...all].filter((element) => !named(element)).map((element) => element.outerHTML.slice(0, 100));
        });
        demand(nameless.length === 0, nameless.join('\n'));
      }),
  ],
];

const folder = mkdtempSync(join(tmpdir(), 'prony-report-'));
const arguments_ = ['run', '--quiet', '--locked', '-p', 'prony-report', '--example', 'pages', '--', folder];
const made = spawnSync('cargo', arguments_, { cwd: repository, stdio: 'inherit' });
if (made.status !== 0) process.exit(2);
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
let failures = 0;
for (const [name, test] of tests) {
  try {
    await test(browser, folder);
  } catch (error) {
    failures += 1;
    console.error(`${name}: ${error.message}`);
  }
}
await browser.close();
rmSync(folder, { recursive: true, force: true });
console.log(`${tests.length - failures} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
