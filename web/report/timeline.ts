// Plots over the time of a run, all on the same axis, with its windows shaded.
import type uPlot from 'uplot';
import { chart, isWide } from '../shared/chart';
import type { PlotData, WindowData } from './data';
import { moment, shown } from '../shared/format';
import { color } from '../shared/theme';

/** `isObserved`: looked at from outside, at moments of its own. `span` is that of the run's own plots. */
export function timePlot(
  data: PlotData,
  windows: WindowData[],
  group: string,
  isObserved: boolean,
  span: [from: number, to: number],
): HTMLElement {
  const isEvents = isObserved && data.unit === 'milliseconds';
  const before = (data.times[0] ?? span[1]) > span[0] ? [null] : [];
  const after = (data.times[data.times.length - 1] ?? span[0]) < span[1] ? [null] : [];
  const lines = data.lines.map((line) => ({
    ...line,
    values: [...before, ...line.values, ...after],
    spanGaps: isObserved,
    marksOnly: isEvents,
  }));
  return chart({
    title: data.title,
    note: data.note,
    description: describe(data),
    x: [...before.map(() => span[0]), ...data.times, ...after.map(() => span[1])],
    lines,
    unit: data.unit,
    mayBeLog: data.may_be_log,
    isLog: data.may_be_log && isWide(data.lines),
    height: isObserved ? 130 : 220,
    group,
    isAligned: true,
    xLabel: moment,
    xName: 'time since the start',
    underlay: (plot) => shade(plot, windows, !isObserved),
  });
}

/** The lowest and highest of each line, in words. */
function describe(data: PlotData): string {
  const ranges = data.lines.map((line) => {
    const present = line.values.filter((value): value is number => value !== null);
    if (present.length === 0) return `${line.name}: nothing`;
    const low = present.reduce((left, right) => Math.min(left, right));
    const high = present.reduce((left, right) => Math.max(left, right));
    return `${line.name}: ${shown(low, line.unit)} to ${shown(high, line.unit)}`;
  });
  return `${data.title} over time. ${ranges.join('; ')}`;
}

/** All but the steady state is shaded; each window is named where it has room for its name. */
function shade(plot: uPlot, windows: WindowData[], named: boolean): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${10 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'left';
  for (const window of windows) {
    const place = (seconds: number) => Math.min(Math.max(plot.valToPos(seconds, 'x', true), left), left + width);
    const [from, to] = [place(window.from_s), place(window.to_s)];
    if (to <= from) continue;
    if (window.kind !== 'steady') {
      ctx.fillStyle = color('shade');
      ctx.fillRect(from, top, to - from, height);
    }
    if (window.from_s > 0 && from > left) {
      ctx.fillStyle = color('edge');
      ctx.fillRect(Math.round(from), top, Math.max(1, Math.floor(ratio)), height);
    }
    if (named && ctx.measureText(window.name).width + 12 * ratio < to - from) {
      ctx.fillStyle = color('quiet');
      ctx.fillText(window.name, from + 6 * ratio, top + 3 * ratio);
    }
  }
  ctx.restore();
}
