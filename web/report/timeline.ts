// Plots over the time of a run, all on the same axis, with its windows shaded and its events and objectives marked.
import { chart, isWide } from '../shared/chart';
import { moment, shown, type Unit } from '../shared/format';
import type { LineData, PlotData } from './data';
import { beyond, findingsAt, marks, type Marks, shade } from './marks';

/** Areas between percentiles: where most, nearly all and the slowest responses lie. */
const ranges = [
  { lower: 'p50', upper: 'p95', color: 'range-1' },
  { lower: 'p95', upper: 'p99', color: 'range-2' },
  { lower: 'p99', upper: 'max', color: 'range-3' },
];

/** One plot for each unit: two axes in one plot are read by nobody. `span` is that of the run. */
export function timePlots(data: PlotData, run: Marks, group: string, isObserved: boolean, span: [from: number, to: number]): [id: string, plot: HTMLElement][] {
  const units = [...new Set(data.lines.map((line) => line.unit))];
  return units.map((unit) => {
    const lines = data.lines.filter((line) => line.unit === unit);
    const title = unit === data.unit ? data.title : lines.map((line) => line.name).join(', ');
    const id = unit === data.unit ? data.id : `${data.id}-${unit}`;
    return [id, timePlot({ ...data, id, title, unit, lines }, run, group, isObserved, span)];
  });
}

function timePlot(data: PlotData, run: Marks, group: string, isObserved: boolean, span: [from: number, to: number]): HTMLElement {
  const isEvents = isObserved && data.unit === 'milliseconds';
  const before = (data.times[0] ?? span[1]) > span[0] ? [null] : [];
  const after = (data.times[data.times.length - 1] ?? span[0]) < span[1] ? [null] : [];
  const lines = data.lines.map((line) => ({
    ...line,
    values: [...before, ...line.values, ...after],
    spanGaps: isObserved,
    marksOnly: isEvents,
  }));
  const place = (name: string) => lines.findIndex((line) => line.name === name);
  const bands = ranges.map(({ lower, upper, color }) => ({ lower: place(lower), upper: place(upper), color }));
  const isLog = data.may_be_log && isWide(data.lines);
  const note = [data.note, isLog ? '' : beyond(run.objectives, data.id, highest(data.lines) * 1.2)].filter(Boolean).join('; ');
  return chart({
    title: data.title,
    note,
    description: describe(data),
    x: [...before.map(() => span[0]), ...data.times, ...after.map(() => span[1])],
    lines,
    unit: data.unit,
    mayBeLog: data.may_be_log,
    isLog,
    height: isObserved ? 150 : 190,
    group,
    key: [group, data.id, ...(isObserved ? data.lines.map((line) => line.name) : [])].join('/'),
    isHeaded: !isObserved,
    bands: bands.filter(({ lower, upper }) => lower >= 0 && upper >= 0),
    xLabel: moment,
    xNote: (seconds) => findingsAt(run.annotations, seconds),
    xName: 'time since the start',
    yName: data.axis,
    underlay: (plot) => shade(plot, run.windows, !isObserved),
    overlay: (plot) => marks(plot, run, data.id),
  });
}

function present(line: LineData): number[] {
  return line.values.filter((value): value is number => value !== null);
}

function highest(lines: LineData[]): number {
  return lines.flatMap((line) => present(line)).reduce((left, right) => Math.max(left, right), 0);
}

/** The lowest and highest of each line, in words. */
function describe(data: PlotData): string {
  const value = (number: number, unit: Unit) => shown(number, unit);
  const of = data.lines.map((line) => {
    const values = present(line);
    if (values.length === 0) return `${line.name}: nothing`;
    const low = values.reduce((left, right) => Math.min(left, right));
    const high = values.reduce((left, right) => Math.max(left, right));
    return `${line.name}: ${value(low, line.unit)} to ${value(high, line.unit)}`;
  });
  return `${data.title} over time. ${of.join('; ')}`;
}
