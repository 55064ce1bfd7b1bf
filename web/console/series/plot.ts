// The values of an attribute as a plot, as a sentence and as a table.
import { chart } from '../../shared/chart';
import { h } from '../../shared/dom';
import { grouped } from '../../shared/format';
import { table } from '../../shared/tables';
import type { Points } from './rows';
import { moment, tick, ticks, zone } from './time';

/** Rows of the table: the last ones. */
const ROWS_MAX = 500;
const DIGITS = 6;

/** What periods are called. */
const PERIOD_NAMES: Record<string, string> = {
  PT1S: 'a second',
  PT5S: '5 seconds',
  PT15S: '15 seconds',
  PT1M: 'a minute',
  PT5M: '5 minutes',
  PT15M: '15 minutes',
  PT1H: 'an hour',
  PT6H: '6 hours',
  P1D: 'a day',
  P7D: '7 days',
  P1M: 'a month',
  P1Y: 'a year',
  P10Y: '10 years',
};

export interface Subject {
  entity: string;
  attribute: string;
  unit: string;
}

/** A value with its unit, as exact as it is told apart. */
function text(value: number, unit: string): string {
  const size = Math.abs(value);
  const plain = size !== 0 && (size >= 1e15 || size < 1e-6) ? value.toPrecision(DIGITS) : grouped(Number(value.toPrecision(12)));
  return unit ? `${plain} ${unit}` : plain;
}

/** What the values are, in one sentence. */
export function sentence({ unit }: Subject, { times, values, lows, highs, count, period }: Points): string {
  const last = values.length - 1;
  if (last < 0) return 'There are no values in this range.';
  const low = (lows ?? values).reduce((one, other) => Math.min(one, other));
  const high = (highs ?? values).reduce((one, other) => Math.max(one, other));
  const number = count === 1 ? 'One value' : `${grouped(count)} values`;
  const made = period ? ` (shown as averages of ${PERIOD_NAMES[period]})` : '';
  const span = low === high ? text(low, unit) : `${text(low, unit)} to ${text(high, unit)}`;
  const ended = period ? '' : `; the last is ${text(values[last]!, unit)}, ${moment(times[last]!)}`;
  return `${number}${made}, ${span}${ended}.`;
}

export function plot(subject: Subject, points: Points): HTMLElement {
  const { attribute, entity, unit } = subject;
  const { times, values, lows, highs, period } = points;
  const line = (name: string, of: number[], place: number, dash?: number[]) => ({
    name,
    role: 'value',
    unit: 'count' as const,
    values: of,
    place,
    ...(dash && { dash }),
  });
  return chart({
    title: attribute,
    level: 2,
    note: period ? `averages of ${PERIOD_NAMES[period]}, with the lowest and the highest` : undefined,
    description: `${attribute} of ${entity}. ${sentence(subject, points)}`,
    x: times,
    lines: [
      line(period ? 'average' : attribute, values, 0),
      ...(lows && highs ? [line('highest', highs, 1, [2, 3]), line('lowest', lows, 2, [2, 3])] : []),
    ],
    unit: 'count',
    height: 320,
    isLoose: true,
    xLabel: moment,
    xTick: tick,
    xSplits: ticks,
    xName: `time (${zone()})`,
    yName: unit ? `${attribute} (${unit})` : attribute,
    yText: (value) => text(value, unit),
  });
}

/** The last values, for who cannot see the plot, and for who wants them exactly. */
export function valueTable({ attribute, unit }: Subject, { times, values, lows, highs, period }: Points): HTMLElement {
  const from = Math.max(0, values.length - ROWS_MAX);
  const rows = values.slice(from).map((value, place) => {
    const cells = [value, ...(lows && highs ? [lows[from + place]!, highs[from + place]!] : [])];
    return [moment(times[from + place]!), ...cells.map((cell) => text(cell, unit))];
  });
  return table({
    id: 'values',
    title: 'Values',
    note: from > 0 ? `the last ${ROWS_MAX} of ${grouped(values.length)}, the latest first` : 'the latest first',
    head: [`time (${zone()})`, ...(period ? ['average', 'lowest', 'highest'] : [attribute])],
    rows: rows.reverse(),
  });
}

/** A sentence in the place of a plot. */
export function nothing(words: string): HTMLElement {
  return h('p', { class: 'notice' }, words);
}
