// The report of one or several results. What it shows, and in which order, is all here; the parts draw themselves.
import 'uplot/dist/uPlot.min.css';
import '../shared/page.css';
import './report.css';

import { comparisonSection } from './comparison';
import type { FindingData, PageData, RunData, VerdictData } from './data';
import { h, newId, section } from '../shared/dom';
import { histogramPlot } from './histogram';
import { utc } from '../shared/format';
import { sampleSections } from './samples';
import { searchSection } from './search';
import { spectrumPlot } from './spectrum';
import { studySections } from './study';
import { table } from '../shared/tables';
import { bar } from '../shared/bar';
import { startTheme, switchTheme, theme } from '../shared/theme';
import { timePlot } from './timeline';

const elapsed = "Response time is JMeter's elapsed time: from just before a request is sent to its last byte, and not from when it was due.";
const judgements = { kept: '✓ kept', failed: '✗ failed', undecided: '? undecided', void: '– void' };

const place = document.getElementById('report');
const text = document.getElementById('data')?.textContent;
if (!place || !text) throw new Error('the page lacks its place or its data');
const page = JSON.parse(text) as PageData;

startTheme();
place.append(bar('Prony'), h('main', {}, ...contents(page)), foot(page));
forPrint();

function contents(page: PageData): (HTMLElement | null | false)[] {
  const several = page.runs.length > 1;
  const only = several ? undefined : page.runs[0];
  return [
    heading(page),
    verdict(page.verdict ?? only?.verdict),
    ...(page.study ? studySections(page.study) : []),
    ...(page.samples ? sampleSections(page.samples) : []),
    findings(page.runs),
    page.search && searchSection(page.search),
    page.comparison && comparisonSection(page.comparison),
    thresholds(page.runs),
    only && !page.verdict ? claims(only) : null,
    page.side_by_side && section('Figures', 'figures', table(page.side_by_side)),
    several && !page.study ? overlaid(page.runs) : null,
    several ? chooser(page.runs) : only ? details(only, true) : null,
  ];
}

function heading(page: PageData): HTMLElement {
  const only = page.runs.length === 1 ? page.runs[0] : undefined;
  return h(
    'header',
    {},
    h('h1', {}, page.title),
    only ? summaryLine(only) : !page.samples && h('p', { class: 'what' }, runsLine(page)),
    only?.notice ? h('p', { class: 'notice' }, only.notice) : null,
  );
}

/** What it comes to, in the words of the terminal. */
function verdict(data: VerdictData | null | undefined): HTMLElement | null {
  if (!data) return null;
  return h(
    'p',
    { class: `verdict ${data.conclusion}` },
    data.text,
    data.exit_code !== null && h('span', { class: 'note' }, data.exit_code),
  );
}

function runsLine({ runs, search, comparison }: PageData): string {
  const few = 6;
  if (runs.length === 0) return 'no runs yet';
  return search || comparison || runs.length > few ? `${runs.length} runs` : runs.map((run) => run.label).join(', ');
}

function summaryLine(run: RunData): HTMLElement {
  const fact = (term: string) => run.facts.find(([name]) => name === term)?.[1];
  return h(
    'p',
    { class: 'what' },
    h('span', { class: 'target' }, fact('target') ?? ''),
    h('span', {}, fact('load') ?? ''),
    run.started_at_unix_ms > 0 && h('span', {}, utc(run.started_at_unix_ms)),
  );
}

/** Each kind once, with the runs that have it; what voids comes first. */
function findings(runs: RunData[]): HTMLElement | null {
  const kinds = new Map<string, { finding: FindingData; labels: string[] }>();
  for (const run of runs) {
    for (const finding of run.findings) {
      const known = kinds.get(finding.kind);
      if (known) known.labels.push(run.label);
      else kinds.set(finding.kind, { finding, labels: [run.label] });
    }
  }
  if (kinds.size === 0) return null;
  const where = (labels: string[]) =>
    runs.length === 1 ? null : labels.length <= 3 ? labels.join(', ') : `in ${labels.length} of ${runs.length} runs`;
  const shown = [...kinds.values()].sort((left, right) => Number(right.finding.voids) - Number(left.finding.voids));
  return section('Findings', 'findings', ...shown.map(({ finding, labels }) => card(finding, where(labels))));
}

function card(finding: FindingData, where: string | null): HTMLElement {
  return h(
    'article',
    { class: finding.voids ? 'finding voids' : 'finding' },
    h(
      'h3',
      {},
      h('span', { class: 'kind' }, finding.kind),
      finding.weight !== '' && h('span', { class: 'mark' }, finding.voids ? 'voids the figures' : finding.weight),
      where !== null && h('span', { class: 'note' }, where),
    ),
    h('p', { class: 'seen' }, finding.seen),
    h('dl', {}, h('dt', {}, 'Cause'), h('dd', {}, finding.cause), h('dt', {}, 'Try'), h('dd', {}, finding.try_next)),
  );
}

