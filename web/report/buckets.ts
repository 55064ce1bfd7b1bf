// Latencies by interval: where buckets begin (as lab/model/src/result/over_time.rs has them), what lies in a part of the
// run, and its percentiles.
import type { OverTimeData } from './data';

const perDoubling = 16;
/** A percentile is shown only where at least so many samples lie beyond it, as everywhere. */
const beyondMin = 5;

/** In milliseconds; it ends where the next one begins. */
export function bucketFrom(bucket: number): number {
  if (bucket < perDoubling) return bucket / 1e3;
  return ((perDoubling + (bucket % perDoubling)) * 2 ** (Math.floor(bucket / perDoubling) - 1)) / 1e3;
}

/** Those of which the greater part lies between two times; at least one. */
export function intervalsIn(data: OverTimeData, from: number, to: number): [first: number, end: number] {
  const count = data.latencies.length;
  const first = Math.min(Math.max(Math.round(from / data.interval_s), 0), count - 1);
  return [first, Math.min(Math.max(Math.round(to / data.interval_s), first + 1), count)];
}

/** All of these intervals together: a count for each bucket, the first of which is named. */
export function together(data: OverTimeData, first: number, end: number): { from: number; counts: number[] } {
  const parts = data.latencies.slice(first, end).filter((part) => part.length > 1);
  if (parts.length === 0) return { from: 0, counts: [] };
  const from = parts.reduce((low, part) => Math.min(low, part[0]!), Infinity);
  const to = parts.reduce((high, part) => Math.max(high, part[0]! + part.length - 1), 0);
  const counts = new Array<number>(to - from).fill(0);
  for (const part of parts) {
    for (let index = 1; index < part.length; index += 1) counts[part[0]! - from + index - 1]! += part[index]!;
  }
  return { from, counts };
}

export const sum = (counts: number[]): number => counts.reduce((left, right) => left + right, 0);

/** In milliseconds, the middle of its bucket; nothing where too few samples lie beyond it. */
export function percentile({ from, counts }: { from: number; counts: number[] }, percent: number, isOfFew = false): number | null {
  const all = sum(counts);
  if (all === 0 || (!isOfFew && (all * (100 - percent)) / 100 + 1e-9 < beyondMin)) return null;
  const rank = Math.max(1, Math.ceil((all * percent) / 100 - 1e-9));
  let upTo = 0;
  const index = counts.findIndex((count) => (upTo += count) >= rank);
  return (bucketFrom(from + index) + bucketFrom(from + index + 1)) / 2;
}
