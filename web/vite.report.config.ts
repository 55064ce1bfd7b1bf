// Builds the report into one HTML file without any other: script and style stand in it, and its policy allows just
// those two, by their hashes, and no network.
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

const hash = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

const oneFile: Plugin = {
  name: 'one-file',
  enforce: 'post',
  generateBundle(_options, bundle) {
    const page = bundle['index.html'];
    if (page?.type !== 'asset') this.error('there is no index.html');
    let html = String(page.source);
    const files = Object.values(bundle).filter((file) => file !== page);
    const script = files.map((file) => (file.type === 'chunk' ? file.code : '')).join('').trim();
    const style = files.map((file) => (file.type === 'asset' ? String(file.source) : '')).join('').trim();
    if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style)) this.error('a tag within script or style');
    for (const file of files) delete bundle[file.fileName];
    html = html.replace(/\s*<script[^>]*src=[^>]*><\/script>/g, '').replace(/\s*<link[^>]*rel="stylesheet"[^>]*>/g, '');
    const policy = [
      "default-src 'none'",
      `script-src ${hash(script)}`,
      `style-src ${hash(style)}`,
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; ');
    // Functions, because `$&` in a text would be a pattern.
    page.source = html
      .replace('<!--policy-->', () => `<meta http-equiv="Content-Security-Policy" content="${policy}" />`)
      .replace('<!--style-->', () => `<style>${style}</style>`)
      .replace('<!--script-->', () => `<script type="module">${script}</script>`);
  },
};

export default defineConfig({
  root: fileURLToPath(new URL('report', import.meta.url)),
  base: './',
  plugins: [oneFile],
  build: {
    outDir: fileURLToPath(new URL('dist/report', import.meta.url)),
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: Number.MAX_SAFE_INTEGER,
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
  },
});
