// The part of a run that the plots show: buttons and fields that choose it, and its figures, counted anew from the intervals.
import { onRange, type Range, setRange } from '../shared/chart-group';
import { h, newId } from '../shared/dom';
import { grouped, milliseconds, moment, shown } from '../shared/format';
import { intervalsIn, percentile, sum, together } from './buckets';
import type { OverTimeData, RunData } from './data';
import { quickest, rangesBar } from './ranges';

const percents = [50, 95, 99, 99.9];

export function chosenPart(run: RunData, data: OverTimeData, group: string, span: Range): HTMLElement {
  const [from, to] = [field('from', span[0]), field('to', span[1])];
  const figures = h('dl', { class: 'figures', 'aria-live': 'polite' });
  const ranges = h('div', {});
  const note = h('p', { class: 'note' });
  const quick = quickest(run.objectives);
  const parts: { name: string; range: Range }[] = [
    { name: 'whole run', range: span },
    ...run.windows.map((window): { name: string; range: Range } => ({ name: window.name, range: [window.from_s, Math.min(window.to_s, span[1])] })),
  ].filter(({ range }) => range[1] > range[0]);
  const buttons = parts.map(({ name, range }) =>
    h('button', { type: 'button', class: 'small', 'aria-pressed': 'false', onclick: () => setRange(group, range) }, name),
  );

  function field(name: string, value: number): HTMLInputElement {
    const id = newId();
    return h('input', { type: 'number', id, step: 'any', value: String(value), 'aria-label': `${name}, in seconds`, onchange: typed }) as HTMLInputElement;
  }

  function typed(): void {
    const range: Range = [Math.max(Number(from.value), span[0]), Math.min(Number(to.value), span[1])];
    if (range[1] > range[0]) setRange(group, range);
  }

  function show([low, high]: Range): void {
    from.value = String(Number(low.toFixed(2)));
    to.value = String(Number(high.toFixed(2)));
    parts.forEach(({ range }, place) => {
      const isShown = Math.abs(range[0] - low) < 1e-6 && Math.abs(range[1] - high) < 1e-6;
      buttons[place]?.setAttribute('aria-pressed', String(isShown));
    });
    const [first, end] = intervalsIn(data, low, high);
    const times = together(data, first, end);
    const [successes, failures] = [sum(times.counts), sum(data.failures.slice(first, end))];
    const [starts, ends] = [first * data.interval_s, Math.min(end * data.interval_s, span[1])];
    const all = successes + failures;
    const rows: [string, string][] = [
      ['requests ended', grouped(all)],
      ['successes', shown(successes / Math.max(ends - starts, 1e-9), 'per_second')],
      ['errors', all > 0 ? shown(failures / all, 'share') : '–'],
      ...percents.map((percent): [string, string] => {
        const time = percentile(times, percent);
        return [`p${percent}`, time === null ? '–' : milliseconds(time)];
      }),
    ];
    figures.replaceChildren(...rows.map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value))));
    ranges.replaceChildren(...[rangesBar(times, failures, quick)].filter((part) => part !== null));
    note.textContent =
      `${moment(starts)} to ${moment(ends)}, by when requests ended, in intervals of ${moment(data.interval_s)}. ` +
      'Percentiles are of buckets, within 4 %; – where too few samples lie beyond.';
  }

  // Plots that follow each other in one drag make one change.
  let next: Range | null = null;
  onRange(group, (range) => {
    if (!next) requestAnimationFrame(() => (next && show(next), (next = null)));
    next = range;
  });
  show(span);
  return h(
    'div',
    { class: 'chosen', role: 'group', 'aria-label': 'Chosen part of the run' },
    h('div', { class: 'parts' }, h('span', { class: 'note' }, 'Shown:'), ...buttons, h('span', { class: 'fields' }, from, ' to ', to, ' s')),
    figures,
    ranges,
    note,
  );
}
