// What a reader wants to know first: what was run, its verdict and its figures, and beside these the findings.
import { h, section } from '../shared/dom';
import { utc } from '../shared/format';
import type { FindingData, PageData, RunData, ThresholdData, VerdictData } from './data';
import { jumpButton } from './jump';

/** Of more runs that have a finding in a part of them, the first ones have a button. */
const jumpsMax = 6;
/** Thresholds of more rows than these, of several runs, would stand between a reader and what the page comes to. */
const openMax = 8;

const judgements = { kept: '✓ kept', failed: '✗ failed', undecided: '? undecided', void: '– void' };

export function heading(page: PageData): HTMLElement {
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
export function verdict(data: VerdictData | null | undefined): HTMLElement | null {
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

export function summaryLine(run: RunData): HTMLElement {
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
export function findings(runs: RunData[]): HTMLElement | null {
  const kinds = new Map<string, { finding: FindingData; labels: string[]; jumps: HTMLElement[] }>();
  for (const run of runs) {
    for (const finding of run.findings) {
      const known = kinds.get(finding.kind) ?? { finding, labels: [], jumps: [] };
      kinds.set(finding.kind, known);
      known.labels.push(run.label);
      if (finding.span_s && run.plots.length > 0) known.jumps.push(jumpButton(run.label, finding.span_s, runs.length === 1));
    }
  }
  if (kinds.size === 0) return null;
  const where = (labels: string[]) =>
    runs.length === 1 ? null : labels.length <= 3 ? labels.join(', ') : `in ${labels.length} of ${runs.length} runs`;
  const shown = [...kinds.values()].sort((left, right) => Number(right.finding.voids) - Number(left.finding.voids));
  return section('Findings', 'findings', ...shown.map(({ finding, labels, jumps }) => card(finding, where(labels), jumps.slice(0, jumpsMax))));
}

function card(finding: FindingData, where: string | null, jumps: HTMLElement[]): HTMLElement {
  return h(
    'article',
    { class: finding.voids ? 'finding voids' : 'finding', 'data-key': finding.kind },
    h(
      'h3',
      {},
      h('span', { class: 'kind' }, finding.kind),
      finding.weight !== '' && h('span', { class: 'mark' }, finding.voids ? 'voids the figures' : finding.weight),
      where !== null && h('span', { class: 'note' }, where),
    ),
    h('p', { class: 'seen' }, finding.seen),
    jumps.length > 0 && h('div', { class: 'jumps' }, ...jumps),
    h(
      'details',
      { open: finding.voids },
      h('summary', {}, 'Cause, and what to try'),
      h('dl', {}, h('dt', {}, 'Cause'), h('dd', {}, finding.cause), h('dt', {}, 'Try'), h('dd', {}, finding.try_next)),
    ),
  );
}

export function thresholds(runs: RunData[]): HTMLElement | null {
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
  if (rows.length === 0) return null;
  const list = h('ul', { class: runs.length > 1 ? 'several' : 'one' }, ...rows);
  if (runs.length === 1 || rows.length <= openMax) return section('Thresholds', 'thresholds', list);
  return section('Thresholds', 'thresholds', h('details', {}, h('summary', {}, counted(runs)), list));
}

/** How often each judgement was made, and in how many runs. */
function counted(runs: RunData[]): string {
  const all = runs.flatMap((run) => run.thresholds);
  const parts = (Object.keys(judgements) as ThresholdData['judgement'][])
    .map((judgement) => ({ judgement, count: all.filter((threshold) => threshold.judgement === judgement).length }))
    .filter(({ count }) => count > 0)
    .map(({ judgement, count }) => `${count} ${judgement}`);
  return `${parts.join(', ')}, in ${runs.filter((run) => run.thresholds.length > 0).length} runs`;
}

export function claims(run: RunData): HTMLElement {
  if (run.claims.length === 0) {
    const why = run.findings.some((finding) => finding.voids)
      ? 'The figures of this run are not about the target: a finding voids them.'
      : 'There is nothing to claim.';
    return h('p', { class: 'answer void' }, why);
  }
  const tiles = run.claims.map((claim) =>
    h('div', {}, h('dt', {}, claim.term), h('dd', {}, claim.value, h('span', { class: 'unit' }, ` ${claim.unit}`))),
  );
  return h('dl', { class: 'claims', 'aria-label': 'Headline figures' }, ...tiles);
}
