// One run: its plots over time, how latencies are spread, its requests, and what was observed meanwhile. Of several runs one is
// chosen among tabs.
import { type Range, setSpan } from '../shared/chart-group';
import { h, newId, section } from '../shared/dom';
import { table } from '../shared/tables';
import { chosenPart } from './chosen';
import type { RunData, TableData } from './data';
import { heatMap } from './heatmap';
import { histogramPlot } from './histogram';
import { groupOf, onJump } from './jump';
import { events } from './marks';
import { observersOf } from './observers';
import { requestTable } from './requests';
import { spectrumPlot } from './spectrum';
import { timePlots } from './timeline';
import { claims, summaryLine, verdict } from './top';

const sortable = ['groups', 'tags', 'checks', 'failures', 'scenarios'];

/** One run at a time, chosen among tabs; each is drawn when it is first looked at. */
export function chooser(runs: RunData[], onChoice: () => void): HTMLElement {
  const panels = runs.map(() => null as HTMLElement | null);
  const panelId = newId();
  const panel = h('div', { role: 'tabpanel', id: panelId, tabindex: '-1' });
  const tabs = runs.map((run, index) =>
    h('button', { type: 'button', role: 'tab', id: newId(), 'aria-controls': panelId, onclick: () => choose(index, false) }, run.label),
  );
  function choose(index: number, isFocused: boolean): void {
    const run = runs[index];
    if (!run) return;
    tabs.forEach((tab, place) => {
      tab.setAttribute('aria-selected', String(place === index));
      tab.setAttribute('tabindex', place === index ? '0' : '-1');
    });
    if (isFocused) tabs[index]?.focus();
    panel.setAttribute('aria-labelledby', tabs[index]?.id ?? '');
    const shown = panels[index] ?? details(run, false);
    panels[index] = shown;
    panel.replaceChildren(shown);
    onChoice();
  }
  const list = h('div', { role: 'tablist', 'aria-label': 'Runs' }, ...tabs);
  list.addEventListener('keydown', (event) => {
    const index = tabs.findIndex((tab) => tab.getAttribute('aria-selected') === 'true');
    const count = tabs.length;
    const moves: Record<string, number> = { ArrowLeft: index - 1, ArrowRight: index + 1, Home: 0, End: count - 1 };
    const to = moves[event.key];
    if (to === undefined) return;
    choose((to + count) % count, true);
    event.preventDefault();
  });
  runs.forEach((run, index) => onJump(run.label, () => choose(index, false)));
  choose(0, false);
  return section('Each run', 'runs', list, panel);
}

/** All of one run; `isOnly`: what its top would say stands above already. */
export function details(run: RunData, isOnly: boolean): HTMLElement {
  const group = groupOf(run.label);
  // Of subscribers alone there are none.
  const figures = run.tables.find((data) => data.id === 'figures');
  const tables = run.tables.filter((data) => data !== figures);
  const { observers } = run;
  const times = (run.plots.length > 0 ? run.plots : observers.plots).flatMap((plot) => [plot.times[0] ?? 0, plot.times[plot.times.length - 1] ?? 0]);
  const span: Range = [Math.min(0, ...times), Math.max(...times)];
  setSpan(group, span);
  return h(
    'div',
    { class: 'run' },
    !isOnly && summaryLine(run),
    !isOnly && run.notice && h('p', { class: 'notice' }, run.notice),
    !isOnly && verdict(run.verdict),
    !isOnly && claims(run),
    run.plots.length > 0 && overTime(run, group, span),
    latency(run),
    tables.length > 0 && section(figures ? 'Requests' : 'Subscribers', 'requests', ...tables.map((data) => requestTables(data, run, group))),
    (observers.plots.length > 0 || observers.figures || observers.faults.length > 0) &&
      section(
        'Observed meanwhile',
        'observed',
        ...observers.faults.map((fault) => h('p', { class: 'notice' }, fault)),
        ...observersOf(run, group, span),
      ),
    figures && section(isOnly ? 'Figures' : 'Figures of this run', 'figures', table({ ...figures, title: 'Steady state beside the whole run' })),
    section('What was run', 'facts', h('dl', {}, ...facts(run))),
  );
}

/** First what most want to know: how many, how fast, how spread, what failed. */
const order = ['throughput', 'percentiles', 'heat-map', 'failures', 'statuses', 'events', 'fan-out'];

function inOrder(plots: [id: string, plot: HTMLElement][]): HTMLElement[] {
  const rank = ([id]: [string, HTMLElement]) => (order.includes(id) ? order.indexOf(id) : order.length);
  return [...plots].sort((left, right) => rank(left) - rank(right)).map(([, plot]) => plot);
}

function overTime(run: RunData, group: string, span: Range): HTMLElement {
  const heat = run.over_time && heatMap(run.over_time, run, group, span);
  const plots = run.plots.flatMap((plot) => timePlots(plot, run, group, false, span));
  if (heat) plots.push(['heat-map', heat]);
  return section(
    'Over time',
    'time',
    run.over_time && chosenPart(run, run.over_time, group, span),
    h('div', { class: 'grid' }, ...inOrder(plots)),
    events(run.annotations),
  );
}

function latency(run: RunData): HTMLElement | null {
  const spectrum = spectrumPlot([run]);
  if (!spectrum && run.histograms.length === 0) return null;
  return section('How latencies are spread', 'latency', h('div', { class: 'grid' }, spectrum, ...run.histograms.map(histogramPlot)));
}

/** Those that have a row for each thing of a kind can be sorted. */
function requestTables(data: TableData, run: RunData, group: string): HTMLElement {
  return data.id === 'requests' ? requestTable(data, run.over_time, group) : table(data, { isSortable: sortable.includes(data.id), group });
}

function facts(run: RunData): HTMLElement[] {
  const file: [string, string] = ['result file', run.file];
  return [...run.facts, file].flatMap(([term, what]) => [h('dt', {}, term), h('dd', {}, what)]);
}
