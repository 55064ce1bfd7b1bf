// Opens pages of made-up results in a real browser: `node tests/report.mjs [SCREENSHOT-FOLDER]`. They must open from the
// disk without any network, break no rule of their policy, draw their plots, dark and light, on a desk and on a phone,
// work by keyboard, and show hostile names as text.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { demand, drawn, fits, keepsRules, launch } from './page.mjs';

const screenshots = process.argv[2];
const repository = fileURLToPath(new URL('../..', import.meta.url));
const desk = { viewport: { width: 1280, height: 900 } };
const phone = { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

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
const kinds = ['closed', 'open', 'comparison', 'several', 'two', 'search', 'subscribers', 'void', 'samples', 'study', 'statuses', 'hostile'];
const plotted = { closed: 7, open: 7, subscribers: 4, several: 11, two: 11, day: 7, void: 7, search: 8, comparison: 10, study: 8, samples: 10, statuses: 8 };

const tests = [
  ...Object.entries(plotted).flatMap(([name, plots]) =>
    views.map(([view, options]) => [
      `${name}, ${view}`,
      (browser, folder) =>
        withPage(browser, folder, name, options, async (page) => {
          await drawn(page, plots);
          await fits(page);
          await shoot(page, `${name}-${view}`);
        }),
    ]),
  ),
  // Each kind of page with plots, with all that is folded.
  ...kinds.flatMap((name) =>
    views.map(([view, options]) => [
      `${name}, ${view}: the rules of accessibility are kept`,
      (browser, folder) =>
        withPage(browser, folder, name, options, async (page) => {
          await drawn(page, 1);
          await page.evaluate(() => document.querySelectorAll('details').forEach((part) => (part.open = true)));
          await keepsRules(page);
        }),
    ]),
  ),
  ...kinds.flatMap((name) =>
    views.map(([view, options]) => [
      `${name} without plots, ${view}: it fits, and the rules of accessibility are kept`,
      (browser, folder) =>
        withPage(browser, folder, `${name}-plain`, options, async (page) => {
          demand((await page.locator('table').count()) > 0 && (await page.locator('canvas, svg, script').count()) === 0, 'it is no page of tables alone');
          await fits(page);
          await keepsRules(page);
          await shoot(page, `${name}-plain-${view}`);
        }),
    ]),
  ),
  [
    'on a wide screen the findings stand beside the verdict and the figures, on a phone beneath them',
    async (browser, folder) => {
      const places = (page) =>
        page.evaluate(() => {
          const box = (selector) => document.querySelector(selector).getBoundingClientRect();
          const [claims, findings, verdict] = [box('.claims'), box('.findings'), box('.verdict')];
          return { claims: claims.bottom, right: claims.right, top: findings.top, left: findings.left, verdict: verdict.bottom, claimsTop: claims.top };
        });
      await withPage(browser, folder, 'open', { viewport: { width: 1440, height: 900 } }, async (page) => {
        const at = await places(page);
        demand(at.left >= at.right && at.top < at.claims, `the findings are not beside: ${JSON.stringify(at)}`);
        demand(at.verdict <= at.claimsTop && at.claims < 450, `verdict and figures are not first: ${JSON.stringify(at)}`);
        demand((await page.locator('.claims > div').count()) === 5, 'there are not five figures');
      });
      await withPage(browser, folder, 'open', phone, async (page) => {
        const at = await places(page);
        demand(at.top >= at.claims, `the findings stand before the figures: ${JSON.stringify(at)}`);
      });
    },
  ],
  [
    'histograms, bars and the heat map have round values with their units, and say what they count',
    async (browser, folder) => {
      const texts = async (page, selector) => (await page.locator(selector).allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '));
      await withPage(browser, folder, 'closed', desk, async (page) => {
        await drawn(page, 7);
        const histogram = '.histogram.role-response';
        const levels = (await texts(page, `${histogram} .levels span`)).map(Number);
        const step = levels[1] - levels[0];
        demand(levels.length >= 3 && levels[0] === 0 && [1, 2, 5].includes(Number(String(step)[0])), `the levels are ${levels}`);
        demand(levels.every((level, place) => level === place * step), `the levels are ${levels}`);
        demand((await texts(page, `${histogram} .axis-name`)).join() === 'samples,time', 'the axes have no names');
        demand((await page.locator(`${histogram} line.level`).count()) === levels.length, 'a level has no line');
        const scale = await texts(page, '.heat-scale');
        demand(scale.length === 1 && scale[0].startsWith('successes in a cell'), `the scale says ${scale}`);
        const counts = await texts(page, '.heat-scale .counts span');
        demand(counts[0] === '1' && counts.every((count) => /^[125]0*( k| M)?$/.test(count)), `the counts are ${counts}`);
      });
      await withPage(browser, folder, 'study', desk, async (page) => {
        await page.locator('.bars .levels').waitFor();
        const levels = await texts(page, '.bars .levels span');
        demand(levels.join() === '0,50 ms,100 ms', `the levels are ${levels}`);
        demand((await texts(page, '.bars .axis-name')).join() === 'time', 'the axis has no name');
        const [lowest, highest] = await page.locator('.bars .levels span').evaluateAll((all) => [all[0], all.at(-1)].map((label) => label.getBoundingClientRect().top));
        demand(highest < lowest, 'the highest value is not above the lowest');
      });
    },
  ],
  [
    'a chosen part of the run has its own percentiles, counted anew',
    (browser, folder) =>
      withPage(browser, folder, 'open', desk, async (page) => {
        await drawn(page, 7);
        const figure = (term) =>
          page.evaluate((term) => [...document.querySelectorAll('.chosen .figures > div')].find((row) => row.firstChild.textContent === term)?.lastChild.textContent, term);
        // Latencies jump after each ten seconds: the first ten are calm.
        demand((await figure('requests ended')) === '3\u00a0000' && (await figure('p99')).endsWith(' ms'), 'the whole run is not counted');
        const whole = parseFloat(await figure('p99'));
        const ranges = (await page.locator('.ranges li').allInnerTexts()).map((text) => text.replaceAll('\u00a0', ' '));
        demand(ranges.join('; ') === 'up to 500 ms 99.80 %; up to 1.50 s 0.00 %; slower 0.00 %; failed 0.20 %', `ranges are ${ranges.join('; ')}`);
        const [from, to] = [page.locator('.chosen input').first(), page.locator('.chosen input').last()];
        await to.fill('10');
        await to.press('Enter');
        await page.waitForFunction(() => document.querySelector('.chosen .figures dd').textContent === '1\u00a0000');
        const calm = parseFloat(await figure('p99'));
        demand(whole > 100 && calm < 4, `p99 is ${whole} of all and ${calm} of the first ten seconds`);
        // Dragging over a plot chooses too.
        await page.locator('.time .u-over').nth(1).scrollIntoViewIfNeeded();
        const over = await page.locator('.time .u-over').nth(1).boundingBox();
        await page.mouse.move(over.x + over.width * 0.5, over.y + 20);
        await page.mouse.down();
        await page.mouse.move(over.x + over.width * 0.9, over.y + 20, { steps: 4 });
        await page.mouse.up();
        await page.waitForFunction(() => document.querySelector('.chosen .figures dd').textContent === '400');
        demand((await from.inputValue()) === '5' || Math.abs(Number(await from.inputValue()) - 5) < 0.2, `it begins at ${await from.inputValue()}`);
        await page.getByRole('button', { name: 'whole run' }).click();
        await page.waitForFunction(() => document.querySelector('.chosen .figures dd').textContent === '3\u00a0000');
      }),
  ],
  [
    'a finding of a part of the run is marked in the plots, in its words beneath them, and leads there',
    (browser, folder) =>
      withPage(browser, folder, 'open', desk, async (page) => {
        await drawn(page, 7);
        // The first of six timeouts is in the first second, the last in the 26th.
        const button = page.locator('.finding[data-key=timeouts-censor] .jump');
        demand((await button.innerText()).replaceAll('\u00a0', ' ') === 'Show in the plots: 0 s to 26 s', `the button says ${await button.innerText()}`);
        demand((await page.locator('.finding .jump').count()) === 1, 'a finding of the whole run is said to be of a part');
        const listed = await page.locator('.events li').evaluateAll((all) => all.map((entry) => entry.textContent.replaceAll('\u00a0', ' ')));
        demand(listed.some((text) => text.startsWith('0 s to 26 s F timeouts-censor: 6 requests timed out')), `events are ${listed}`);
        await page.locator('.chosen input').first().fill('27');
        await page.locator('.chosen input').first().press('Enter');
        await page.waitForFunction(() => document.querySelector('.chosen input').value === '27');
        await button.focus();
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => document.querySelector('.chosen input').value === '0' && document.querySelector('.events').open);
        await page.waitForFunction(() => document.querySelector('section.time h2').getBoundingClientRect().top < 300);
        demand(await page.evaluate(() => document.activeElement.matches('.time .canvas')), 'the first plot has no focus');
        await page.keyboard.press('Home');
        await page.waitForFunction(() => document.querySelector('.time .at').textContent.endsWith('timeouts-censor'));
      }),
  ],
  [
    'of several runs, a finding leads to the run that has it',
    (browser, folder) =>
      withPage(browser, folder, 'two', desk, async (page) => {
        const button = page.locator('.finding[data-key=timeouts-censor] .jump');
        demand((await page.locator('[role=tab][aria-selected=true]').innerText()) === 'shop', 'the other run is not chosen at first');
        await button.click();
        await page.waitForFunction(() => document.querySelector('[role=tab][aria-selected=true]').textContent === 'steady rate');
        await page.waitForFunction(() => document.querySelector('.run .chosen input:last-of-type').value === '30');
      }),
  ],
  [
    'requests are sorted by any column, by keyboard, and have lines over time',
    (browser, folder) =>
      withPage(browser, folder, 'closed', desk, async (page) => {
        const names = () => page.locator('.table-requests tbody th').allInnerTexts();
        demand((await names()).join() === 'list,buy', `rows are ${await names()}`);
        demand((await page.locator('.table-requests .sparkline').count()) === 4, 'lines over time are missing');
        await page.locator('.table-requests thead button', { hasText: 'errors' }).focus();
        await page.keyboard.press('Enter');
        demand((await names()).join() === 'list,buy', `by errors, the most first: ${await names()}`);
        await page.keyboard.press('Enter');
        demand((await names()).join() === 'buy,list', `by errors, the fewest first: ${await names()}`);
        const sorted = await page.locator('.table-requests th[aria-sort]').allInnerTexts();
        demand(sorted.length === 1 && sorted[0].startsWith('errors'), `sorted by ${sorted}`);
      }),
  ],
  [
    "observers are folded, the lab's own last, and draw when they are unfolded, at the part that is chosen",
    (browser, folder) =>
      withPage(browser, folder, 'open', desk, async (page) => {
        await drawn(page, 7);
        const names = await page.locator('.observer summary .name').allInnerTexts();
        demand(names.length === 2 && names[1] === 'lab (what makes the load)', `observers are ${names}`);
        const canvases = await page.locator('canvas').count();
        await page.getByRole('button', { name: 'ramp' }).or(page.getByRole('button', { name: 'steady state' })).first().click();
        await page.locator('.observer summary').first().click();
        await page.waitForFunction((least) => document.querySelectorAll('.observer[open] canvas').length === 2 && document.querySelectorAll('canvas').length === least, canvases + 2);
      }),
  ],
  [
    'of two results, what is faster is said in words, and that two runs differ by chance',
    (browser, folder) =>
      withPage(browser, folder, 'two', phone, async (page) => {
        const said = (await page.locator('.words').innerText()).replaceAll('\u00a0', ' ').replaceAll(/\s+/g, ' ');
        for (const part of ['steady rate beside shop', 'p50 response time 10.3 times as fast (faster)', 'successes 10.5 times as many (more)', 'errors fewer: 4.80 points', 'differ by chance']) {
          demand(said.includes(part), `${part} is not in: ${said}`);
        }
        await fits(page);
      }),
  ],
  [
    'where several statuses are expected each has a line of its own colour, behind the failures',
    async (browser, folder) => {
      const titled = (page, title) => page.locator('.time figure.plot', { has: page.getByRole('heading', { name: title, exact: true }) });
      await withPage(browser, folder, 'statuses', desk, async (page) => {
        await drawn(page, 8);
        const plot = titled(page, 'Responses by status');
        const names = await plot.locator('.legend .name').allInnerTexts();
        demand(names.join() === 'status 200,status 201,status 204,status 503', `the lines are ${names}`);
        const colors = await plot.locator('.legend .swatch').evaluateAll((all) => all.map((swatch) => getComputedStyle(swatch).borderTopColor));
        demand(new Set(colors).size === names.length, `the colours are ${colors}`);
        const titles = await page.locator('.time figure.plot h3').allInnerTexts();
        demand(titles.indexOf('Responses by status') === titles.indexOf('Failures by status and kind') + 1, `the plots are ${titles}`);
      });
      await withPage(browser, folder, 'closed', desk, async (page) => {
        await drawn(page, 7);
        demand((await titled(page, 'Responses by status').count()) === 0, 'one expected status has a plot');
      });
    },
  ],
  [
    'a plot is a table where it is asked for',
    (browser, folder) =>
      withPage(browser, folder, 'closed', phone, async (page) => {
        await drawn(page, 7);
        await page.getByRole('button', { name: 'Throughput as a table' }).click();
        const rows = page.locator('.time .values tbody tr');
        demand((await rows.count()) >= 30, `there are ${await rows.count()} rows`);
        await fits(page);
      }),
  ],
  [
    'sections are linked, and a link leads there',
    (browser, folder) =>
      withPage(browser, folder, 'several', desk, async (page) => {
        const names = await page.locator('.sections a').allInnerTexts();
        for (const name of ['Findings', 'Beside each other', 'Over time', 'What was run']) demand(names.includes(name), `${name} is not among ${names}`);
        await page.locator('.sections a', { hasText: 'Over time' }).click();
        await page.waitForFunction(() => document.querySelector('section.time h2').getBoundingClientRect().top < 300);
        const before = await page.locator('[id]').evaluateAll((all) => all.map(({ id }) => id));
        demand(new Set(before).size === before.length, 'an id stands twice');
      }),
  ],
  ...[
    ['reduce', 'auto'],
    ['no-preference', 'smooth'],
  ].map(([reducedMotion, behavior]) => [
    `where less motion is asked for, a finding leads to its place at once and nothing moves: prefers-reduced-motion is ${reducedMotion}`,
    (browser, folder) =>
      withPage(browser, folder, 'open', { ...desk, reducedMotion }, async (page) => {
        await drawn(page, 7);
        const style = await page.evaluate(() => getComputedStyle(document.documentElement).scrollBehavior);
        demand(style === behavior, `scrolling is ${style}`);
        // In the moment of the click itself, before any frame is drawn.
        const isAtOnce = await page.evaluate(() => {
          document.querySelector('.finding .jump').click();
          return scrollY > 0;
        });
        demand(isAtOnce === (reducedMotion === 'reduce'), `the page ${isAtOnce ? 'is there at once' : 'scrolls'}`);
        await page.waitForFunction(() => document.querySelector('section.time h2').getBoundingClientRect().top < 300);
        const moving = await page.evaluate(() => document.getAnimations().map(({ effect }) => effect.target.outerHTML.slice(0, 100)));
        demand(moving.length === 0, `something moves: ${moving}`);
      }),
  ]),
  [
    'a day is small and opens soon',
    async (browser, folder) => {
      demand(statSync(join(folder, 'day.html')).size < 400_000, `it has ${statSync(join(folder, 'day.html')).size} bytes`);
      await withPage(browser, folder, 'day', desk, (page) => drawn(page, 7));
    },
  ],
  [
    'print is light, whole, and fits',
    (browser, folder) =>
      withPage(browser, folder, 'open', { ...desk, colorScheme: 'dark' }, async (page) => {
        await drawn(page, 7);
        await page.emulateMedia({ media: 'print' });
        await page.evaluate(() => dispatchEvent(new Event('beforeprint')));
        demand(await page.evaluate(() => document.documentElement.dataset.theme === 'light'), 'paper is dark');
        demand(await page.evaluate(() => [...document.querySelectorAll('details')].every((part) => part.open)), 'something is folded');
        demand((await page.locator('.sections').isHidden()) && (await page.locator('.parts').first().isHidden()), 'buttons are printed');
        await page.evaluate(() => dispatchEvent(new Event('afterprint')));
        demand(await page.evaluate(() => document.documentElement.dataset.theme === 'dark'), 'the colours do not come back');
        demand(await page.evaluate(() => [...document.querySelectorAll('.observer')].every((part) => !part.open)), 'something stays unfolded');
      }),
  ],
  [
    'a finding that voids the figures stands in the place of the claim',
    (browser, folder) =>
      withPage(browser, folder, 'void', desk, async (page) => {
        const text = await page.locator('main').innerText();
        const [finding, figures] = [text.indexOf('generator-bound'), text.indexOf('Figures')];
        demand(finding >= 0 && finding < figures, 'the finding does not stand before the figures');
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
        await fits(page);
      }),
  ]),
  [
    "JMeter's samples have the tables of its dashboard, its graphs and their percentiles, and labels are text",
    (browser, folder) =>
      withPage(browser, folder, 'samples', desk, async (page) => {
        await drawn(page, 10);
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
        await drawn(page, 3);
        const heading = await page.locator('h1').innerText();
        demand(heading.startsWith('<img src=x onerror='), `the heading is ${heading}`);
        demand((await page.locator('img').count()) === 0, 'a name became an element');
        demand((await page.title()) !== 'broken', 'a name became a script');
        await fits(page);
        await shoot(page, 'hostile');
      }),
  ],
  [
    'hostile names are text in the plain page',
    (browser, folder) =>
      withPage(browser, folder, 'hostile-plain', phone, async (page) => {
        demand((await page.locator('img, script').count()) === 0, 'a name became an element');
        demand((await page.locator('body').innerText()).includes('tables but no plots'), 'nothing says what is missing');
        await fits(page);
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
        await drawn(page, 7);
        const plots = page.locator('.time .canvas');
        await plots.first().focus();
        for (let press = 0; press < 4; press += 1) await page.keyboard.press('ArrowRight');
        const at = () => page.locator('.time .at').allInnerTexts();
        await page.waitForFunction(() => document.querySelector('.time .at').textContent !== '');
        const times = (await at()).map(parseFloat);
        // The heat map has its points in the middle of intervals.
        demand(times.length === 6 && times.every((time) => Math.abs(time - times[0]) <= 1), `cursors are at ${times}`);
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
const browser = await launch();
let failures = 0;
const left = [...tests];
/** Each has a page of its own, so that several can be open, as there are processors. */
async function work() {
  for (let next = left.shift(); next; next = left.shift()) {
    const [name, test] = next;
    try {
      await test(browser, folder);
    } catch (error) {
      failures += 1;
      console.error(`${name}: ${error.message}`);
    }
  }
}
await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
await browser.close();
rmSync(folder, { recursive: true, force: true });
console.log(`${tests.length - failures} passed, ${failures} failed`);
process.exit(failures ? 1 : 0);
