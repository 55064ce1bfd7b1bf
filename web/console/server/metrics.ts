// The server's metrics: read from OpenMetrics' text, and what two of them that follow each other say of the time between.

export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** All samples of one moment, by their names. */
export interface Snapshot {
  unix_s: number;
  samples: Map<string, Sample[]>;
}

const LINE = /^([A-Za-z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const LABEL = /([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPED: Record<string, string> = { n: '\n' };

export function read(text: string, unix_s: number): Snapshot {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split('\n')) {
    const found = line.startsWith('#') ? null : LINE.exec(line);
    if (!found) continue;
    const labels: Record<string, string> = {};
    for (const [, name, value] of (found[2] ?? '').matchAll(LABEL)) labels[name!] = value!.replace(/\\(.)/g, (_, letter: string) => ESCAPED[letter] ?? letter);
    const sample = { name: found[1]!, labels, value: Number(found[3]) };
    samples.set(sample.name, [...(samples.get(sample.name) ?? []), sample]);
  }
  return { unix_s, samples };
}

/** The sum of the samples of a name whose labels have these values; null where there is none. */
export function sum({ samples }: Snapshot, name: string, labels: Record<string, string> = {}): number | null {
  const fits = (sample: Sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
  const found = (samples.get(name) ?? []).filter(fits);
  return found.length > 0 ? found.reduce((total, { value }) => total + value, 0) : null;
}

/** How much a counter grows a second; null where it is not there, or the server has started anew. */
export function rate(before: Snapshot, after: Snapshot, name: string, labels: Record<string, string> = {}): number | null {
  const [from, to, seconds] = [sum(before, name, labels), sum(after, name, labels), after.unix_s - before.unix_s];
  if (to === null || seconds <= 0) return null;
  return to >= (from ?? 0) ? (to - (from ?? 0)) / seconds : null;
}

/** A quantile, in seconds, of what a histogram has counted between two moments; null where that is nothing. */
export function quantile(before: Snapshot, after: Snapshot, name: string, labels: Record<string, string>, share: number): number | null {
  const counted = (snapshot: Snapshot) => {
    const fits = (sample: Sample) => Object.entries(labels).every(([label, value]) => sample.labels[label] === value);
    const buckets = (snapshot.samples.get(`${name}_bucket`) ?? []).filter(fits);
    return new Map(buckets.map(({ labels: { le = '' }, value }) => [le === '+Inf' ? Infinity : Number(le), value]));
  };
  const [earlier, later] = [counted(before), counted(after)];
  const bounds = [...later.keys()].sort((one, other) => one - other);
  const passed = bounds.map((bound) => (later.get(bound) ?? 0) - (earlier.get(bound) ?? 0));
  const all = passed.at(-1) ?? 0;
  if (all <= 0) return null;
  const place = passed.findIndex((count) => count >= all * share);
  const [low, high] = [place > 0 ? bounds[place - 1]! : 0, bounds[place]!];
  if (high === Infinity) return low;
  const below = place > 0 ? passed[place - 1]! : 0;
  const within = passed[place]! - below;
  return low + (high - low) * (within > 0 ? (all * share - below) / within : 1);
}
