// A against B: each figure's ratio with its interval, beside the line at 1.
import type { ComparisonData, RatioData } from './data';
import { h, section, svg } from '../shared/dom';
import { table } from '../shared/tables';

const width = 400;

/** What B is beside A; where nothing is shown it is neither. */
function words({ name, judgement }: RatioData): string {
  if (judgement === 'void') return 'void';
  if (judgement === 'not_shown') return 'no difference shown';
  const isRate = name.includes('second') || name.includes('throughput') || name.includes('rate');
  if (isRate) return judgement === 'better' ? 'B more' : 'B fewer';
  return judgement === 'better' ? 'B faster' : 'B slower';
}

export function comparisonSection(data: ComparisonData): HTMLElement {
  return section(
    'Comparison',
    'comparison',
    h('p', { class: data.is_void ? 'answer void' : 'answer' }, data.answer),
    data.ratios.length > 0 && forest(data.ratios),
    h('p', { class: 'note' }, data.note),
    table(data.table),
  );
}

function forest(ratios: RatioData[]): HTMLElement {
  const bounds = ratios.flatMap((ratio) => [ratio.ratio, ...(ratio.interval ?? [])]).filter((value) => value > 0);
  // At least 5 % to each side: without it, noise would fill the plot.
  const reach = bounds.reduce((most, value) => Math.max(most, Math.abs(Math.log(value))), Math.log(1.05)) * 1.08;
  const place = (ratio: number) => (Math.log(ratio) / reach + 1) * (width / 2);
  const rows = ratios.map((ratio) =>
    h(
      'div',
      { class: `ratio ${ratio.judgement}`, role: 'listitem' },
      h('span', { class: 'name' }, ratio.name),
      track(ratio, place),
      h('span', { class: 'value' }, ratio.text),
      h('span', { class: 'judgement' }, words(ratio)),
    ),
  );
  const ticks = niceRatios(reach).map((ratio) => {
    const label = h('span', {}, `${Number(ratio.toPrecision(4))}`);
    label.style.left = `${(place(ratio) / width) * 100}%`;
    return label;
  });
  return h(
    'div',
    { class: 'forest' },
    h('div', { role: 'list' }, ...rows),
    h('div', { class: 'ratio axis', 'aria-hidden': 'true' }, h('span', {}, 'B ÷ A'), h('div', { class: 'ticks' }, ...ticks)),
  );
}

function track(ratio: RatioData, place: (ratio: number) => number): SVGElement {
  const parts = [svg('line', { class: 'one', x1: String(width / 2), x2: String(width / 2), y1: '0', y2: '28' })];
  if (ratio.interval) {
    const [low, high] = ratio.interval.map((bound) => String(place(Math.max(bound, 1e-9)))) as [string, string];
    parts.push(svg('line', { class: 'interval', x1: low, x2: high, y1: '14', y2: '14' }));
  }
  const x = place(ratio.ratio);
  parts.push(svg('line', { class: 'point', x1: String(x), x2: String(x), y1: '6', y2: '22' }));
  return svg('svg', { viewBox: `0 0 ${width} 28`, preserveAspectRatio: 'none', 'aria-hidden': 'true' }, ...parts);
}

/** Ratios around 1 for the axis, as far as they have room. */
function niceRatios(reach: number): number[] {
  const steps = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 4];
  const step = steps.find((step) => Math.log(1 + step) > reach / 2.2) ?? 9;
  return [1 / (1 + step), 1, 1 + step].filter((ratio) => Math.abs(Math.log(ratio)) <= reach);
}
