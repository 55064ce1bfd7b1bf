// What tests of pages share: a browser, the screens that a page has to fit, a page that notes what it does wrong, and the rules of accessibility.
// CHROMIUM names the browser's program where it is not found by itself.
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

export const views = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1280, height: 800 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1280, height: 800 } },
  { name: 'phone', colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];

export async function launch() {
  const known = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
  const program = known.filter(Boolean).find((path) => existsSync(path));
  if (!program) {
    console.error('no Chromium was found; install it or name it in CHROMIUM');
    process.exit(2);
  }
  return chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** No rule of axe-core is broken, whatever its impact, within the places that selectors name and without others, which other projects have made. */
export async function keepsRules(page, { within, without = [] } = {}) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(
    ({ within, without }) => axe.run({ include: within ?? [document], exclude: without }, { resultTypes: ['violations'] }),
    { within, without },
  );
  const said = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(' | ')}`);
  demand(said.length === 0, said.join('\n'));
}

export async function fits(page) {
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  demand(overflow <= 0, `${page.url()} is ${overflow} pixels wider than the screen`);
}

/** Each canvas has pixels that are not transparent. */
export async function drawn(page, least = 1) {
  await page.waitForFunction((least) => document.querySelectorAll('canvas').length >= least, least);
  await page.waitForFunction(() =>
    [...document.querySelectorAll('canvas')].every((canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      return data.some((value) => value !== 0);
    }),
  );
}

export function demand(condition, message) {
  if (!condition) throw new Error(message);
}

/** A page, and what it did wrong so far, it and others of its context. */
export async function open(browser, url, options) {
  const context = await browser.newContext(options);
  const faults = [];
  context.on('request', (request) => {
    const other = !request.url().startsWith(url) && !/^(data|blob):/.test(request.url());
    if (other) faults.push(`asked another server: ${request.url()}`);
  });
  context.on('console', (message) => {
    if (message.type() === 'error') faults.push(`console: ${message.text()}`);
  });
  context.on('weberror', (found) => faults.push(`page: ${found.error().message}`));
  const page = await context.newPage();
  return { context, page, faults };
}
