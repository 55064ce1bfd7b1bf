// Opens the documentation in a real browser: `node tests/site.mjs [SCREENSHOT-FOLDER]`. It must ask no other server, list every group of the
// README, have no link that leads nowhere, fit a phone, keep the rules of accessibility, find what is searched, by keyboard too. What is written
// into a folder must be the same.
// PRONY names the program, which must have been built with its documentation (PRONY_DOCS=on, or --release).
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { demand, fits, keepsRules, launch, open, views } from './page.mjs';
import { program, withProgram } from './server.mjs';

const [folder] = process.argv.slice(2);
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const contents = readme.split('\n## Documentation\n')[1].split('\n## ')[0];
const groups = [...contents.matchAll(/^### (.+)$/gm)].map((found) => found[1]);

async function shoot(page, name) {
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: join(folder, `site-${name}.png`) });
}

/** All pages that can be reached from the first, with what leads nowhere. */
async function crawl(url) {
  const seen = new Map();
  const left = ['/'];
  const wanted = [];
  while (left.length > 0) {
    const path = left.pop();
    if (seen.has(path)) continue;
    const response = await fetch(url + path);
    demand(response.status === 200, `${path}: ${response.status}`);
    const html = await response.text();
    const ids = new Set([...html.matchAll(/ id="([^"]+)"/g)].map((found) => found[1]));
    seen.set(path, ids);
    for (const [, link] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
      const target = new URL(link.replaceAll('&amp;', '&'), url + path);
      if (target.origin !== url) continue;
      wanted.push({ from: path, to: target.pathname, id: decodeURIComponent(target.hash.slice(1)) });
      left.push(target.pathname);
    }
  }
  const lost = wanted.filter(({ to, id }) => id && !seen.get(to).has(id));
  demand(lost.length === 0, `links to headings that are not there: ${JSON.stringify(lost.slice(0, 10))}`);
  return [...seen.keys()];
}

/** Paths of all files of a folder and those below it, as in `/docs/run.html`. */
function listed(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
  return names.map((name) => `/${name}`);
}

/** What a page leads to or loads on its own server and no file of the site is, as a web server finds files. */
function lost(path, html, files) {
  const links = [...html.matchAll(/ (?:href|src)="([^"]+)"/g)].map(([, link]) => new URL(link.replaceAll('&amp;', '&'), `http://site${path}`));
  const paths = links.filter((link) => link.origin === 'http://site').map((link) => decodeURIComponent(link.pathname));
  return paths.filter((wanted) => !files.has(wanted.endsWith('/') ? `${wanted}index.html` : wanted)).map((wanted) => `${path}: ${wanted}`);
}

/** Pages that are opened on every screen. */
const SAMPLES = ['/', '/docs/configuration.html', '/docs/latency.html', '/docs/benchmarks.html'];

const checks = {
  async 'every page keeps the rules of accessibility and fits'({ page, url }) {
    const left = await crawl(url);
    const look = async (page) => {
      for (let path = left.pop(); path !== undefined; path = left.pop()) {
        await page.goto(url + path, { waitUntil: 'load' });
        await page.locator('.vp-doc h1').first().waitFor();
        await fits(page);
        await keepsRules(page);
      }
    };
    // Two at a time, as each takes one processor.
    await Promise.all([look(page), page.context().newPage().then(look)]);
  },
  async 'a path that leads nowhere is said'({ page, url }) {
    await page.goto(`${url}/404.html`, { waitUntil: 'networkidle' });
    demand((await page.locator('main h1').innerText()) === 'There is no such page', 'it is not said');
    await keepsRules(page);
  },
  async 'every page is there, and every link leads somewhere'({ url }) {
    const pages = await crawl(url);
    for (const [, path] of contents.matchAll(/^\| \[[^\]]+\]\(([^)]+)\)/gm)) {
      demand(pages.includes(`/${path.replace(/\.md$/, '.html')}`), `${path} is not reached`);
    }
    demand((await fetch(`${url}/docs/none`)).status === 404, 'a page that is not there');
  },
  async 'what is written into a folder is what is served, and its links are files'({ url }) {
    const temporary = mkdtempSync(join(tmpdir(), 'prony-site-'));
    try {
      const target = join(temporary, 'new/site');
      const write = () => spawnSync(program(), ['docs', '--write', target], { encoding: 'utf8' });
      const written = write();
      demand(written.status === 0, written.stderr);
      const files = new Set(listed(target));
      demand(written.stdout === `${files.size} files in ${target}\n`, written.stdout);
      for (const path of ['/index.html', '/404.html', '/docs/run.html']) demand(files.has(path), `${path} is not there`);
      const missing = [];
      for (const path of files) {
        const content = readFileSync(join(target, path));
        const served = Buffer.from(await (await fetch(url + path)).arrayBuffer());
        demand(served.equals(content), `${path} is not what is served`);
        if (path.endsWith('.html')) missing.push(...lost(path, content.toString(), files));
      }
      demand(missing.length === 0, `links to no file: ${missing.slice(0, 10).join(', ')}`);
      const again = write();
      demand(again.status === 2 && again.stderr.includes('is not empty'), `over what is there: ${again.status} ${again.stderr}`);
    } finally {
      rmSync(temporary, { recursive: true, force: true });
    }
  },
  async 'a block that is kept in a file has its name above it'({ page, url }) {
    await page.goto(`${url}/docs/from-k6.html`, { waitUntil: 'networkidle' });
    const names = await page.locator('.vp-doc .file-name').allInnerTexts();
    demand(names.join() === 'checkout.js,page.js', `the names of files are ${names}`);
  },
  async 'the groups of the README are in the side bar'({ page, url }) {
    await page.goto(url, { waitUntil: 'networkidle' });
    const shown = await page.locator('.VPSidebar h2').allInnerTexts();
    demand(groups.every((group) => shown.includes(group)), `${groups} in ${shown}`);
  },
  async 'a search finds a page, by keyboard'({ page, url }) {
    await page.goto(url, { waitUntil: 'networkidle' });
    // On a busy machine all has come before the page listens to keys.
    await page.waitForFunction(() => document.querySelector('#app').__vue_app__ !== undefined);
    await page.keyboard.press('Control+k');
    await page.locator('#localsearch-input').fill('closed and open load');
    await page.locator('.VPLocalSearchBox .result').first().waitFor();
    await keepsRules(page);
    await shoot(page, 'search');
    await page.keyboard.press('Enter');
    await page.waitForURL(/latency/);
  },
};

await withProgram(['docs', '--listen', '127.0.0.1:0'], async (url) => {
  const browser = await launch();
  let failed = 0;
  let passed = 0;
  const attempt = async (name, options, work) => {
    const { context, page, faults } = await open(browser, url, options);
    try {
      await work({ page, url });
      demand(faults.length === 0, faults.join('\n'));
      passed += 1;
    } catch (error) {
      failed += 1;
      console.error(`${name}: ${error.message}`);
    }
    await context.close();
  };
  for (const [name, work] of Object.entries(checks)) await attempt(name, views[0], work);
  for (const { name, ...options } of views) {
    await attempt(name, options, async ({ page }) => {
      for (const path of SAMPLES) {
        await page.goto(url + path, { waitUntil: 'networkidle' });
        await fits(page);
        await keepsRules(page);
        await shoot(page, `${name}${path.replace(/\W/g, '-')}`);
      }
    });
  }
  await browser.close();
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed ? 1 : 0;
});
