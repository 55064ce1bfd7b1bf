// Several runs over each other: their rates, their latencies over time and their spectra. Of two, what is faster and slower is said
// in words. The first, or what is called A, has one colour throughout, and what stands beside it another.
import uPlot from 'uplot';
import { amount } from '../shared/amount';
import { chart, isWide, type Line } from '../shared/chart';
import { h, newId, section } from '../shared/dom';
import { moment, significant } from '../shared/format';
import type { PageData, RunData } from './data';
import { placeOf } from './places';
import { spectrumPlot } from './spectrum';

/** Beyond so many runs colours are no longer told apart; the table has them all. */
const runsMax = 8;

export function besideEachOther(page: PageData): HTMLElement | null {
  // Of a search, response times by load say it better.
  const runs = page.search ? [] : page.runs.slice(0, runsMax);
  const group = newId();
  const plots = [
    over(runs, 'throughput', 'successes', 'Successes', group),
    over(runs, 'percentiles', 'p50', 'Response time, p50', group),
    over(runs, 'percentiles', 'p95', 'Response time, p95', group),
    spectrumPlot(page.runs),
  ].filter((plot) => plot !== null);
  const said = page.runs.length === 2 && !page.comparison && !page.search ? inWords(page.runs) : null;
  if (plots.length === 0 && !said) return null;
  return section('Beside each other', 'beside', said, h('div', { class: 'grid' }, ...plots));
}

function over(runs: RunData[], id: string, name: string, title: string, group: string): HTMLElement | null {
  const found = runs.flatMap((run, index) => {
    const plot = run.plots.find((plot) => plot.id === id);
    const line = plot?.lines.find((line) => line.name === name);
    return plot && line ? [{ run, plot, line, place: placeOf(runs, index) }] : [];
  });
  const unit = found[0]?.line.unit;
  if (found.length < 2 || !unit) return null;
  const [x, ...columns] = uPlot.join(found.map(({ plot, line }): uPlot.AlignedData => [plot.times, line.values]));
  const lines = found.map(({ run, place }, index): Line => ({
    name: run.label,
    role: 'run',
    place,
    unit,
    values: columns[index] as (number | null)[],
    spanGaps: true,
    ...(place !== index && index > 1 && { dash: [6, 2 + index] }),
  }));
  return chart({
    title,
    description: `${title} of ${found.map(({ run }) => run.label).join(', ')}, over the time of each`,
    x: x as number[],
    lines,
    unit,
    mayBeLog: unit === 'milliseconds',
    isLog: unit === 'milliseconds' && isWide(lines),
    height: 220,
    group,
    xLabel: moment,
    xName: 'time since the start of each',
  });
}

/** One run of each says nothing of chance, and the sentence says so. */
function inWords(runs: RunData[]): HTMLElement | null {
  const [first, second] = runs as [RunData, RunData];
  const sentences = second.claims.flatMap((claim) => {
    const same = first.claims.find(({ term }) => term === claim.term);
    const [before, after] = [amount(`${same?.value ?? ''} ${same?.unit ?? ''}`.trim()), amount(`${claim.value} ${claim.unit}`.trim())];
    if (before === null || after === null) return [];
    return [h('li', {}, h('span', { class: 'name' }, claim.term), ' ', difference(claim.term, before, after))];
  });
  if (sentences.length === 0) return null;
  return h(
    'div',
    { class: 'words' },
    h('p', {}, h('strong', {}, second.label), ' beside ', h('strong', {}, first.label), ':'),
    h('ul', {}, ...sentences),
    h('p', { class: 'note' }, 'One run of each: two runs differ by chance too. What differs beyond it, prony compare tells.'),
  );
}

export function difference(term: string, before: number, after: number): HTMLElement {
  if (before === after) return h('span', {}, 'the same');
  const isMore = after > before;
  if (term === 'errors') return h('span', { class: isMore ? 'worse' : 'better' }, `${isMore ? 'more' : 'fewer'}: ${significant(Math.abs(after - before))} points`);
  const isTime = !term.startsWith('successes') && !term.startsWith('in force');
  const words = isTime ? (isMore ? 'slower' : 'faster') : isMore ? 'more' : 'fewer';
  const isBetter = isTime ? !isMore : isMore;
  if (before === 0 || after === 0) return h('span', { class: isBetter ? 'better' : 'worse' }, words);
  const ratio = Math.max(after / before, before / after);
  const by = ratio >= 2 ? `${significant(ratio)} times` : `${significant(Math.abs(after / before - 1) * 100)} %`;
  return h('span', { class: isBetter ? 'better' : 'worse' }, ratio >= 2 ? `${by} as ${isTime ? (isMore ? 'slow' : 'fast') : isMore ? 'many' : 'few'} (${words})` : `${by} ${words}`);
}
