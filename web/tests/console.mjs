// The panels of the console in a real browser: `node tests/console.mjs [SCREENSHOT-FOLDER]`. Explain shows times, statements, plans and the
// index that is missing, and runs no mutation; Server shows sources and live metrics, and asks only while it is looked at; the role
// can be chosen, and the schema follows the headers. By keyboard, dark and light, on a desk and on a phone.
import { createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { demand, keepsRules, launch, open, views } from './page.mjs';
import { sample, withServer, withSources } from './server.mjs';

const [folder] = process.argv.slice(2);
const SLOW = 'query Slow($name: String) { artists(where: {Name: {eq: $name}}) { Name albums { Title } } tracks_aggregate { count } }';
const PANEL = '.prony-panel';

async function shoot(page, name) {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** A page whose editor holds an operation. */
async function start(browser, url, options, query, variables) {
  const opened = await open(browser, url, options);
  const link = new URLSearchParams({ query, ...(variables && { variables: JSON.stringify(variables) }) });
  await opened.page.goto(`${url}/?${link}`, { waitUntil: 'networkidle' });
  await opened.page.locator('.graphiql-query-editor .CodeMirror').waitFor();
  return opened;
}

/** Opens a panel by keyboard. */
async function openPanel(page, title) {
  await page.getByRole('button', { name: `Show ${title}` }).focus();
  await page.keyboard.press('Enter');
  await page.locator(`${PANEL} h2`, { hasText: title }).waitFor();
}

/** From a panel of ours to one of GraphiQL's own and back, each with one press of its button. */
async function switchesPanels(browser, url, view) {
  const opened = await start(browser, url, view, '{ albums { Title } }');
  const { page } = opened;
  await openPanel(page, 'Explain');
  for (const [title, shown] of [
    ['Documentation Explorer', '.graphiql-doc-explorer'],
    ['Explain', PANEL],
    ['History', '.graphiql-history'],
  ]) {
    await page.getByRole('button', { name: `Show ${title}` }).click();
    await page.locator(shown).waitFor();
  }
  await page.getByRole('button', { name: 'Hide History' }).click();
  await page.locator('.graphiql-query-editor .CodeMirror').waitFor();
  await close(opened);
}

async function explain(page) {
  await openPanel(page, 'Explain');
  await page.getByRole('button', { name: 'Explain the operation' }).focus();
  await page.keyboard.press('Enter');
  await page.locator(`${PANEL} .said`, { hasText: /field/ }).waitFor();
}

/** Nothing of the panel is wider than it. */
async function demandFits(page) {
  const wide = await page.evaluate(() => {
    const panel = document.querySelector('.prony-panel');
    const right = panel.parentElement.getBoundingClientRect().right;
    const over = [...panel.querySelectorAll('*')].filter((part) => !part.closest('pre, .u-wrap') && part.getBoundingClientRect().right > right + 1);
    return [document.documentElement.scrollWidth - window.innerWidth, over.slice(0, 3).map((part) => part.outerHTML.slice(0, 120))];
  });
  demand(wide[0] <= 0 && wide[1].length === 0, `the page is too wide: ${JSON.stringify(wide)}`);
  const box = await page.locator(PANEL).boundingBox();
  demand(box && box.width >= 250 && box.height >= 100, `the panel has no room: ${JSON.stringify(box)}`);
}

async function close({ context, faults }) {
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

async function explainsAQuery(browser, url, { name, ...options }) {
  const opened = await start(browser, url, { ...options, permissions: ['clipboard-read', 'clipboard-write'] }, SLOW, { name: 'secret' });
  const { page } = opened;
  await explain(page);
  const text = await page.locator(PANEL).innerText();
  for (const part of ['Slow, a query of 2 fields', 'execute', 'from chinook (SQLite)', 'SCAN t0', 'an index on Artist(Name) would help', 'runs for each row']) {
    demand(text.includes(part), `${part} is not said: ${text}`);
  }
  demand(!text.includes('secret'), 'a value is shown');
  const shares = await page.locator('.stages span').evaluateAll((parts) => parts.map((part) => part.getBoundingClientRect().width));
  demand(shares.length === 5 && shares.every((width) => width >= 2), `the bar has ${shares}`);
  await page.locator('summary').first().focus();
  await page.keyboard.press('Enter');
  demand((await page.locator('details[open] li').first().innerText()).includes('Artist.Name'), 'values have no shapes');
  await page.getByRole('button', { name: 'Copy: Statement 1 of artists' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('figcaption [role=status]', { hasText: 'copied' }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  demand(/^SELECT .*\nFROM "Artist" AS t0\nWHERE t0\."Name" = \?1\n/.test(copied), `what is copied is ${copied}`);
  await demandFits(page);
  await keepsRules(page, { within: [PANEL, '.sources'] });
  await shoot(page, `explain-${name}`);
  await close(opened);
}

async function runsNoMutation(browser, url) {
  const mutation = 'mutation { createGenre(GenreId: 901, Name: "Fado") { GenreId } }';
  const opened = await start(browser, url, views[0], mutation);
  await explain(opened.page);
  const text = await opened.page.locator(PANEL).innerText();
  demand(text.includes('It was not run') && text.includes('INSERT INTO'), text);
  demand((await opened.page.locator('.stages').count()) === 0, 'what is not run has no times');
  const asked = await fetch(`${url}/graphql`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ query: '{ genres(where: {GenreId: {eq: 901}}) { Name } }' }) });
  demand((await asked.text()).includes('"genres":[]'), 'the mutation was run');
  await close(opened);
}

async function saysWhatIsWrong(browser, url) {
  const { context, page } = await start(browser, url, views[0], 'query Wrong { nothing }');
  await openPanel(page, 'Explain');
  await page.getByRole('button', { name: 'Explain the operation' }).click();
  const alert = page.locator(`${PANEL} [role=alert]`);
  await alert.waitFor();
  demand((await alert.innerText()).includes('does not have a field `nothing`'), await alert.innerText());
  await context.close();
}

async function showsTheServer(browser, url, { name, ...options }) {
  const opened = await start(browser, url, { ...options, reducedMotion: 'reduce' }, '{ genres { Name } }');
  const { page } = opened;
  let looks = 0;
  page.on('request', (request) => (looks += request.url().endsWith('/metrics') ? 1 : 0));
  await page.waitForTimeout(2500);
  demand(looks === 0, 'metrics are asked for while nobody looks');
  await openPanel(page, 'Server');
  await page.locator(`${PANEL} canvas`).nth(3).waitFor();
  await page.evaluate(() => fetch('/graphql?query=%7B__typename%7D'));
  await page.waitForTimeout(2500);
  const text = await page.locator(PANEL).innerText();
  for (const part of [/ready for requests/, /up\s+chinook/, /Everybody who reaches this server may do everything/, /\d+ queries, \d+ mutations/, /11 tables/, /requests\n[\d.]+\/s/, /memory\n[\d.]+ MB/, /p99/]) {
    demand(part.test(text), `${part} is not said: ${text}`);
  }
  await demandFits(page);
  await keepsRules(page, { within: [PANEL, '.sources'] });
  await shoot(page, `server-${name}`);
  await page.locator(`${PANEL} .plot`).nth(1).scrollIntoViewIfNeeded();
  await shoot(page, `server-plots-${name}`);
  await page.evaluate(() => {
    Object.defineProperty(document, 'hidden', { value: true, configurable: true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.waitForTimeout(200);
  const before = looks;
  await page.waitForTimeout(2500);
  demand(looks === before, 'metrics are asked for while the page is hidden');
  await page.evaluate(() => {
    delete document.hidden;
    document.dispatchEvent(new Event('visibilitychange'));
  });
  await page.waitForTimeout(500);
  demand(looks > before, 'metrics are not asked for once the page is shown again');
  await page.getByRole('button', { name: 'Hide Server' }).click();
  await page.waitForTimeout(200);
  const shut = looks;
  await page.waitForTimeout(2500);
  demand(looks === shut, 'metrics are asked for while the panel is closed');
  await close(opened);
}

async function saysWhereMetricsAre(browser, url) {
  const opened = await start(browser, url, views[0], '{ genres { Name } }');
  await openPanel(opened.page, 'Server');
  await opened.page.locator(PANEL, { hasText: 'admin_listen' }).waitFor();
  demand((await opened.page.locator(`${PANEL} pre`).innerText()).startsWith('curl '), 'no command is said');
  await close(opened);
}

const ROLES = `
[graphql]
explain = true
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", allowed_roles = "/roles" }
[roles.visitor.sources.chinook.tables.Album]
select = { columns = ["AlbumId", "Title"], aggregates = false, limit = 2 }
[roles.admin]
unrestricted = true
`;

function token() {
  const part = (json) => Buffer.from(JSON.stringify(json)).toString('base64url');
  const claims = { iss: 'https://login.test/', aud: 'shop', exp: Math.floor(Date.now() / 1000) + 600, role: 'admin', roles: ['admin', 'visitor'] };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part(claims)}`;
  return `${text}.${createHmac('sha256', 'a secret of tests that is long enough for HMAC with SHA-256').update(text).digest('base64url')}`;
}

/** Calls `work` with the URL of a server that knows roles. */
function withRoles(work) {
  const source = (place) => {
    const file = join(place, 'prony.toml');
    writeFileSync(file, `[[source]]\nurl = ${JSON.stringify(sample(place))}\nname = "chinook"\n${ROLES}`);
    return ['--config', file];
  };
  return withSources(source, work);
}

async function followsTheHeaders(browser, url) {
  const { context, page } = await start(browser, url, views[0], '{ albums { Title } }');
  await page.locator('.sources', { hasText: '1 table' }).waitFor();
  demand((await page.getByRole('button', { name: 'Show Explain' }).count()) === 0, 'a role that may not be told has the panel');
  demand((await page.locator('.role').innerText()).includes('in use: visitor'), await page.locator('.role').innerText());
  const editor = page.locator('.graphiql-editor-tool > :nth-child(2) .CodeMirror');
  const headers = JSON.stringify({ authorization: `Bearer ${token()}` });
  await editor.evaluate((element, headers) => element.CodeMirror.setValue(headers), headers);
  await page.locator('.sources', { hasText: '11 tables' }).waitFor();
  demand((await page.locator('.role').innerText()).includes('admin, which may do everything'), 'the role is not told');
  await openPanel(page, 'Server');
  await page.locator(PANEL, { hasText: /Role admin, which may do everything: \d{2,} queries/ }).waitFor();
  await keepsRules(page, { within: [PANEL, '.sources'] });
  await shoot(page, 'role');
  await page.getByLabel('Role').fill('visitor');
  await page.keyboard.press('Enter');
  await page.locator(PANEL, { hasText: /Role visitor: 1 queries/ }).waitFor();
  const written = await editor.evaluate((element) => JSON.parse(element.CodeMirror.getValue()));
  demand(written['x-prony-role'] === 'visitor' && written.authorization, JSON.stringify(written));
  await page.getByLabel('Role').fill('nobody');
  await page.keyboard.press('Enter');
  await page.locator('.role .refused', { hasText: 'not allowed' }).waitFor();
  await page.getByLabel('Role').fill('');
  await page.keyboard.press('Enter');
  await page.locator('.sources', { hasText: '11 tables' }).waitFor();
  await context.close();
}

const failures = [];
let total = 0;

async function attempt(name, work) {
  total += 1;
  try {
    await work();
  } catch (error) {
    failures.push(name);
    console.error(`${name}: ${error.message}`);
  }
}

const browser = await launch();
await withServer(undefined, async (url) => {
  for (const view of views) {
    await attempt(`explain, ${view.name}`, () => explainsAQuery(browser, url, view));
    await attempt(`server, ${view.name}`, () => showsTheServer(browser, url, view));
    await attempt(`panels, ${view.name}`, () => switchesPanels(browser, url, view));
  }
  await attempt('mutation', () => runsNoMutation(browser, url));
  await attempt('wrong', () => saysWhatIsWrong(browser, url));
});
await withSources((place) => [sample(place), '--admin-listen', '127.0.0.1:0'], (url) => attempt('admin', () => saysWhereMetricsAre(browser, url)));
await withRoles((url) => attempt('roles', () => followsTheHeaders(browser, url)));
await browser.close();
console.log(`${total - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
