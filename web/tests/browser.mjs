// Opens the console in a real browser: `node tests/browser.mjs [URL [SCREENSHOT-FOLDER]]`. It must load without any other
// server, break no rule of its policy, run the example query by keyboard and show its result, dark and light, on a
// desk and on a phone. Over a graph it shows neighbours three levels deep, a live query shows what has
// changed, and a link is in the editor. CHROMIUM names the browser's program where it is not found by itself.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { demand, fits, keepsRules, launch, open, views } from './page.mjs';
import { emptyGraph, withServer } from './server.mjs';

const [given, folder] = process.argv.slice(2);
/** GraphiQL's tabs, which hold buttons, and the editors' scrolling part, which the keyboard reaches by their text: docs/building.md says so too. */
const GRAPHIQL = ['.graphiql-tab', '.CodeMirror-scroll'];
const plain = fileURLToPath(new URL('../../engine/server/plain', import.meta.url));

/** Runs what is in the editor by keyboard; the text that is shown. */
async function run(page) {
  await page.locator('.graphiql-query-editor .CodeMirror').click();
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => {
    const text = document.querySelector('.result-window .CodeMirror')?.CodeMirror?.getValue() ?? '';
    return text.includes('"data"') || text.includes('"errors"');
  });
  return page.locator('.result-window .CodeMirror').evaluate((element) => element.CodeMirror.getValue());
}

/** Puts an operation into the editor of a new page. */
async function write(page, url, text, operation) {
  await page.goto(url, { waitUntil: 'networkidle' });
  const editor = page.locator('.graphiql-query-editor .CodeMirror');
  await editor.waitFor();
  await editor.evaluate((element, text) => element.CodeMirror.setValue(text), text);
  // GraphiQL looks at what was typed a moment later, and asks for the operation that it knows.
  await page.waitForFunction(
    (name) => document.querySelector('.graphiql-query-editor .CodeMirror').CodeMirror.operationName === name,
    operation,
  );
}

async function check(browser, url, { name, ...options }) {
  const { context, page, faults } = await open(browser, url, options);
  const description = await (await context.request.get(`${url}/console.json`)).json();
  await page.goto(url, { waitUntil: 'networkidle' });
  const editor = page.locator('.graphiql-query-editor .CodeMirror');
  await editor.waitFor();
  const frame = await page.locator('.sources').innerText();
  for (const source of description.sources) demand(frame.includes(source.name), `${source.name} is not named`);
  const written = await editor.evaluate((element) => element.CodeMirror.getValue());
  demand(written === description.example, `the editor holds ${JSON.stringify(written)}`);

  const shown = await run(page);
  demand(JSON.parse(shown).errors === undefined, `the example failed: ${shown}`);
  await fits(page);
  await keepsRules(page, { without: GRAPHIQL });
  const box = await page.locator('.result-window .CodeMirror').boundingBox();
  demand(box && box.width >= 250 && box.height >= 100, `the result has no room: ${JSON.stringify(box)}`);
  if (folder) {
    mkdirSync(folder, { recursive: true });
    await page.screenshot({ path: join(folder, `${name}.png`) });
  }
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

const neighbours = `query Neighbours {
  user(_key: "Max") { name
    users(types: [KNOWS], direction: out) { name
      users(types: [KNOWS], direction: out) { name
        neighbors(types: [LIKES]) { ... on Product { name } } } } }
}`;

/** Max knows Helene, who knows Ada, who likes a lamp. */
async function makeGraph(url) {
  const call = async (path, body) => {
    const answer = await fetch(`${url}/db/rage/${path}`, { method: 'POST', body });
    demand(answer.status === 201, `${path}: ${answer.status} ${await answer.text()}`);
  };
  for (const type of ['User', 'Product']) {
    await call(`schema/nodes/${type}`);
    await call(`schema/nodes/${type}/properties/name/string`);
  }
  for (const key of ['Max', 'Helene', 'Ada']) await call(`node/User/${key}`, JSON.stringify({ name: key }));
  await call('node/Product/lamp', JSON.stringify({ name: 'Lamp' }));
  await call('node/User/Max/relationship/User/Helene/KNOWS');
  await call('node/User/Helene/relationship/User/Ada/KNOWS');
  await call('node/User/Ada/relationship/Product/lamp/LIKES');
  // The types are in the schema shortly after they were declared.
  const known = async () => {
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' } };
    const answer = await fetch(`${url}/graphql`, { ...asked, body: JSON.stringify({ query: neighbours }) });
    return (await answer.json()).errors === undefined;
  };
  const deadline = Date.now() + 20_000;
  while (!(await known())) demand(Date.now() < deadline, 'the schema never knew the types');
}

async function checkGraph(browser, url) {
  await makeGraph(url);
  const { context, page, faults } = await open(browser, url, views[0]);
  await write(page, url, neighbours, 'Neighbours');
  const shown = await run(page);
  const expected = {
    user: { name: 'Max', users: [{ name: 'Helene', users: [{ name: 'Ada', neighbors: [{ name: 'Lamp' }] }] }] },
  };
  demand(JSON.stringify(JSON.parse(shown).data) === JSON.stringify(expected), `the neighbours are ${shown}`);
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

/** A live query shows its answer, and the next one after a mutation; it goes on until it is stopped. */
async function checkLive(browser, url) {
  const { context, page, faults } = await open(browser, url, views[2]);
  await write(page, url, 'subscription Live { genres(where: {GenreId: {gte: 100}}) { Name } }', 'Live');
  const shown = JSON.parse(await run(page));
  demand(JSON.stringify(shown.data) === '{"genres":[]}', `the first answer is ${JSON.stringify(shown)}`);
  const query = 'mutation { createGenre(GenreId: 100, Name: "Fado") { GenreId } }';
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query }) });
  await page.waitForFunction(() =>
    document.querySelector('.result-window .CodeMirror').CodeMirror.getValue().includes('Fado'),
  );
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

