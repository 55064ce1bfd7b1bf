// The part of a run that the plots show: buttons and fields that choose it, and its figures, counted anew from the intervals.
import { onRange, type Range, setRange } from '../shared/chart-group';
import { h, newId } from '../shared/dom';
import { kept } from '../shared/renew';
import { grouped, milliseconds, moment, shown } from '../shared/format';
import { intervalsIn, percentile, sum, together } from './buckets';
import type { OverTimeData, RunData } from './data';
import { quickest, rangesBar } from './ranges';

const percents = [50, 95, 99, 99.9];

interface Part {
  run: RunData;
  data: OverTimeData;
  span: Range;
}

export function chosenPart(run: RunData, data: OverTimeData, group: string, span: Range): HTMLElement {
  return kept(`${group}/chosen`, { run, data, span }, (part) => chosen(part, group));
}

function chosen({ run, data, span }: Part, group: string): { element: HTMLElement; update: (next: Part) => void } {
  const [from, to] = [field('from', span[0]), field('to', span[1])];
  const figures = h('dl', { class: 'figures', 'aria-live': 'polite' });
  const ranges = h('div', {});
  const note = h('p', { class: 'note' });
  const quick = quickest(run.objectives);
  const places = h('span', { class: 'places' });
  let parts = partsOf(run, span);
  let buttons = parts.map(button);
  places.append(...buttons);

  function button({ name }: { name: string }, place: number): HTMLElement {
    return h('button', { type: 'button', class: 'small', 'aria-pressed': 'false', onclick: () => parts[place] && setRange(group, parts[place].range) }, name);
  }

  function field(name: string, value: number): HTMLInputElement {
    const id = newId();
    return h('input', { type: 'number', id, step: 'any', value: String(value), 'aria-label': `${name}, in seconds`, onchange: typed }) as HTMLInputElement;
  }

  let shownRange = span;

  function typed(): void {
    const range: Range = [Math.max(Number(from.value), span[0]), Math.min(Number(to.value), span[1])];
    if (range[1] > range[0]) setRange(group, range);
  }

  function show([low, high]: Range, isRenewed = false): void {
    shownRange = [low, high];
    // What is being typed stays.
    if (!isRenewed || document.activeElement !== from) from.value = String(Number(low.toFixed(2)));
    if (!isRenewed || document.activeElement !== to) to.value = String(Number(high.toFixed(2)));
    parts.forEach(({ range }, place) => {
      buttons[place]?.setAttribute('aria-pressed', String(isSame(range, [low, high])));
    });
    const [first, end] = intervalsIn(data, low, high);
    const times = together(data, first, end);
    const [successes, failures] = [sum(times.counts), sum(data.failures.slice(first, end))];
    const [starts, ends] = [first * data.interval_s, Math.min(end * data.interval_s, data.end_s)];
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
  function update(next: Part): void {
    const pressed = parts.find(({ range }) => isSame(range, shownRange))?.name;
    ({ run, data, span } = next);
    const names = parts.map(({ name }) => name).join();
    parts = partsOf(run, span);
    if (parts.map(({ name }) => name).join() !== names) {
      buttons = parts.map(button);
      places.replaceChildren(...buttons);
    }
    // A part that grows is shown as it is now.
    const grown = parts.find(({ name }) => name === pressed)?.range;
    if (grown && !isSame(grown, shownRange)) setRange(group, grown);
    show(grown ?? shownRange, true);
  }

  show(span);
  const element = h(
    'div',
    { class: 'chosen', role: 'group', 'aria-label': 'Chosen part of the run' },
    h('div', { class: 'parts' }, h('span', { class: 'note' }, 'Shown:'), places, h('span', { class: 'fields' }, from, ' to ', to, ' s')),
    figures,
    ranges,
    note,
  );
  return { element, update };
}

function partsOf(run: RunData, span: Range): { name: string; range: Range }[] {
  const windows = run.windows.map((window): { name: string; range: Range } => ({ name: window.name, range: [window.from_s, Math.min(window.to_s, span[1])] }));
  return [{ name: 'whole run', range: span }, ...windows].filter(({ range }) => range[1] > range[0]);
}

const isSame = (one: Range, other: Range): boolean => one.every((end, place) => Math.abs(end - other[place]!) < 1e-6);
