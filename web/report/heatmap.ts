// Latency over time as a heat map: the darker, the more requests took so long at that time, as a scale beneath it says.
import type uPlot from 'uplot';
import { chart } from '../shared/chart';
import { h } from '../shared/dom';
import { moment, grouped, tick } from '../shared/format';
import { color } from '../shared/theme';
import { bucketFrom, percentile, sum, together } from './buckets';
import type { OverTimeData } from './data';
import { marks, type Marks } from './marks';

/** Cells are at least so large, in pixels of the page. */
const [widthMin, heightMin] = [3, 5];
/** How dark a cell of one among millions is: it is still to be seen. */
const palest = 0.14;

export function heatMap(data: OverTimeData, run: Marks, group: string, span: [number, number]): HTMLElement | null {
  const { from, counts } = together(data, 0, data.latencies.length);
  if (counts.length === 0) return null;
  const range: [number, number] = [Math.max(bucketFrom(from), 1e-3), bucketFrom(from + counts.length)];
  const middle = data.latencies.map((_, index) => Math.min((index + 0.5) * data.interval_s, span[1]));
  const line = (name: string, percent: number) => ({
    name,
    role: 'over-heat',
    place: percent > 90 ? 1 : 0,
    unit: 'milliseconds' as const,
    values: [null, ...data.latencies.map((_, index) => percentile(together(data, index, index + 1), percent, true)), null],
  });
  const lines = [line('p50', 50), line('p99', 99)];
  let most = 1;
  return chart({
    title: 'Latency heat map',
    note: `successes in intervals of ${moment(data.interval_s)}; the darker, the more`,
    description: `How many of ${grouped(sum(counts))} successes took how long, over time`,
    x: [span[0], ...middle, span[1]],
    lines,
    unit: 'milliseconds',
    isLog: true,
    yRange: range,
    height: 220,
    group,
    xLabel: moment,
    xName: 'time since the start',
    underlay: (plot) => {
      most = cells(plot, data, range);
    },
    overlay: (plot) => {
      marks(plot, run, null);
      showScale(plot, most);
    },
  });
}

/** From the palest to the darkest, 0 to 1: as far from 1 to 10 as from 10 to 100, nearly. */
const darkness = (count: number, most: number): number => Math.log1p(count) / Math.log1p(most);

/** How many successes a cell of which darkness stands for, of those that are shown; it stands beneath the plot. */
function showScale(plot: uPlot, most: number): void {
  const figure = plot.root.closest('figure');
  const old = figure?.querySelector<HTMLElement>('.heat-scale');
  if (!figure || old?.dataset.most === String(most)) return;
  const factors = most < 100 ? [1, 2, 5] : [1];
  const counts = Array.from({ length: Math.floor(Math.log10(most)) + 1 }, (_, power) => factors.map((factor) => factor * 10 ** power)).flat();
  const labels = counts
    .filter((count) => count <= most)
    .map((count) => {
      const label = h('span', {}, tick(count, 'count'));
      label.style.left = `${darkness(count, most) * 100}%`;
      return label;
    });
  const scale = h(
    'div',
    { class: 'heat-scale', 'data-most': String(most) },
    h('span', { class: 'note' }, 'successes in a cell'),
    h('div', { class: 'shades' }, h('div', { class: 'shade' }), h('div', { class: 'counts' }, ...labels)),
  );
  if (old) old.replaceWith(scale);
  else plot.root.parentElement?.after(scale);
}

/** Neighbours are drawn as one where they would be too small to see. Returns how many successes the darkest has. */
function cells(plot: uPlot, data: OverTimeData, [low, high]: [number, number]): number {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  const pixel = devicePixelRatio;
  const shown = Math.max((max! - min!) / data.interval_s, 1);
  const wide = Math.max(1, Math.ceil((widthMin * pixel) / (width / shown)));
  const tall = Math.max(1, Math.ceil((heightMin * pixel) / (height / Math.max(Math.log2(high / low) * 16, 1))));
  const found: { x: number; row: number; count: number }[] = [];
  for (let first = 0; first < data.latencies.length; first += wide) {
    if ((first + wide) * data.interval_s < min! || first * data.interval_s > max!) continue;
    const rows = new Map<number, number>();
    const { from, counts } = together(data, first, first + wide);
    counts.forEach((count, index) => {
      const row = Math.floor((from + index) / tall);
      if (count > 0) rows.set(row, (rows.get(row) ?? 0) + count);
    });
    for (const [row, count] of rows) found.push({ x: first, row, count });
  }
  const most = found.reduce((highest, { count }) => Math.max(highest, count), 1);
  ctx.save();
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  ctx.fillStyle = color('heat');
  for (const { x, row, count } of found) {
    const [x0, x1] = [x, x + wide].map((index) => plot.valToPos(index * data.interval_s, 'x', true)) as [number, number];
    const [y0, y1] = [row, row + 1].map((index) => plot.valToPos(Math.max(bucketFrom(index * tall), 1e-3), 'y', true)) as [number, number];
    ctx.globalAlpha = palest + (1 - palest) * darkness(count, most);
    ctx.fillRect(Math.floor(x0), Math.floor(y1), Math.max(Math.ceil(x1 - x0), 1), Math.max(Math.ceil(y0 - y1), 1));
  }
  ctx.restore();
  return most;
}
