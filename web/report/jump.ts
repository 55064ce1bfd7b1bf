// From a finding to where it is marked in the plots: they show its part of the run, and some of what is around it.
import { type Range, setRange, wholeRange } from '../shared/chart-group';
import { h } from '../shared/dom';
import { moment } from '../shared/format';

/** At least so much of the run is shown before and after what is looked for. */
const aroundMinShare = 0.02;

/** How runs that stand behind tabs are chosen, by their labels. */
const choices = new Map<string, () => void>();

/** The name under which the plots of a run share cursor and zoom. Runs of a page have different labels. */
export const groupOf = (label: string): string => `run ${label}`;

export function onJump(label: string, choose: () => void): void {
  choices.set(label, choose);
}

/** A button that shows a part of a run; `isOnly`: there is no other run to tell it from. */
export function jumpButton(label: string, [from, to]: Range, isOnly: boolean): HTMLElement {
  const when = from === to ? `at ${moment(from)}` : `${moment(from)} to ${moment(to)}`;
  // A page that is drawn anew keeps the button and changes its attributes.
  const place = { 'data-run': label, 'data-from': String(from), 'data-to': String(to) };
  return h('button', { type: 'button', class: 'small jump', ...place, onclick: jump }, isOnly ? `Show in the plots: ${when}` : `${label}: ${when}`);
}

function jump(event: Event): void {
  const { run = '', from, to } = (event.currentTarget as HTMLElement).dataset;
  choices.get(run)?.();
  const whole = wholeRange(groupOf(run));
  if (whole) setRange(groupOf(run), withSurroundings([Number(from), Number(to)], whole));
  const section = document.querySelector('.run section.time');
  const events = section?.querySelector<HTMLDetailsElement>('details.events');
  if (events) events.open = true;
  section?.scrollIntoView();
  section?.querySelector<HTMLElement>('.canvas')?.focus({ preventScroll: true });
}

function withSurroundings([from, to]: Range, [first, last]: Range): Range {
  const around = Math.max((to - from) / 2, (last - first) * aroundMinShare, 1);
  return [Math.max(from - around, first), Math.min(to + around, last)];
}
