// The values of a plot as a table, for who cannot see it, and for who wants to copy them: of the part that is shown, made
// when it is asked for.
import { h } from './dom';
import { renewChildren } from './renew';

const rowsMax = 200;

export interface Columns {
  xName: string;
  xText: (value: number) => string;
  x: number[];
  lines: { name: string; text: (index: number) => string }[];
}

/** A button, the place that it fills and empties, and what fills that anew. `range` tells what is shown then. */
export function tableSwitch(title: string, columns: () => Columns, range: () => [number, number] | null): [button: HTMLElement, place: HTMLElement, refill: () => void] {
  const place = h('div', { class: 'values' });
  const button = h(
    'button',
    {
      type: 'button',
      class: 'small',
      'aria-pressed': 'false',
      'aria-label': `${title} as a table`,
      onclick: () => {
        const isShown = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(isShown));
        fill(isShown);
      },
    },
    'table',
  );
  const fill = (isShown: boolean) => renewChildren(place, isShown ? [valueTable(title, columns(), range())] : []);
  return [button, place, () => fill(button.getAttribute('aria-pressed') === 'true')];
}

function valueTable(title: string, { xName, xText, x, lines }: Columns, range: [number, number] | null): HTMLElement {
  const inRange = x.map((_, index) => index).filter((index) => !range || (x[index]! >= range[0] && x[index]! <= range[1]));
  const each = Math.ceil(inRange.length / rowsMax);
  const shown = inRange.filter((_, place) => place % each === 0);
  const rows = shown.map((index) =>
    h('tr', {}, h('th', { scope: 'row' }, xText(x[index]!)), ...lines.map((line) => h('td', {}, line.text(index)))),
  );
  const caption = each > 1 ? `one of each ${each} points; zoom in for the others` : `${rows.length} points`;
  return h(
    'div',
    { class: 'wide', tabindex: '0', role: 'region', 'aria-label': `${title}, values` },
    h(
      'table',
      {},
      h('caption', {}, caption),
      h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, xName), ...lines.map((line) => h('th', { scope: 'col' }, line.name)))),
      h('tbody', {}, ...rows),
    ),
  );
}
