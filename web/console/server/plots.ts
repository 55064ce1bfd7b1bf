// The plots of the server's panel: each value against the time of day, over the last minutes.
import { chart, type Chart, type Line } from '../../shared/chart';
import { setSpan } from '../../shared/chart-group';
import { quantile, rate, sum, type Snapshot } from './metrics';

const OUTCOMES: [name: string, outcome: string][] = [
  ['success', 'success'],
  ['errors of fields', 'field_errors'],
  ['refused', 'refused'],
  ['bad requests', 'bad_request'],
];
const HEIGHT = 130;

type Between = (before: Snapshot, after: Snapshot) => number | null;

export interface Figure {
  name: string;
  unit: Line['unit'];
  value: number | null;
}

const MS = 1000;
const requests = (outcome?: string): Between => (before, after) => rate(before, after, 'prony_graphql_requests_total', outcome ? { outcome } : {});
const latency = (share: number): Between => (before, after) => {
  const seconds = quantile(before, after, 'prony_stage_seconds', { stage: 'all' }, share);
  return seconds === null ? null : seconds * MS;
};
const now = (name: string): Between => (_, after) => sum(after, name);

interface Plot {
  title: string;
  description: string;
  note?: string;
  unit: Line['unit'];
  yName?: string;
  lines: { name: string; role: string; value: Between; place?: number }[];
}

const PLOTS: Plot[] = [
  {
    title: 'GraphQL requests',
    description: 'Requests a second by their outcome',
    unit: 'per_second',
    yName: 'requests a second',
    lines: OUTCOMES.map(([name, outcome], place) => ({ name, role: 'value', value: requests(outcome), place })),
  },
  {
    title: 'Time in the server',
    description: 'Quantiles of the time that requests take',
    note: 'read from buckets a factor of two wide',
    unit: 'milliseconds',
    lines: [
      { name: 'p50', role: 'p50', value: latency(0.5) },
      { name: 'p99', role: 'p99', value: latency(0.99) },
    ],
  },
  {
    title: 'Connections and subscriptions',
    description: 'Open connections and open subscriptions',
    unit: 'count',
    yName: 'open at a time',
    lines: [
      { name: 'connections', role: 'value', value: now('prony_connections'), place: 0 },
      { name: 'subscriptions', role: 'value', value: now('prony_subscriptions'), place: 2 },
    ],
  },
  {
    title: 'Memory',
    description: 'Memory of the process',
    unit: 'bytes',
    yName: 'resident memory',
    lines: [{ name: 'resident', role: 'value', value: now('process_resident_memory_bytes'), place: 0 }],
  },
];

const GROUP = 'server';
/** Seconds that the axis of time has at least. */
const SPAN_MIN_S = 30;

/** The plots of what was seen. */
export function plots(history: Snapshot[]): HTMLElement[] {
  const [from, to] = span(history);
  setSpan(GROUP, [from, to]);
  const pools = history.at(-1)?.samples.get('prony_postgres_connections') ?? [];
  return [...PLOTS, ...pools.map(({ labels }) => pool(labels.source ?? ''))].map((plot) => drawn(plot, history));
}

function span(history: Snapshot[]): [from: number, to: number] {
  const to = Math.round(history.at(-1)?.unix_s ?? 0);
  return [Math.min(Math.round(history[1]?.unix_s ?? to), to - SPAN_MIN_S), to];
}

function pool(source: string): Plot {
  const of = (name: string): Between => (_, after) => sum(after, name, { source });
  return {
    title: `Pool of ${source}`,
    description: `Connections to the database of ${source}`,
    unit: 'count',
    yName: 'connections, requests',
    lines: [
      { name: 'open', role: 'value', value: of('prony_postgres_connections'), place: 0 },
      { name: 'at most', role: 'asked', value: of('prony_postgres_connections_max') },
      { name: 'waiting requests', role: 'value', value: of('prony_postgres_waiting'), place: 1 },
    ],
  };
}

function drawn({ title, description, note, unit, yName, lines }: Plot, history: Snapshot[]): HTMLElement {
  const pairs = history.slice(1).map((after, place): [Snapshot, Snapshot] => [history[place]!, after]);
  const [from] = span(history);
  // So that the axis begins there, before there are values.
  const begin = from < Math.round(pairs[0]?.[1].unix_s ?? from) ? [from] : [];
  const spec: Chart = {
    title,
    description,
    note,
    unit,
    yName,
    height: HEIGHT,
    x: [...begin, ...pairs.map(([, after]) => Math.round(after.unix_s))],
    lines: lines.map(({ name, role, value, place }) => ({ name, role, unit, place, values: [...begin.map(() => null), ...pairs.map(([before, after]) => value(before, after))] })),
    xLabel: clock,
    xSplits: ticks,
    xName: 'time of day',
    group: GROUP,
    key: title,
  };
  return chart(spec);
}

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300];
/** Pixels that the time of day takes. */
const TICK_WIDTH = 70;

/** Round times of day that have room beside each other, and none that the edge would cut. */
function ticks(min: number, max: number, width: number): number[] {
  const pixels = Math.max(width - TICK_WIDTH, 1) / Math.max(max - min, 1);
  const step = STEPS.find((seconds) => seconds * pixels >= TICK_WIDTH) ?? STEPS.at(-1)!;
  const margin = TICK_WIDTH / 3 / pixels;
  const found: number[] = [];
  for (let at = Math.ceil(min / step) * step; at <= max - margin; at += step) found.push(at);
  return found;
}

function clock(unix_s: number): string {
  return new Date(unix_s * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
}

/** The values of the last two seconds. */
export function figures(history: Snapshot[]): Figure[] {
  const [before, after] = history.slice(-2);
  if (!before || !after) return [];
  return [
    { name: 'requests', unit: 'per_second', value: requests()(before, after) },
    { name: 'p50', unit: 'milliseconds', value: latency(0.5)(before, after) },
    { name: 'p99', unit: 'milliseconds', value: latency(0.99)(before, after) },
    { name: 'connections', unit: 'count', value: sum(after, 'prony_connections') },
    { name: 'subscriptions', unit: 'count', value: sum(after, 'prony_subscriptions') },
    { name: 'memory', unit: 'bytes', value: sum(after, 'process_resident_memory_bytes') },
  ];
}
