// The documentation as pages: README, ARCHITECTURE and CHANGELOG with all of `docs/`. The groups of the side bar are those of the README's
// section "Documentation", so that both list the same.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig, type MarkdownOptions } from 'vitepress';

const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = fileURLToPath(new URL('../node_modules', import.meta.url));
const readme = 'README.md';

/** Of the README's section: a heading for each group, and a table whose rows begin with a link. */
function groups() {
  const text = readFileSync(join(root, readme), 'utf8');
  const section = text.split('\n## Documentation\n')[1]?.split('\n## ')[0];
  if (!section) throw new Error(`${readme} has no section "Documentation"`);
  return section
    .split('\n### ')
    .slice(1)
    .map((part) => {
      const [title, ...lines] = part.split('\n');
      const items = lines
        .map((line) => /^\| \[([^\]]+)\]\(([^)]+)\) \|/.exec(line))
        .filter((found) => found !== null)
        .map(([, name, path]) => ({ text: name.replaceAll('`', ''), link: `/${path}` }));
      // A heading that leads somewhere is a link beside the button that folds its group, and not a button around one.
      return { text: title.trim(), link: `/#${slugify(title)}`, items, collapsed: false };
    });
}

/** As code hosts name headings, so that one link leads to the same place on both. */
function slugify(title: string) {
  return title.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
}

