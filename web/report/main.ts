// The report of one or several results. What it shows, and in which order, is all here; the parts draw themselves.
import 'uplot/dist/uPlot.min.css';
import '../shared/page.css';
import './plots.css';
import './report.css';

import { bar } from '../shared/bar';
import { type Child, h, section } from '../shared/dom';
import { renew, startRenewing } from '../shared/renew';
import { table } from '../shared/tables';
import { startTheme, switchTheme, theme } from '../shared/theme';
import { comparisonSection } from './comparison';
import type { PageData } from './data';
import { liveRun } from './live';
import { navigation } from './nav';
import { chooser, details } from './run';
import { sampleSections } from './samples';
import { searchSection } from './search';
import { besideEachOther } from './sides';
import { studySections, studyTop } from './study';
import { claims, findings, heading, thresholds, verdict } from './top';

const elapsed = "Response time is JMeter's elapsed time: from the moment before a request is sent to its last byte, and not from when it was due.";

const place = document.getElementById('report');
const text = document.getElementById('data')?.textContent;
if (!place || !text) throw new Error('the page lacks its place or its data');
const page = JSON.parse(text) as PageData;

startTheme();
const main = h('main', {});
const sections = navigation(main);
if (page.live) startRenewing();
draw(page);
place.append(bar('Prony'), ...(page.live ? [liveRun(page, draw)] : []), sections.element, main, foot(page));
forPrint();

/** At first, and then each time that there is more. */
function draw(page: PageData): void {
  renew(main, () => contents(page).filter((part): part is Node => part instanceof Node));
  sections.refresh();
}

function contents(page: PageData): Child[] {
  const several = page.runs.length > 1;
  const only = several ? undefined : page.runs[0];
  return [
    top(page),
    ...(page.study ? studySections(page.study) : []),
    ...(page.samples ? sampleSections(page.samples) : []),
    page.search && searchSection(page.search),
    page.comparison && comparisonSection(page.comparison),
    several && !page.study && besideEachOther(page),
    page.side_by_side && section('Figures', 'figures', table(page.side_by_side)),
    several ? chooser(page.runs, () => sections.refresh()) : only ? details(only, true) : null,
  ];
}

/** The verdict and the figures, and beside them the findings. */
function top(page: PageData): HTMLElement {
  const only = page.runs.length === 1 ? page.runs[0] : undefined;
  const found = findings(page.runs);
  return h(
    'div',
    { class: found ? 'top with-findings' : 'top' },
    h(
      'div',
      { class: 'first' },
      heading(page),
      verdict(page.verdict ?? only?.verdict),
      ...(page.conclusions ?? []).map(verdict),
      only && !page.verdict ? claims(only) : null,
      thresholds(page.runs),
      ...(page.study ? studyTop(page.study) : []),
    ),
    found,
  );
}

function foot(page: PageData): HTMLElement {
  return h(
    'footer',
    {},
    h('p', {}, 'Drag over a plot to choose a part of the run, double-click to see all; on the keyboard: arrow keys, + and −, Escape.'),
    h('p', {}, `Written by prony ${page.version}. ${page.samples ? elapsed : 'Response time counts from when a request was due, service time from when it was sent.'}`),
  );
}

/** Paper is light, and nothing on it can be unfolded. */
function forPrint(): void {
  let was: string | null = null;
  let folded: HTMLDetailsElement[] = [];
  addEventListener('beforeprint', () => {
    was = theme();
    if (was === 'dark') switchTheme();
    folded = [...document.querySelectorAll('details')].filter((part) => !part.open);
    folded.forEach((part) => (part.open = true));
  });
  addEventListener('afterprint', () => {
    if (was !== null && was !== theme()) switchTheme();
    folded.forEach((part) => (part.open = false));
  });
}