/** A link holds a query and its variables, beside what the editor held before. */
async function checkLink(browser, url) {
  const { context, page, faults } = await open(browser, url, views[0]);
  await write(page, url, 'query Before { genres { GenreId } }', 'Before');
  const link = { query: 'query Linked($limit: Int) { genres(limit: $limit) { Name } }', variables: '{"limit": 1}' };
  await page.goto(`${url}/?${new URLSearchParams(link)}`, { waitUntil: 'networkidle' });
  await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
  const query = await page.evaluate(() => document.querySelector('.graphiql-query-editor .CodeMirror').CodeMirror.getValue());
  demand(query.trim().split('\n').length === 5, `the link's query is on lines of its own: ${query}`);
  const shown = JSON.parse(await run(page));
  demand(JSON.stringify(shown.data) === '{"genres":[{"Name":"Rock"}]}', `the answer is ${JSON.stringify(shown)}`);
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

/** The page in the console's place, where the program was built without npm. */
async function checkPlain(browser, url, { name, ...options }) {
  const { context, page, faults } = await open(browser, url, options);
  for (const [path, file] of [['plain.html', 'index.html'], ['plain.css', 'plain.css'], ['plain.js', 'plain.js']]) {
    await page.route(`${url}/${path}`, (route) => route.fulfill({ path: join(plain, file) }));
  }
  await page.goto(`${url}/plain.html`, { waitUntil: 'networkidle' });
  await fits(page);
  await keepsRules(page);
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

const failures = [];

/** Each check on its own; those that fail are named at the end. */
async function attempt(name, work) {
  try {
    await work();
  } catch (error) {
    failures.push(name);
    console.error(`${name}: ${error.message}`);
  }
}

const browser = await launch();
await withServer(given, async (url) => {
  for (const view of views) {
    await attempt(view.name, () => check(browser, url, view));
    await attempt(`plain page, ${view.name}`, () => checkPlain(browser, url, view));
  }
});
let total = 2 * views.length;
if (!given) {
  total += 3;
  await withServer(undefined, (url) => attempt('graph', () => checkGraph(browser, url)), emptyGraph);
  await withServer(undefined, async (url) => {
    await attempt('live', () => checkLive(browser, url));
    await attempt('link', () => checkLink(browser, url));
  });
}
await browser.close();
console.log(`${total - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
