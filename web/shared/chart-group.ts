// Plots that share their time: what is zoomed or pointed at in one is in all, and whoever listens hears of it.
import type uPlot from 'uplot';

export type Range = [from: number, to: number];

interface Group {
  plots: Set<uPlot>;
  range: Range | null;
  /** All that there is to show. */
  span: Range | null;
  listeners: ((range: Range) => void)[];
}

const groups = new Map<string, Group>();
let isPassedOn = false;

function member(name: string): Group {
  const found = groups.get(name) ?? { plots: new Set(), range: null, span: null, listeners: [] };
  groups.set(name, found);
  return found;
}

/** A plot that is drawn later than the others shows the part that they show. */
export function join(name: string, plot: uPlot): void {
  const group = member(name);
  group.plots.add(plot);
  if (group.range) plot.setScale('x', { min: group.range[0], max: group.range[1] });
}

export function leave(name: string, plot: uPlot): void {
  member(name).plots.delete(plot);
}

export function plotsOf(name: string): Iterable<uPlot> {
  return member(name).plots;
}

/** There is more to show: who shows all goes on to show all. */
export function setSpan(name: string, span: Range): void {
  const group = member(name);
  const showsAll = group.range && group.span && group.range.every((end, place) => Math.abs(end - group.span![place]!) < 1e-6);
  group.span = span;
  if (showsAll) group.range = span;
}

/** All that there is to show. */
export function wholeRange(name: string): Range | null {
  return member(name).span;
}

/** What the plots show: a chosen part, or all. */
export function shownRange(name: string): Range | null {
  const group = member(name);
  return group.range ?? group.span;
}

/** Shows this part in one plot, after `change`; it chooses nothing for the others. */
export function show(plot: uPlot, [min, max]: Range, change: () => void): void {
  isPassedOn = true;
  plot.batch(() => {
    change();
    plot.setScale('x', { min, max });
  });
  isPassedOn = false;
}

/** What all plots show, from now on. */
export function setRange(name: string, range: Range): void {
  const group = member(name);
  group.range = range;
  isPassedOn = true;
  for (const plot of group.plots) {
    if (plot.scales.x?.min !== range[0] || plot.scales.x.max !== range[1]) plot.setScale('x', { min: range[0], max: range[1] });
  }
  isPassedOn = false;
  for (const listener of group.listeners) listener(range);
}

/** Calls back with what is shown, each time that it changes. */
export function onRange(name: string, listener: (range: Range) => void): void {
  member(name).listeners.push(listener);
}

/** One of the plots was zoomed. One that has just been made shows what it has, and changes nothing. */
export function zoomed(name: string, plot: uPlot): void {
  const { min, max } = plot.scales.x ?? {};
  const group = member(name);
  if (isPassedOn || !group.plots.has(plot) || min == null || max == null) return;
  if (group.range?.[0] !== min || group.range[1] !== max) setRange(name, [min, max]);
}
