// What was seen beside the load, by who saw it, folded: the lab itself comes last.
import { h } from '../shared/dom';
import type { PlotData, RunData, TableData } from './data';
import type { Marks } from './marks';
import { timePlots } from './timeline';

const isLab = (name: string) => name === 'lab' || name.startsWith('lab ');
const figuresMax = 4;

export function observersOf(run: RunData, group: string, span: [number, number]): HTMLElement[] {
  const { plots, figures } = run.observers;
  const names = [...new Set([...plots.flatMap((plot) => plot.lines.map((line) => line.name)), ...(figures?.rows ?? []).map((row) => row[0] ?? '')])];
  names.sort((left, right) => Number(isLab(left)) - Number(isLab(right)));
  return names.map((name) => observer(name, plots, figures, run, group, span));
}

function observer(name: string, plots: PlotData[], figures: TableData | null, run: Marks, group: string, span: [number, number]): HTMLElement {
  const own = plots
    .map((plot) => ({ ...plot, lines: plot.lines.filter((line) => line.name === name) }))
    .filter((plot) => plot.lines.length > 0)
    .map(withoutGaps);
  const rows = (figures?.rows ?? []).filter((row) => row[0] === name);
  const said = rows.slice(0, figuresMax).map(([, figure, value]) => `${figure} ${value}`);
  // Plots draw themselves when they are unfolded: until then they have no width.
  return h(
    'details',
    { class: 'observer', 'data-key': name },
    h('summary', {}, h('span', { class: 'name' }, isLab(name) ? `${name} (what makes the load)` : name), h('span', { class: 'note' }, said.join(' · '))),
    rows.length > figuresMax &&
      h('dl', { class: 'all' }, ...rows.map(([, figure = '', value = '']) => h('div', {}, h('dt', {}, figure), h('dd', {}, value)))),
    h('div', { class: 'grid' }, ...own.flatMap((plot) => timePlots(plot, run, group, true, span)).map(([, plot]) => plot)),
  );
}

/** Others looked at other moments, which are none of its own. */
function withoutGaps(plot: PlotData): PlotData {
  const kept = plot.times.map((_, index) => index).filter((index) => plot.lines.some((line) => line.values[index] != null));
  return {
    ...plot,
    times: kept.map((index) => plot.times[index]!),
    lines: plot.lines.map((line) => ({ ...line, values: kept.map((index) => line.values[index] ?? null) })),
  };
}
