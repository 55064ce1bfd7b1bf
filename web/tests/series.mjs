// Opens the chart of series in a real browser: `node tests/series.mjs [SCREENSHOT-FOLDER]`. It must ask no other server, draw what was
// notified, dark and light, on a desk and on a phone, be used by keyboard, have its values as a table, follow what is
// written while it is live, and show hostile names as text.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { demand, drawn, fits, keepsRules, launch, open, views } from './page.mjs';
import { withSources } from './server.mjs';

const [folder] = process.argv.slice(2);
const HOSTILE = '<img src=x onerror=alert(1)> "a/b?c"';
const START = Date.UTC(2024, 4, 6);

async function post(url, path, body, headers = {}) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  demand(response.ok, `${path}: ${response.status} ${await response.text()}`);
}

const temporal = (url, entity, headers) => post(url, '/ngsi-ld/v1/temporal/entities', entity, headers);
const instance = (value, ms) => ({ type: 'Property', value, observedAt: new Date(ms).toISOString() });

/** A room by the minute for half a day, a meter by the second for a day, and what does not suit. */
async function fill(url) {
  const temperature = (minute) => Math.round(2000 * Math.sin(minute / 90)) / 100;
  await temporal(url, {
    id: 'Room:1',
    type: 'Room',
    temperature: Array.from({ length: 720 }, (_, minute) => instance(temperature(minute), START + minute * 60_000)),
    pressure: [instance(1013.25, START), instance(1009.5, START + 43_000_000)],
    name: [instance('kitchen', START)],
  });
  await temporal(url, {
    id: HOSTILE,
    type: HOSTILE,
    [HOSTILE]: [instance(1e300, 0), instance(-1e-300, Date.UTC(9999, 11, 31))],
  });
  // In two parts: a body has at most a megabyte.
  for (const begin of [0, 10_000]) {
    const second = (_, place) => instance((begin + place) % 100, START + (begin + place) * 1000);
    await temporal(url, { id: 'Meter:1', type: 'Meter', power: Array.from({ length: 10_000 }, second) });
  }
  await temporal(url, { id: 'Text:1', type: 'Text', note: [instance('no number', START)] });
  await temporal(url, { id: 'Hall', type: 'Room', n: [instance(1, START)] }, { 'ngsild-tenant': 'factory' });
}

const status = (page) => page.locator('[role=status]').innerText();

async function waitForStatus(page, text) {
  await page.waitForFunction((text) => document.querySelector('[role=status]')?.textContent.includes(text), text);
}

async function visit(browser, url, options, link, work) {
  const { context, page, faults } = await open(browser, url, { timezoneId: 'Europe/Berlin', ...options });
  page.on('dialog', (dialog) => faults.push(`dialog: ${dialog.message()}`));
  await page.goto(`${url}/series.html?${new URLSearchParams(link)}`, { waitUntil: 'networkidle' });
  await work(page);
  await fits(page);
  await keepsRules(page);
  demand(faults.length === 0, faults.join('\n'));
  await context.close();
}

async function shoot(page, name) {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `series-${name}.png`), fullPage: true });
}

const room = { type: 'Room', entity: 'Room:1', attribute: 'temperature', range: 'all', unit: '°C' };

