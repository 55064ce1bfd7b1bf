// How many responses were quick, slow and too slow, and how many requests failed: one bar, with its parts in words beneath.
import { h } from '../shared/dom';
import { milliseconds, shown } from '../shared/format';
import { bucketFrom } from './buckets';
import type { ObjectiveData } from './data';

/** Where no objective says what is quick, what JMeter's APDEX takes for it; tolerable is three times that. */
const quickMs = 500;
const tolerated = 3;

export interface Counts {
  from: number;
  counts: number[];
}

/** The lowest objective of a percentile. */
export function quickest(objectives: ObjectiveData[]): number {
  const times = objectives.filter(({ plot }) => plot === 'percentiles').map(({ value }) => value);
  return times.length > 0 ? Math.min(...times) : quickMs;
}

export function rangesBar({ from, counts }: Counts, failures: number, quick: number): HTMLElement | null {
  const slow = quick * tolerated;
  const up = (low: number, high: number) =>
    counts.reduce((sum, count, index) => {
      const middle = (bucketFrom(from + index) + bucketFrom(from + index + 1)) / 2;
      return middle >= low && middle < high ? sum + count : sum;
    }, 0);
  const parts: [kind: string, name: string, count: number][] = [
    ['quick', `up to ${milliseconds(quick)}`, up(0, quick)],
    ['slow', `up to ${milliseconds(slow)}`, up(quick, slow)],
    ['slower', 'slower', up(slow, Infinity)],
    ['failed', 'failed', failures],
  ];
  const all = parts.reduce((sum, [, , count]) => sum + count, 0);
  if (all === 0) return null;
  const bars = parts.map(([kind, , count]) => {
    const bar = h('span', { class: kind });
    bar.style.flexGrow = String(count / all);
    return bar;
  });
  return h(
    'div',
    { class: 'ranges' },
    h('div', { class: 'bar-of-ranges', 'aria-hidden': 'true' }, ...bars),
    h('ul', { 'aria-label': 'Response-time ranges' }, ...parts.map(([kind, name, count]) => h('li', { class: kind }, `${name} ${shown(count / all, 'share')}`))),
  );
}
