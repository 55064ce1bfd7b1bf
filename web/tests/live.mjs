// A page with live lists in a real browser: `node tests/live.mjs [SCREENSHOT]`. The npm clients graphql-ws and graphql-sse
// subscribe from a page of another origin, a mutation raises events, and every list shows each of them once and in order.
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { withDonuts } from './server.mjs';

const [screenshot] = process.argv.slice(2);
const program = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .filter(Boolean)
  .find((path) => existsSync(path));
if (!program) {
  console.error('no Chromium was found; install it or name it in CHROMIUM');
  process.exit(2);
}

const file = (path) => readFileSync(fileURLToPath(new URL(path, import.meta.url)));
const files = {
  '/': ['text/html', file('live.html')],
  '/graphql-ws.js': ['text/javascript', file('../node_modules/graphql-ws/umd/graphql-ws.js')],
  '/graphql-sse.js': ['text/javascript', file('../node_modules/graphql-sse/umd/graphql-sse.js')],
};

/** Serves the page; its origin is not the server's. */
async function withPage(work) {
  const pages = createServer((request, response) => {
    const [type, content] = files[new URL(request.url, 'http://page').pathname] ?? ['text/plain', ''];
    response.setHeader('content-type', type).end(content);
  });
  await new Promise((resolve) => pages.listen(0, '127.0.0.1', resolve));
  try {
    return await work(`http://127.0.0.1:${pages.address().port}`);
  } finally {
    pages.closeAllConnections();
    pages.close();
  }
}

async function bake(server, name) {
  const query = `mutation { addOrUpdateDonut(donut: {id: "7", name: "${name}", flavor: VANILLA}) { id } }`;
  const headers = { 'content-type': 'application/json' };
  await fetch(`${server}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
}

async function subscriptions(server, count) {
  for (;;) {
    const metrics = await (await fetch(`${server}/metrics`)).text();
    if (metrics.includes(`\nprony_subscriptions{} ${count}.0\n`)) return;
  }
}

async function check(browser, server, origin) {
  const page = await browser.newPage({ viewport: { width: 1000, height: 360 } });
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${origin}/?server=${encodeURIComponent(server)}`);
  await subscriptions(server, 3);
  const names = ['Glazed', 'Old-fashioned', 'Jam & cream'];
  for (const name of names) await bake(server, name);
  for (const list of ['socket', 'distinct', 'single']) {
    await page.waitForFunction(([list, count]) => document.querySelectorAll(`#${list} li`).length >= count, [list, names.length]);
    const shown = await page.locator(`#${list} li`).allInnerTexts();
    if (JSON.stringify(shown) !== JSON.stringify(names)) throw new Error(`${list} shows ${JSON.stringify(shown)}`);
  }
  if (screenshot) await page.screenshot({ path: screenshot });
  await page.evaluate(() => window.stops.forEach((stop) => stop()));
  await subscriptions(server, 0);
  if (faults.length > 0) throw new Error(faults.join('\n'));
}

await withPage((origin) =>
  withDonuts(origin, async (server) => {
    const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
    try {
      await check(browser, server, origin);
      console.log('live lists over a WebSocket and server-sent events: ok');
    } finally {
      await browser.close();
    }
  }),
);
