// Tables: names to the left, numbers to the right; wide ones scroll within themselves, and rows can be sorted by a column.
import { amount } from './amount';
import { type Child, h, newId } from './dom';
import { kept, renewChildren } from './renew';

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
  /** Tells it from tables of the same name, where it may be sorted and drawn anew. */
  group?: string;
  /** Columns behind the others that no text holds. */
  extra?: { head: string; cell: (row: string[]) => Child }[];
}

export function table(data: TableData, options: TableOptions = {}): HTMLElement {
  if (!options.isSortable || data.rows.length < 2) return fixed(data, options).element;
  // The same columns: another table has other buttons.
  const key = [options.group, 'table', data.id, data.title, ...data.head, options.extra?.length].join('/');
  return kept(key, { data, options }, ({ data, options }) => fixed(data, options));
}

function fixed(data: TableData, { isSortable = false, extra = [] }: TableOptions): { element: HTMLElement; update: (next: { data: TableData; options: TableOptions }) => void } {
  const id = newId();
  const body = h('tbody', {});
  let rows = data.rows;
  let sortedBy: { column: number; isRising: boolean } | null = null;
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
    sortedBy = { column, isRising };
    fill();
  }

  function fill(): void {
    const by = sortedBy;
    const sorted = by ? [...rows].sort((left, right) => compare(left[by.column] ?? '', right[by.column] ?? '', by.isRising)) : rows;
    renewChildren(
      body,
      sorted.map((row) =>
        h(
          'tr',
          { 'data-key': row[0] ?? '' },
          ...row.map((cell, column) => (column === 0 ? h('th', { scope: 'row' }, cell) : h('td', {}, cell))),
          ...extra.map(({ cell }) => h('td', { class: 'drawn' }, cell(row))),
        ),
      ),
    );
  }

  function update({ data, options }: { data: TableData; options: TableOptions }): void {
    rows = data.rows;
    extra = options.extra ?? [];
    note.textContent = data.note && ` ${data.note}`;
    fill();
  }

  fill();
  const note = h('span', { class: 'note' }, data.note && ` ${data.note}`);

  const hasHead = extra.length > 0 || data.head.some((cell) => cell !== '');
  const head = hasHead ? h('thead', {}, h('tr', {}, ...heads, ...extra.map((column) => h('th', { scope: 'col' }, column.head)))) : null;
  const element = h(
    'div',
    { class: `table table-${data.id}`, 'data-key': data.title },
    h('h3', { id }, data.title, note),
    h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': id }, h('table', {}, head, body)),
  );
  return { element, update };
}

/** By their numbers; what has none comes last, whichever way. */
function compare(left: string, right: string, isRising: boolean): number {
  const [one, other] = [amount(left), amount(right)];
  const sign = isRising ? 1 : -1;
  if (one !== null && other !== null) return sign * (one - other);
  if (one === null && other === null) return sign * left.localeCompare(right);
  return one === null ? 1 : -1;
}