const checks = {
  ...Object.fromEntries(
    views.map(({ name, ...options }) => [
      name,
      (browser, url) =>
        visit(browser, url, options, room, async (page) => {
          await drawn(page);
          const said = await status(page);
          demand(said.startsWith('720 values, −20 °C to 20 °C; the last is '), said);
          await page.locator('.listed summary').click();
          const first = await page.locator('.listed tbody tr').first().innerText();
          demand(/^2024-05-06 13:59:00\s+[−\d.]+ °C$/.test(first), `the table begins with ${first}`);
          demand((await page.locator('.listed tbody tr').count()) === 500, 'the table has not its last 500 rows');
          const paper = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
          demand((paper === 'rgb(20, 22, 26)') === (options.colorScheme === 'dark'), `${name} has ${paper}`);
          await shoot(page, name);
        }),
    ]),
  ),

  /** The first entity without a link; attributes that are no numbers are not offered. */
  keyboard: (browser, url) =>
    visit(browser, url, views[0], { type: 'Room' }, async (page) => {
      await drawn(page);
      const offered = await page.getByLabel('Attribute').locator('option').allInnerTexts();
      demand(offered.sort().join() === 'pressure,temperature', `there are ${offered}`);
      await page.getByLabel('Attribute').focus();
      await page.keyboard.press('t');
      await waitForStatus(page, '720 values');
      await page.getByLabel('Range').focus();
      await page.keyboard.press('Home');
      await waitForStatus(page, '61 values');
      demand(new URL(page.url()).searchParams.get('range') === 'hour', page.url());
      // The cursor is moved by keys, and the value is said.
      await page.locator('.canvas').focus();
      await page.keyboard.press('End');
      await page.waitForFunction(() => document.querySelector('.at').textContent === '2024-05-06 13:59:00');
      await page.getByLabel('Live').focus();
      await page.keyboard.press('Space');
      demand(await page.getByLabel('Live').isChecked(), 'a key does not make it live');
    }),

  periods: (browser, url) =>
    visit(browser, url, views[0], { type: 'Meter', entity: 'Meter:1', range: 'all' }, async (page) => {
      await drawn(page);
      const said = await status(page);
      demand(said === '20 000 values (shown as averages of a minute), 0 to 99.'.replace(' ', '\u00a0'), said);
      const lines = await page.locator('.legend .name').allInnerTexts();
      demand(lines.join() === 'average,highest,lowest', `there are ${lines}`);
      await shoot(page, 'periods');
    }),

  between: (browser, url) =>
    visit(browser, url, views[0], { ...room, range: 'between', from: '2024-05-06T04:00', to: '2024-05-06T04:09' }, async (page) => {
      await waitForStatus(page, '10 values');
      const end = page.getByLabel('To', { exact: true });
      await end.fill('2024-05-06T04:04');
      await end.press('Tab');
      await waitForStatus(page, '5 values');
    }),

  'hostile names and far times': (browser, url) =>
    visit(browser, url, views[2], { type: HOSTILE, range: 'all' }, async (page) => {
      await drawn(page);
      const title = await page.locator('figure h3').innerText();
      demand(title.toLowerCase() === HOSTILE, `the title is ${title}`);
      demand((await page.locator('main img').count()) === 0, 'a name became markup');
      await page.locator('.listed summary').click();
      const first = await page.locator('.listed tbody tr').last().innerText();
      demand(first.startsWith('1970-01-01 01:00:00'), `the table ends with ${first}`);
      await shoot(page, 'hostile');
    }),

  'no numbers': (browser, url) =>
    visit(browser, url, views[2], { type: 'Text' }, async (page) => {
      await page.getByText('Text:1 has no attribute with numbers.').waitFor();
    }),

  tenant: (browser, url) =>
    visit(browser, url, views[2], {}, async (page) => {
      await page.getByText('Tenant and token').click();
      await page.getByLabel('Tenant').fill('factory');
      await page.getByLabel('Tenant').press('Tab');
      await waitForStatus(page, 'One value, 1');
      await page.getByLabel('Tenant').fill('nobody');
      await page.getByLabel('Tenant').press('Tab');
      await page.getByText('There are no entities yet').waitFor();
    }),

  live: (browser, url) =>
    visit(browser, url, views[0], { ...room, range: 'hour', live: 'true' }, async (page) => {
      await waitForStatus(page, '61 values');
      await page.locator('.listed summary').click();
      await temporal(url, { id: 'Room:1', type: 'Room', temperature: [instance(23.25, START + 720 * 60_000)] });
      await waitForStatus(page, 'the last is 23.25 °C, 2024-05-06 14:00:00');
      const first = await page.locator('.listed tbody tr').first().innerText();
      demand(/^2024-05-06 14:00:00\s+23.25 °C$/.test(first), `the table begins with ${first}`);
    }),
};

const failures = [];
const browser = await launch();
await withSources(
  (folder) => `series:${join(folder, 'series')}`,
  async (url) => {
    const console_ = await open(browser, url, views[0]);
    await fill(url);
    await console_.page.goto(url);
    await console_.page.getByRole('link', { name: 'Chart' }).click();
    await console_.page.waitForURL('**/series.html**');
    await console_.context.close();
    for (const [name, check] of Object.entries(checks)) {
      try {
        await check(browser, url);
      } catch (error) {
        failures.push(name);
        console.error(`${name}: ${error.message}`);
      }
    }
  },
);
await browser.close();
console.log(`${Object.keys(checks).length - failures.length} passed, ${failures.length} failed`);
process.exit(failures.length > 0 ? 1 : 0);
