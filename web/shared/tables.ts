// Tables: names to the left, numbers to the right; wide ones scroll within themselves.
import { h, newId } from './dom';

export interface TableData {
  id: string;
  title: string;
  note: string;
  head: string[];
  rows: string[][];
}

export function table(data: TableData): HTMLElement {
  const id = newId();
  const head = data.head.some((cell) => cell !== '')
    ? h('thead', {}, h('tr', {}, ...data.head.map((cell) => (cell === '' ? h('td') : h('th', { scope: 'col' }, cell)))))
    : null;
  const rows = data.rows.map((row) =>
    h('tr', {}, ...row.map((cell, column) => (column === 0 ? h('th', { scope: 'row' }, cell) : h('td', {}, cell)))),
  );
  return h(
    'div',
    { class: `table table-${data.id}` },
    h('h3', { id }, data.title, data.note ? h('span', { class: 'note' }, ` ${data.note}`) : null),
    h('div', { class: 'wide', tabindex: '0', role: 'region', 'aria-labelledby': id }, h('table', {}, head, h('tbody', {}, ...rows))),
  );
}
