// The page of a run while it goes, in a real browser: `node tests/live-run.mjs [SCREENSHOT-FOLDER]`. It draws itself anew in place: zoom,
// cursor, sorting, focus, scrolling and what is unfolded stay; it asks no other server, fits a phone, keeps the rules of accessibility, says
// figures politely, and stops the run by keyboard with the token alone.
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { demand, fits, keepsRules, launch, open, views } from './page.mjs';
import { withRun as withRunOf } from './run.mjs';

const [screenshots] = process.argv.slice(2);

const plan = (target, duration) => `target = "${target}"
stages = [{ duration = "2s", users = 4 }, { duration = "${duration}", users = 4 }]
think_time = "10ms"
thresholds = ["p95<20ms", "errors<1%"]
observe = ["host:local"]
[[requests]]
name = "list"
path = "/list"
weight = 3
[[requests]]
name = "buy"
path = "/buy"
`;

/** Answers each path in its own time; one in fifty purchases fails. */
async function withTarget(work) {
  let bought = 0;
  const server = createServer((request, response) => {
    const isFailed = request.url === '/buy' && (bought += 1) % 50 === 0;
    setTimeout(() => (response.writeHead(isFailed ? 503 : 200), response.end('{}')), request.url === '/buy' ? 8 : 2);
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${server.address().port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const withRun = (duration, work) => withTarget((target) => withRunOf(plan(target, duration), work));

/** Until the page was drawn so often from now. */
async function drawnAnew(page, times = 2) {
  for (let time = 0; time < times; time += 1) {
    const before = await page.locator('.live .value').textContent();
    await page.waitForFunction((before) => document.querySelector('.live .value').textContent !== before, before);
  }
}
const figures = (page) => page.waitForFunction(() => document.querySelectorAll('.time canvas').length >= 5 && document.querySelector('.claims'));
async function shoot(page, name) {
  if (!screenshots) return;
  mkdirSync(screenshots, { recursive: true });
  await page.screenshot({ path: join(screenshots, `live-${name}.png`), fullPage: true });
}

const tests = {
  'it grows in place, and keeps what was chosen, on three screens': (browser) =>
    withRun('10m', async ({ url }) => {
      for (const { name, ...options } of views) {
        const { context, page, faults } = await open(browser, url.split('#')[0], options);
        await page.goto(url);
        await figures(page);
        await drawnAnew(page, 3);
        await fits(page);
        await keepsRules(page);
        await shoot(page, name);
        demand(faults.length === 0, faults.join('\n'));
        await context.close();
      }
    }),
  'its dot breathes, and not where less motion is asked for': (browser) =>
    withRun('10m', async ({ url }) => {
      for (const [reducedMotion, expected] of [['reduce', 0], ['no-preference', 1]]) {
        const { context, page, faults } = await open(browser, url.split('#')[0], { ...views[0], reducedMotion });
        await page.goto(url);
        await page.locator('.live.running').waitFor();
        const moving = await page.evaluate(() => document.getAnimations().map(({ animationName }) => animationName));
        demand(moving.length === expected, `with ${reducedMotion} these move: ${moving}`);
        demand(faults.length === 0, faults.join('\n'));
        await context.close();
      }
    }),
  'zoom, cursor, sorting, focus, scrolling and what is unfolded stay': (browser) =>
    withRun('10m', async ({ url }) => {
      const { context, page, faults } = await open(browser, url.split('#')[0], views[0]);
      await page.goto(url);
      await figures(page);
      // Who shows all goes on to show all.
      const to = page.locator('.chosen input').last();
      const before = Number(await to.inputValue());
      await drawnAnew(page);
      demand(Number(await to.inputValue()) > before, 'the whole run does not grow');
      const ended = async () => Number((await page.locator('.chosen .figures dd').first().innerText()).replace(/\D/g, ''));
      const few = await ended();
      await drawnAnew(page);
      demand((await ended()) > few, 'requests are not counted on');
      // A chosen part stays.
      await to.fill('2');
      await to.press('Enter');
      await page.waitForFunction(() => document.querySelectorAll('.chosen input')[1].value === '2');
      const chosen = await ended();
      await page.locator('.table-requests thead button', { hasText: 'p95' }).first().click();
      const order = await page.locator('.table-requests th[aria-sort]').first().innerText();
      await page.locator('.observer summary').first().click();
      const plot = page.locator('.time .canvas').first();
      await plot.focus();
      await page.keyboard.press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      const at = await page.locator('.time .at').first().innerText();
      demand(at !== '', 'there is no cursor');
      await page.evaluate(() => (window.focused = document.activeElement));
      await page.evaluate(() => scrollTo(0, 300));
      await page.waitForFunction(() => scrollY === 300);
      await drawnAnew(page, 3);
      demand((await ended()) === chosen && (await to.inputValue()) === '2', 'the chosen part is not kept');
      demand((await page.locator('.table-requests th[aria-sort]').first().innerText()) === order, 'the order is not kept');
      demand(await page.locator('.observer').first().evaluate((part) => part.open), 'what is unfolded is folded again');
      demand((await page.locator('.time .at').first().innerText()) === at, `the cursor is not kept at ${at}`);
      demand(await page.evaluate(() => document.activeElement === window.focused && document.activeElement.isConnected), 'the focus is lost');
      demand((await page.evaluate(() => scrollY)) === 300, 'it scrolls');
      // All again, by the keyboard.
      await page.keyboard.press('Escape');
      await page.waitForFunction((few) => Number(document.querySelector('.chosen .figures dd').textContent.replace(/\D/g, '')) > few, chosen);
      demand(faults.length === 0, faults.join('\n'));
      await context.close();
    }),
  'without its token it is only read; with it the run is stopped by keyboard, and the page stays': (browser) =>
    withRun('10m', async ({ url, ended, results }) => {
      const { context, page, faults } = await open(browser, url.split('#')[0], views[2]);
      await page.goto(url.split('#')[0]);
      await figures(page);
      demand((await page.locator('.live .stop').count()) === 0, 'there is a button without the token');
      await page.goto('about:blank');
      await page.goto(url);
      await figures(page);
      demand(!(await page.evaluate(() => location.href)).includes('#'), 'the token stays in the address');
      const said = page.locator('[role=status]');
      await page.waitForFunction(() => /After .*successes .*p95/.test(document.querySelector('[role=status]').textContent));
      await page.locator('.live .stop').focus();
      await page.keyboard.press('Enter');
      demand((await page.locator('.live .stop').innerText()) === 'Press again to stop it', 'it is stopped by one press');
      await page.keyboard.press('Enter');
      await page.waitForFunction(() => document.querySelector('.live.ended'));
      demand([0, 1, 3].includes(await ended), 'the run did not end as runs do');
      const note = await page.locator('.live .note').innerText();
      demand(note.includes(results()[0]), `where the result is is not said: ${note}`);
      demand((await page.locator('.notice').first().innerText()).startsWith('stopped early'), 'that it was stopped is not said');
      demand((await said.textContent()).startsWith('The run has ended'), 'the end is not said');
      demand((await page.locator('.live .stop').count()) === 0, 'there is still a button');
      await page.locator('.chosen .parts button').first().click();
      await fits(page);
      await keepsRules(page);
      await shoot(page, 'ended');
      demand(faults.length === 0, faults.join('\n'));
      await context.close();
    }),
  'a run that is killed is said, and what it sent last stays': (browser) =>
    withRun('10m', async ({ url, kill }) => {
      const { context, page } = await open(browser, url.split('#')[0], views[1]);
      await page.goto(url);
      await figures(page);
      const shown = await page.locator('.claims').innerText();
      kill();
      await page.waitForFunction(() => document.querySelector('.live.lost'));
      await page.waitForFunction(() => document.querySelector('.live .state').textContent === 'Gone');
      demand((await page.locator('.claims').innerText()).length > 0 && shown.length > 0, 'the figures are gone');
      await context.close();
    }),
};

const browser = await launch();
let failures = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test(browser);
    console.log(`${name}: ok`);
  } catch (error) {
    failures += 1;
    console.error(`${name}: ${error.message}`);
  }
}
await browser.close();
console.log(`${Object.keys(tests).length - failures} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
