// What tests of served pages share: a browser, the screens that a page has to fit, and a page that notes what it does wrong.
// CHROMIUM names the browser's program where it is not found by itself.
import { existsSync } from 'node:fs';
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

export function demand(condition, message) {
  if (!condition) throw new Error(message);
}

/** A page, and what it did wrong so far. */
export async function open(browser, url, options) {
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
  return { context, page, faults };
}
