// Counts by time, in ranges that grow by the same factor.
import type { HistogramData } from './data';
import { h, newId, svg } from '../shared/dom';
import { axisName, grouped, milliseconds, tick } from '../shared/format';
import { roundLevels } from '../shared/round';
import { type Axis, headroom, levelLines, withAxis } from './axis';

const [width, height] = [600, 110];

export function histogramPlot(data: HistogramData): HTMLElement {
  const highest = data.counts.reduce((left, right) => Math.max(left, right), 1);
  const each = width / data.counts.length;
  const axis: Axis = { name: axisName('count', ['samples']), unit: 'count', levels: roundLevels(highest, true), top: highest * headroom };
  const bars = data.counts.map((count, index) => {
    if (count === 0) return null;
    // A single sample among millions is still to be seen.
    const size = Math.max((count / axis.top) * height, 1.5);
    const [from, to] = [data.bounds_ms[index] ?? 0, data.bounds_ms[index + 1] ?? 0];
    const bar = svg('rect', {
      x: String(index * each + 0.5),
      y: String(height - size),
      width: String(Math.max(each - 1, 0.5)),
      height: String(size),
    });
    bar.append(svg('title', {}, `${milliseconds(from)} to ${milliseconds(to)}: ${grouped(count)}`));
    return bar;
  });
  const at = (share: number) => data.bounds_ms[Math.round(share * (data.bounds_ms.length - 1))] ?? 0;
  const most = data.counts.indexOf(highest);
  const id = newId();
  const description =
    `${data.name}: ${grouped(data.samples)} samples from ${milliseconds(at(0))} to ${milliseconds(at(1))}, ` +
    `most between ${milliseconds(data.bounds_ms[most] ?? 0)} and ${milliseconds(data.bounds_ms[most + 1] ?? 0)}`;
  const graphic = svg(
    'svg',
    { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': description },
    ...levelLines(axis, width, height),
    ...bars,
  );
  return h(
    'figure',
    { class: `plot histogram role-${data.role}`, 'aria-labelledby': id },
    h('figcaption', {}, h('h3', { id }, data.name), h('span', { class: 'note' }, `samples by time; ${grouped(data.samples)} in all, the highest bar ${grouped(highest)}`)),
    withAxis(graphic, axis, h('div', { 'aria-hidden': 'true' }, scale(at(0), at(1)), h('div', { class: 'axis-name across' }, axisName('milliseconds', [])))),
  );
}

/** Round times where they lie: each range is wider than the one before by the same factor. */
function scale(low: number, high: number): HTMLElement {
  const factors = high / low >= 300 ? [1] : high / low >= 8 ? [1, 2, 5] : high / low >= 3 ? [1, 2, 3, 5, 7] : [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9];
  const decades = Array.from({ length: 12 }, (_, index) => 10 ** (index - 4));
  const times = decades.flatMap((decade) => factors.map((factor) => Number((factor * decade).toPrecision(3))));
  const labels = times
    .filter((time) => time >= low * 0.999 && time <= high * 1.001)
    .map((time) => {
      const label = h('span', {}, tick(time, 'milliseconds'));
      const share = Math.log(time / low) / Math.log(high / low);
      label.style.left = `${share * 100}%`;
      // At the edges within the plot, not beyond it.
      if (share < 0.06 || share > 0.94) label.style.transform = share < 0.5 ? 'none' : 'translateX(-100%)';
      return label;
    });
  return h('div', { class: 'ticks' }, ...labels);
}