function thresholds(runs: RunData[]): HTMLElement | null {
  const rows = runs.flatMap((run) =>
    run.thresholds.map((threshold) =>
      h(
        'li',
        { class: threshold.judgement },
        h('span', { class: 'judgement' }, judgements[threshold.judgement]),
        h('code', {}, threshold.text),
        h('span', { class: 'value' }, threshold.measured),
        runs.length > 1 && h('span', { class: 'note' }, run.label),
      ),
    ),
  );
  return rows.length > 0 ? section('Thresholds', 'thresholds', h('ul', { class: runs.length > 1 ? 'several' : 'one' }, ...rows)) : null;
}

function claims(run: RunData): HTMLElement {
  if (run.claims.length === 0) {
    const why = run.findings.some((finding) => finding.voids)
      ? 'The figures below are not about the target: a finding voids them.'
      : 'There is nothing to claim.';
    return h('p', { class: 'answer void' }, why);
  }
  const tiles = run.claims.map((claim) =>
    h('div', {}, h('dt', {}, claim.term), h('dd', {}, claim.value, h('span', { class: 'unit' }, ` ${claim.unit}`))),
  );
  return h('dl', { class: 'claims', 'aria-label': 'Headline figures' }, ...tiles);
}

function overlaid(runs: RunData[]): HTMLElement | null {
  const spectrum = spectrumPlot(runs);
  return spectrum && section('Latency', 'latency', spectrum);
}

/** One run at a time, chosen among tabs; each is drawn when it is first looked at. */
function chooser(runs: RunData[]): HTMLElement {
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
  choose(0, false);
  return section('Each run', 'runs', list, panel);
}

function details(run: RunData, isOnly: boolean): HTMLElement {
  const group = newId();
  // Of subscribers alone there are none.
  const figures = run.tables.find((data) => data.id === 'figures');
  const tables = run.tables.filter((data) => data !== figures);
  const subject = figures ? 'Requests' : 'Subscribers';
  const { observers } = run;
  const spectrum = spectrumPlot([run]);
  const times = (run.plots.length > 0 ? run.plots : observers.plots).flatMap((plot) => [plot.times[0] ?? 0, plot.times[plot.times.length - 1] ?? 0]);
  const span: [number, number] = [Math.min(0, ...times), Math.max(...times)];
  return h(
    'div',
    { class: 'run' },
    !isOnly && summaryLine(run),
    !isOnly && run.notice && h('p', { class: 'notice' }, run.notice),
    !isOnly && verdict(run.verdict),
    !isOnly && claims(run),
    figures && section(isOnly ? 'Figures' : 'Figures of this run', 'figures', table({ ...figures, title: 'Steady state beside the whole run' })),
    run.plots.length > 0 && section('Over time', 'time', ...run.plots.map((plot) => timePlot(plot, run.windows, group, false, span))),
    (observers.plots.length > 0 || observers.figures || observers.faults.length > 0) &&
      section(
        'Observed meanwhile',
        'observed',
        ...observers.faults.map((fault) => h('p', { class: 'notice' }, fault)),
        ...observers.plots.map((plot) => timePlot(plot, run.windows, group, true, span)),
        observers.figures && table(observers.figures),
      ),
    (spectrum || run.histograms.length > 0) &&
      section(
        'How latencies are spread',
        'latency',
        spectrum,
        h('div', { class: 'pair' }, ...run.histograms.map(histogramPlot)),
      ),
    tables.length > 0 && section(subject, 'requests', ...tables.map(table)),
    section('What was run', 'facts', h('dl', {}, ...facts(run))),
  );
}

function facts(run: RunData): HTMLElement[] {
  const file: [string, string] = ['result file', run.file];
  return [...run.facts, file].flatMap(([term, what]) => [h('dt', {}, term), h('dd', {}, what)]);
}

function foot(page: PageData): HTMLElement {
  return h(
    'footer',
    {},
    h('p', {}, 'Drag over a plot to zoom, double-click to see all; on the keyboard: arrow keys, + and −, Escape.'),
    h('p', {}, `Written by prony ${page.version}. ${page.samples ? elapsed : 'Response time counts from when a request was due, service time from when it was sent.'}`),
  );
}

/** Paper is light. */
function forPrint(): void {
  let was: string | null = null;
  addEventListener('beforeprint', () => {
    was = theme();
    if (was === 'dark') switchTheme();
  });
  addEventListener('afterprint', () => was !== null && was !== theme() && switchTheme());
}
