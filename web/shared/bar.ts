// The line above a page: whose it is, and a switch between dark and light.
import { type Child, h } from './dom';
import { onThemeChange, switchTheme, theme } from './theme';

export function bar(brand: Child): HTMLElement {
  const label = () => (theme() === 'dark' ? 'Light' : 'Dark');
  const button = h('button', { type: 'button', class: 'theme', onclick: switchTheme }, label());
  onThemeChange(() => (button.textContent = label()));
  return h('header', { class: 'bar' }, h('span', { class: 'brand' }, brand), button);
}
