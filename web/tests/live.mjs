// A page with live lists in a real browser: `node tests/live.mjs [SCREENSHOT-FOLDER]`. The npm clients graphql-ws and
// graphql-sse subscribe from a page of another origin, mutations raise events, and every list shows each of them once and in
// order: events of functions, changes of rows, and whole answers of a live query. On a desk and on a phone, light and dark.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { sample, withProgram, withSources } from './server.mjs';

const [folder] = process.argv.slice(2);
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

const views = [
  { view: 'desk', colorScheme: 'light', viewport: { width: 1000, height: 400 } },
  { view: 'phone', colorScheme: 'dark', viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true },
];

const names = ['Glazed', 'Old-fashioned', 'Jam & cream'];
const create = (name, index) => `mutation { createGenre(GenreId: ${100 + index}, Name: "${name}") { GenreId } }`;

const serveGenres = (origin, work) => withSources((folder) => [sample(folder), '--cors-origin', origin], work);

/** What is served, what the page asks, what changes it, and what every list must then show. */
const scenes = [
  {
    scene: 'events',
    serve: (origin, work) => withProgram(['example', 'donuts', '--cors-origin', origin, '--listen', '127.0.0.1:0'], work),
    query: 'subscription { onDonutUpdated(id: "7") { name } }',
    mutation: (name) => `mutation { addOrUpdateDonut(donut: {id: "7", name: "${name}", flavor: VANILLA}) { id } }`,
    shown: names,
  },
  {
    scene: 'rows',
    serve: serveGenres,
    query: 'subscription { onGenreChanged(operations: [INSERT], where: {GenreId: {gte: 100}}) { operation genre { Name } } }',
    mutation: create,
    shown: names.map((name) => `INSERT ${name}`),
  },
  {
    scene: 'whole answers',
    serve: serveGenres,
    query: 'subscription { genres(where: {GenreId: {gte: 100}}) { Name } }',
    mutation: create,
    shown: ['', ...names.map((_, index) => names.slice(0, index + 1).join(' '))],
  },
];

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

async function mutate(server, query) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  const { errors } = await response.json();
  if (errors) throw new Error(JSON.stringify(errors));
}

async function subscriptions(server, count) {
  for (;;) {
    const metrics = await (await fetch(`${server}/metrics`)).text();
    if (metrics.includes(`\nprony_subscriptions{} ${count}.0\n`)) return;
  }
}

async function check(browser, server, origin, { scene, query, mutation, shown }, { view, ...options }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(error.message));
  await page.goto(`${origin}/?${new URLSearchParams({ server, query })}`);
  await subscriptions(server, 3);
  const count = (wanted) =>
    page.waitForFunction((wanted) => [...document.querySelectorAll('ol')].every((list) => list.children.length >= wanted), wanted);
  // A live query has its first answer before anything changes.
  const first = shown.length - names.length;
  for (const [index, name] of names.entries()) {
    await count(first + index);
    await mutate(server, mutation(name, index));
  }
  await count(shown.length);
  for (const list of ['socket', 'distinct', 'single']) {
    const texts = await page.locator(`#${list} li`).allInnerTexts();
    if (JSON.stringify(texts) !== JSON.stringify(shown)) throw new Error(`${scene}, ${list} shows ${JSON.stringify(texts)}`);
  }
  const [wide, room] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  if (wide > room) throw new Error(`${scene}, ${view}: the page is ${wide} wide, the screen ${room}`);
  if (folder) await page.screenshot({ path: join(folder, `live-${scene.replace(' ', '-')}-${view}.png`) });
  await page.evaluate(() => window.stops.forEach((stop) => stop()));
  await subscriptions(server, 0);
  if (faults.length > 0) throw new Error(faults.join('\n'));
  await context.close();
}

if (folder) mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
try {
  for (const scene of scenes) {
    for (const view of views) {
      // Each has a server of its own, so that the same rows can be made again.
      await withPage((origin) => scene.serve(origin, (server) => check(browser, server, origin, scene, view)));
    }
    console.log(`live lists of ${scene.scene} over a WebSocket and server-sent events: ok`);
  }
} finally {
  await browser.close();
}
