// The default look with the system's own letters, so that nothing is fetched for them, and a page of its own for paths that lead nowhere.
import { h } from 'vue';
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

const missing = () =>
  h('main', { class: 'missing' }, [
    h('h1', 'There is no such page'),
    h('p', ['The ', h('a', { href: '/' }, 'first page'), ' lists all of them, and the search above finds words in them.']),
  ]);

export default { ...Theme, Layout: () => h(Theme.Layout, null, { 'not-found': missing }) };
