// Counts by time, in ranges that grow by the same factor.
import type { HistogramData } from './data';
import { h, newId, svg } from '../shared/dom';
import { grouped, milliseconds } from '../shared/format';

const [width, height] = [600, 110];

export function histogramPlot(data: HistogramData): HTMLElement {
  const highest = data.counts.reduce((left, right) => Math.max(left, right), 1);
  const each = width / data.counts.length;
  const bars = data.counts.map((count, index) => {
    if (count === 0) return null;
    // A single sample among millions is still to be seen.
    const size = Math.max((count / highest) * height, 1.5);
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
    ...bars,
  );
  return h(
    'figure',
    { class: `plot histogram role-${data.role}`, 'aria-labelledby': id },
    h('figcaption', {}, h('h3', { id }, data.name), h('span', { class: 'note' }, `samples by time; ${grouped(data.samples)} in all, the highest bar ${grouped(highest)}`)),
    graphic,
    h('div', { class: 'scale', 'aria-hidden': 'true' }, ...[0, 0.25, 0.5, 0.75, 1].map((share) => h('span', {}, milliseconds(at(share))))),
  );
}