/** A link's path, from the root; what leads elsewhere is none. */
function inside(link: string, from: string): string | undefined {
  if (/^[a-z]+:|^#|^\//i.test(link)) return undefined;
  return posix.normalize(posix.join(dirname(from), decodeURI(link.split('#')[0]))).replace(/\/$/, '');
}

function isPage(path: string) {
  return /^(docs\/.*|ARCHITECTURE|CHANGELOG)\.md$/.test(path) && existsSync(join(root, path));
}

/**
 * Links to files that are no pages stay words: whoever reads a page need not have the source. The cell above a table's column of names,
 * where it is empty, is no heading of it.
 */
const markdown: MarkdownOptions = {
  anchor: { slugify },
  // The comments of others are too pale on the ground of blocks.
  theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
  config: (md) => {
    md.core.ruler.push('blocks', (state) => {
      state.tokens.forEach((token, at) => {
        // What is indented scrolls like what is fenced.
        if (token.type === 'code_block') [token.type, token.info] = ['fence', 'text'];
        // The comment before a block names the file that it is kept in.
        const file = token.type === 'html_block' && /^<!-- (\S+\.\w+) -->\s*$/.exec(token.content)?.[1];
        if (file && state.tokens[at + 1]?.type === 'fence') token.content = `<p class="file-name">${md.utils.escapeHtml(file)}</p>\n`;
        if (token.type !== 'th_open' || state.tokens[at + 1].content !== '') return;
        token.tag = 'td';
        state.tokens[at + 2].tag = 'td';
      });
    });
    md.core.ruler.push('links-of-the-site', (state) => {
      const from: string = state.env.relativePath ?? readme;
      for (const block of state.tokens) {
        let dropped = 0;
        for (const token of block.children ?? []) {
          if (token.type === 'link_open') {
            const path = inside(token.attrGet('href') ?? '', from);
            if (path === undefined) continue;
            if (path === readme) token.attrSet('href', (token.attrGet('href') ?? '').replace(readme, 'index.md'));
            else if (!isPage(path)) {
              token.type = 'dropped_link';
              token.tag = '';
              dropped += 1;
            }
          } else if (token.type === 'link_close' && dropped > 0) {
            token.type = 'dropped_link';
            dropped -= 1;
          }
        }
      }
    });
    md.renderer.rules.dropped_link = () => '';
  },
};

/**
 * Attributes of the theme's search box as the patterns of ARIA have them: it is no button, and what is chosen is the link, not its row. What was changed,
 * decided and measured has the words of all pages, and stands behind the pages that say how it is now. A function in the theme's options would be
 * evaluated from text, which the pages' policy forbids.
 */
const SEARCH_BOX = [
  [/role="button"\s+:aria-owns="[^"]+"\s+aria-expanded="true"\s+aria-haspopup="listbox"/, 'role="dialog" aria-modal="true"'],
  [/(:id="'localsearch-item-' \+ index"\s+:aria-selected="[^"]+"\s+)role="option"\s*>\s*<a/, 'role="presentation"><a role="option" $1'],
  [/<kbd :aria-label/g, '<kbd role="img" :aria-label'],
  [
    /boost: \{ title: 4, text: 2, titles: 1 \},/,
    'boost: { title: 4, text: 2, titles: 1 }, boostDocument: (id) => (/CHANGELOG|decisions|benchmarks/.test(id) ? 0.2 : 1),',
  ],
] as const;

/** A letter that is drawn by the style, as the key before it is, is no word that the name of the search's button lacks. */
const SEARCH_BUTTON = [[/<kbd class="DocSearch-Button-Key">K<\/kbd>/, '<kbd class="DocSearch-Button-Key letter"></kbd>']] as const;

const searchBox = {
  name: 'search-box',
  enforce: 'pre' as const,
  transform(code: string, id: string) {
    const changes: readonly (readonly [RegExp, string])[] = id.endsWith('VPLocalSearchBox.vue') ? SEARCH_BOX : id.endsWith('VPNavBarSearchButton.vue') ? SEARCH_BUTTON : [];
    if (changes.length === 0) return undefined;
    return changes.reduce((text, [from, to]) => {
      if (text.search(from) < 0) throw new Error(`the search has no ${from} any more`);
      return text.replace(from, to);
    }, code);
  },
};

const decisions = readdirSync(join(root, 'docs/decisions'))
  .filter((name) => name.endsWith('.md'))
  .sort()
  .map((name) => {
    const title = readFileSync(join(root, 'docs/decisions', name), 'utf8').split('\n')[0].replace(/^#\s*/, '');
    return { text: title.replaceAll('`', ''), link: `/docs/decisions/${name}` };
  });
const architecture = ['engine', 'lab', 'stores'].map((name) => ({
  text: `Architecture: ${name}`,
  link: `/docs/architecture/${name}.md`,
}));

const icon = readFileSync(join(root, 'web/console/public/icon.svg'), 'utf8');

export default defineConfig({
  title: 'Prony',
  description: 'Serves the data you have as a fast API, and measures any HTTP API honestly',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }]],
  srcDir: '..',
  // Beside the pages a working copy has what was built, dependencies' documents, and tests' data.
  srcExclude: ['target/**', 'site/**', 'web/**', 'engine/**', 'lab/**', 'prony/**', 'testkit/**', 'xtask/**', 'examples/**', 'deploy/**'],
  outDir: './dist',
  // What a reader has started.
  ignoreDeadLinks: 'localhostLinks',
  rewrites: { [readme]: 'index.md' },
  // The only pages are ours, and nothing is asked of other hosts.
  metaChunk: true,
  // The documents lie above the folder that has the packages.
  vite: {
    plugins: [searchBox],
    resolve: {
      alias: [
        { find: /^vue$/, replacement: join(packages, 'vue') },
        { find: /^vue\/server-renderer$/, replacement: join(packages, 'vue/server-renderer') },
      ],
    },
  },
  lastUpdated: false,
  markdown,
  themeConfig: {
    siteTitle: 'Prony',
    search: { provider: 'local' },
    outline: { level: [2, 3] },
    docFooter: { prev: 'Before', next: 'Next' },
    externalLinkIcon: true,
    sidebar: [
      { text: 'Prony', link: '/' },
      ...groups(),
      { text: 'The code', link: '/ARCHITECTURE.md', collapsed: true, items: [...architecture, ...decisions] },
    ],
  },
});
