// Tables: names to the left, numbers to the right; wide ones scroll within themselves, and rows can be sorted by a column.
import { amount } from './amount';
import { type Child, h, newId } from './dom';

export interface TableData {
  id: string;
  title: string;
  note: string;
  head: string[];
  rows: string[][];
}

export interface TableOptions {
  /** Where rows are things of one kind, not figures of one thing. */
  isSortable?: boolean;
  /** Columns behind the others that no text holds. */
  extra?: { head: string; cell: (row: string[]) => Child }[];
}

export function table(data: TableData, { isSortable = false, extra = [] }: TableOptions = {}): HTMLElement {
  const id = newId();
  const body = h('tbody', {});
  const rows = data.rows.map((row) => ({
    row,
    element: h(
      'tr',
      {},
      ...row.map((cell, column) => (column === 0 ? h('th', { scope: 'row' }, cell) : h('td', {}, cell))),
      ...extra.map(({ cell }) => h('td', { class: 'drawn' }, cell(row))),
    ),
  }));
  body.append(...rows.map(({ element }) => element));
  const mayBeSorted = isSortable && rows.length > 1;
  const heads = data.head.map((cell, column) => {
    if (mayBeSorted) return h('th', { scope: 'col' }, h('button', { type: 'button', onclick: () => sort(column) }, cell || 'name'));
    return cell === '' ? h('td') : h('th', { scope: 'col' }, cell);
  });

  /** First the highest; names first from A. Again, the other way round. */
  function sort(column: number): void {
    const before = heads[column]?.getAttribute('aria-sort');
    const isRising = before ? before === 'descending' : column === 0;
    heads.forEach((head, place) => (place === column ? head.setAttribute('aria-sort', isRising ? 'ascending' : 'descending') : head.removeAttribute('aria-sort')));
    const sorted = [...rows].sort((left, right) => compare(left.row[column] ?? '', right.row[column] ?? '', isRising));
    body.replaceChildren(...sorted.map(({ element }) => element));
  }

  const hasHead = extra.length > 0 || data.head.some((cell) => cell !== '');
  const head = hasHead ? h('thead', {}, h('tr', {}, ...heads, ...extra.map((column) => h('th', { scope: 'col' }, column.head)))) : null;
  return h(
    'div',
    { class: `table table-${data.id}` },
    h('h3', { id }, data.title, data.note ? h('span', { class: 'note' }, ` ${data.note}`) : null),
    h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': id }, h('table', {}, head, body)),
  );
}

/** By their numbers; what has none comes last, whichever way. */
function compare(left: string, right: string, isRising: boolean): number {
  const [one, other] = [amount(left), amount(right)];
  const sign = isRising ? 1 : -1;
  if (one !== null && other !== null) return sign * (one - other);
  if (one === null && other === null) return sign * left.localeCompare(right);
  return one === null ? 1 : -1;
}
