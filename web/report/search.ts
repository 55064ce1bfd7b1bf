// The search for the limit: percentiles by load, each run a mark, and the interval that the limit lies in.
import type uPlot from 'uplot';
import { chart, type Line } from '../shared/chart';
import type { SearchData, StepData } from './data';
import { h, section } from '../shared/dom';
import { grouped } from '../shared/format';
import { roundStep } from '../shared/round';
import { table } from '../shared/tables';
import { color } from '../shared/theme';

export function searchSection(data: SearchData): HTMLElement {
  return section(
    'Search',
    'search',
    h('p', { class: data.is_void ? 'answer void' : 'answer' }, data.answer),
    h('p', { class: 'note' }, `objective: ${data.objective}`),
    data.steps.length > 0 && h('div', { class: 'grid' }, byLoad(data), reached(data)),
    table(data.table, { isSortable: true }),
  );
}

const loadLabel = (data: SearchData) => (load: number) => `${grouped(Number(load.toPrecision(6)))} ${data.load_name}`;
const loadTick = (load: number) => grouped(Number(load.toPrecision(6)));

function loads(data: SearchData): number[] {
  return [...new Set(data.steps.map((step) => step.load))].sort((left, right) => left - right);
}

/** The median over the runs of a load, as in the table: the mean of the two in the middle where they are even in number. */
function median(data: SearchData, load: number, value: (step: StepData) => number | null): number | null {
  const found = data.steps.filter((step) => step.load === load).map(value).filter((found) => found !== null);
  found.sort((left, right) => left - right);
  const upper = found[Math.floor(found.length / 2)];
  if (upper === undefined) return null;
  const lower = found[Math.ceil(found.length / 2) - 1] ?? upper;
  return (lower + upper) / 2;
}

function byLoad(data: SearchData): HTMLElement {
  const x = loads(data);
  const of = (name: string, value: (step: StepData) => number | null): Line => ({
    name,
    role: name,
    unit: 'milliseconds',
    values: x.map((load) => median(data, load, value)),
    spanGaps: true,
  });
  const judged = (step: StepData) => step.p95_ms ?? step.p50_ms;
  return chart({
    title: 'Response time by load',
    note: 'lines: medians; circle: run passed, cross: failed, square: the lab was the limit',
    description: `Percentiles of the response time by ${data.load_name}. ${data.answer}`,
    x,
    lines: [of('p50', (step) => step.p50_ms), of('p95', (step) => step.p95_ms), of('p99', (step) => step.p99_ms)],
    unit: 'milliseconds',
    mayBeLog: true,
    height: 280,
    xLabel: loadLabel(data),
    xName: data.load_name,
    xTick: loadTick,
    xSplits: splits(x),
    group: 'search',
    underlay: (plot) => interval(plot, data),
    overlay: (plot) => marks(plot, data.steps, judged),
  });
}

function reached(data: SearchData): HTMLElement {
  const x = loads(data);
  const values = x.map((load) => median(data, load, (step) => step.rate_per_s));
  return chart({
    title: 'Successes a second by load',
    description: `Successes a second by ${data.load_name}`,
    x,
    lines: [{ name: 'successes', role: 'success', unit: 'per_second', values, spanGaps: true }],
    unit: 'per_second',
    height: 280,
    xLabel: loadLabel(data),
    xName: data.load_name,
    xTick: loadTick,
    xSplits: splits(x),
    group: 'search',
    underlay: (plot) => interval(plot, data),
    overlay: (plot) => marks(plot, data.steps, (step) => step.rate_per_s),
  });
}

function splits(x: number[]): (min: number, max: number) => number[] {
  return (min, max) => {
    const span = max - min || x[0] || 1;
    const step = roundStep(span, 5);
    const found: number[] = [];
    for (let split = Math.ceil(min / step) * step; split <= max; split += step) found.push(split);
    return found;
  };
}

function interval(plot: uPlot, data: SearchData): void {
  if (data.passes_at === null || data.fails_at === null) return;
  const [from, to] = [plot.valToPos(data.passes_at, 'x', true), plot.valToPos(data.fails_at, 'x', true)];
  const { left, top, width, height } = plot.bbox;
  const [first, last] = [Math.max(from, left), Math.min(to, left + width)];
  if (last <= first) return;
  plot.ctx.save();
  plot.ctx.fillStyle = color('interval');
  plot.ctx.fillRect(first, top, Math.max(last - first, 2), height);
  plot.ctx.restore();
}

/** Shapes, not colours alone, tell runs apart. */
function marks(plot: uPlot, steps: StepData[], value: (step: StepData) => number | null): void {
  const { ctx } = plot;
  const size = 4.5 * devicePixelRatio;
  ctx.save();
  ctx.lineWidth = 1.6 * devicePixelRatio;
  for (const step of steps) {
    const time = value(step);
    if (time === null) continue;
    const [x, y] = [plot.valToPos(step.load, 'x', true), plot.valToPos(time, 'y', true)];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    ctx.beginPath();
    if (step.trial === 'passed') {
      ctx.arc(x, y, size, 0, 2 * Math.PI);
    } else if (step.trial === 'failed') {
      ctx.moveTo(x - size, y - size);
      ctx.lineTo(x + size, y + size);
      ctx.moveTo(x + size, y - size);
      ctx.lineTo(x - size, y + size);
    } else {
      ctx.rect(x - size, y - size, 2 * size, 2 * size);
    }
    ctx.strokeStyle = color(step.trial === 'passed' ? 'good' : step.trial === 'failed' ? 'bad' : 'quiet');
    ctx.stroke();
  }
  ctx.restore();
}
