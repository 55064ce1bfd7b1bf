// Opens the console in a real browser: `node tests/browser.mjs [URL [SCREENSHOT-FOLDER]]`. It must load without any other
// server, break no rule of its policy, run the example query by keyboard and show its result, dark and light, on a
// desk and on a phone. CHROMIUM names the browser's program where it is not found by itself.
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { withServer } from './server.mjs';

const [given, folder] = process.argv.slice(2);
const program = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .filter(Boolean)
  .find((path) => existsSync(path));
if (!program) {
  console.error('no Chromium was found; install it or name it in CHROMIUM');
  process.exit(2);
}

const views = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];

function demand(condition, message) {
  if (!condition) throw new Error(message);
}

async function check(browser, url, { name, ...options }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults = [];
  page.on('request', (request) => {
    const other = !request.url().startsWith(url) && !/^(data|blob):/.test(request.url());
    if (other) faults.push(`asked another server: ${request.url()}`);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`page: ${error.message}`));

  const description = await (await context.request.get(`${url}/console.json`)).json();
  await page.goto(url, { waitUntil: 'networkidle' });
  const editor = page.locator('.graphiql-query-editor .CodeMirror');
  await editor.waitFor();
  const frame = await page.locator('.sources').innerText();
  for (const source of description.sources) demand(frame.includes(source.name), `${source.name} is not named`);
  const written = await editor.evaluate((element) => element.CodeMirror.getValue());
  demand(written === description.example, `the editor holds ${JSON.stringify(written)}`);

  await editor.click();
  await page.keyboard.press('Control+Enter');
  const response = page.locator('.result-window .CodeMirror');
  await page.waitForFunction(() => {
    const text = document.querySelector('.result-window .CodeMirror')?.CodeMirror?.getValue() ?? '';
    return text.includes('"data"') || text.includes('"errors"');
  });
  const shown = await response.evaluate((element) => element.CodeMirror.getValue());
  demand(JSON.parse(shown).errors === undefined, `the example failed: ${shown}`);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  demand(overflow <= 0, `the page is ${overflow} pixels wider than the screen`);
  const box = await response.boundingBox();
  demand(box && box.width >= 250 && box.height >= 100, `the result has no room: ${JSON.stringify(box)}`);
  if (folder) {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`) });
  }
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

const failed = await withServer(given, async (url) => {
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
  let failures = 0;
  for (const view of views) {
    try {
      await check(browser, url, view);
    } catch (error) {
      failures += 1;
      console.error(`${view.name}: ${error.message}`);
    }
  }
  await browser.close();
  console.log(`${views.length - failures} passed, ${failures} failed`);
  return failures > 0;
});
process.exit(failed ? 1 : 0);
