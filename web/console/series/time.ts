// Moments in the zone of who looks: as text, and as the round ones at which an axis has ticks.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Years are taken as long enough that no axis has more ticks than wanted. */
const MONTH = 31 * DAY;
const YEAR = 366 * DAY;

/** What ticks can be apart, the closest first: milliseconds of which a day has a whole number, or days, months, years. */
const STEPS: [ms: number, unit: 'clock' | 'days' | 'months' | 'years', count: number][] = [
  ...[1, 2, 5, 10, 15, 30].map((count) => [count * SECOND, 'clock', count * SECOND] as [number, 'clock', number]),
  ...[1, 2, 5, 10, 15, 30].map((count) => [count * MINUTE, 'clock', count * MINUTE] as [number, 'clock', number]),
  ...[1, 2, 3, 6, 12].map((count) => [count * HOUR, 'clock', count * HOUR] as [number, 'clock', number]),
  ...[1, 2, 7, 14].map((count) => [count * DAY, 'days', count] as [number, 'days', number]),
  ...[1, 3, 6].map((count) => [count * MONTH, 'months', count] as [number, 'months', number]),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].map((count) => [count * YEAR, 'years', count] as [number, 'years', number]),
];

const pad = (number: number, length = 2) => String(number).padStart(length, '0');

export function day(at: Date): string {
  return `${pad(at.getFullYear(), 4)}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
}

function clock(at: Date, withSeconds: boolean): string {
  const text = `${pad(at.getHours())}:${pad(at.getMinutes())}`;
  return withSeconds ? `${text}:${pad(at.getSeconds())}` : text;
}

/** `2024-05-06 07:08:09`, with milliseconds where there are some. */
export function moment(seconds: number): string {
  const at = new Date(seconds * 1000);
  const ms = at.getMilliseconds();
  return `${day(at)} ${clock(at, true)}${ms ? `.${pad(ms, 3)}` : ''}`;
}

/** For a field of the type `datetime-local`. */
export function local(ms: number): string {
  const at = new Date(ms);
  return `${day(at)}T${clock(at, true)}`;
}

/** The zone's name. */
export function zone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Round moments between two, in seconds, no more than there is room for. */
export function ticks(min: number, max: number, width: number): number[] {
  const [from, to] = [min * 1000, max * 1000];
  const wanted = Math.max(2, Math.floor(width / 110));
  const [, unit, count] = STEPS.find(([ms]) => (to - from) / ms <= wanted) ?? STEPS[STEPS.length - 1]!;
  const found: number[] = [];
  for (let at = first(from, unit, count); at <= to && found.length < 100; at = next(at, unit, count)) {
    if (at >= from) found.push(at / 1000);
  }
  return found;
}

/** The last round moment that is not behind this one. */
function first(ms: number, unit: string, count: number): number {
  const at = new Date(ms);
  const midnight = new Date(ms);
  midnight.setHours(0, 0, 0, 0);
  if (unit === 'clock') return midnight.getTime() + Math.floor((ms - midnight.getTime()) / count) * count;
  if (unit === 'days') {
    midnight.setDate(Math.floor((at.getDate() - 1) / count) * count + 1);
  } else if (unit === 'months') {
    midnight.setMonth(Math.floor(at.getMonth() / count) * count, 1);
  } else {
    midnight.setFullYear(Math.floor(at.getFullYear() / count) * count, 0, 1);
  }
  return midnight.getTime();
}

function next(ms: number, unit: string, count: number): number {
  const at = new Date(ms);
  if (unit === 'clock') return ms + count;
  if (unit === 'days') {
    const month = at.getMonth();
    at.setDate(at.getDate() + count);
    // Days are counted from the first of each month, so that ticks stay when the plot moves; the last step of a month is not a short one.
    if (at.getMonth() !== month) at.setDate(1);
    else if (count > 1 && at.getDate() > 28) at.setMonth(month + 1, 1);
  } else if (unit === 'months') {
    at.setMonth(at.getMonth() + count);
  } else {
    at.setFullYear(at.getFullYear() + count);
  }
  return at.getTime();
}

/** A tick's text: what has changed since the one before it, in the largest unit. */
export function tick(seconds: number): string {
  const at = new Date(seconds * 1000);
  if (at.getHours() || at.getMinutes() || at.getSeconds()) return clock(at, at.getSeconds() !== 0);
  if (at.getDate() !== 1) return day(at).slice(5);
  return at.getMonth() === 0 ? pad(at.getFullYear(), 4) : day(at).slice(0, 7);
}
