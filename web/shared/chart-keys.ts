// The keys of a plot: arrows move the cursor, plus and minus zoom around it, Escape shows all.
import type uPlot from 'uplot';
import { plotsOf } from './chart-group';

export const keysHint = 'Arrow keys move the cursor, plus and minus zoom, Escape shows all.';

export function onKey(event: KeyboardEvent, plot: uPlot, group?: string): void {
  const times = plot.data[0];
  const { min, max } = plot.scales.x ?? {};
  if (event.ctrlKey || event.metaKey || event.altKey || times.length === 0 || min == null || max == null) return;
  const first = times.findIndex((time) => time >= min);
  const last = times.findLastIndex((time) => time <= max);
  const index = plot.cursor.idx ?? first;
  const step = event.shiftKey ? 10 : 1;
  const moves: Record<string, number> = { ArrowLeft: index - step, ArrowRight: index + step, Home: first, End: last };
  const to = moves[event.key];
  const zooms: Record<string, number> = { '+': 0.5, '=': 0.5, '-': 2 };
  const factor = zooms[event.key];
  if (to !== undefined) {
    const time = times[Math.min(Math.max(to, first), last)] ?? min;
    const together = group ? plotsOf(group) : [plot];
    for (const each of together) each.setCursor({ left: each.valToPos(time, 'x'), top: each.over.clientHeight / 2 });
  } else if (factor !== undefined) {
    zoom(plot, times[index] ?? min, factor);
  } else if (event.key === 'Escape' || event.key === '0') {
    plot.setScale('x', { min: times[0] ?? min, max: times[times.length - 1] ?? max });
  } else {
    return;
  }
  event.preventDefault();
}

function zoom(plot: uPlot, around: number, factor: number): void {
  const times = plot.data[0];
  const { min = 0, max = 1 } = plot.scales.x ?? {};
  const from = Math.max(times[0] ?? 0, around - (around - (min as number)) * factor);
  const to = Math.min(times[times.length - 1] ?? 1, around + ((max as number) - around) * factor);
  if (to > from) plot.setScale('x', { min: from, max: to });
}
