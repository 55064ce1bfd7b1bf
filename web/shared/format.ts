// Numbers and times as the terminal's summary writes them.
export type Unit = 'per_second' | 'milliseconds' | 'count' | 'bytes' | 'bytes_per_second' | 'processors' | 'share';

/** Looks like the terminal's, and does not break at the end of a line. */
const space = '\u00a0';

/** With a space between groups of three digits. */
export function grouped(value: number): string {
  const [whole = '', part] = Math.abs(value).toString().split('.');
  const digits = whole.includes('e') ? whole : whole.replace(/\B(?=(\d{3})+$)/g, space);
  return (value < 0 ? '−' : '') + digits + (part ? `.${part}` : '');
}

/** Three significant digits in the largest unit that is not below one. */
export function milliseconds(ms: number): string {
  if (ms === 0) return '0 ms';
  const [value, unit] = ms < 0.9995 ? [ms * 1e3, 'µs'] : ms < 999.5 ? [ms, 'ms'] : [ms / 1e3, 's'];
  return `${significant(value)} ${unit}`;
}

export function significant(value: number): string {
  const size = Math.abs(value);
  if (size >= 99.95) return grouped(Math.round(value));
  return value.toFixed(size < 9.995 ? 2 : 1);
}

function scaled(value: number, units: [string, number][]): string {
  const found = units.find(([, size]) => Math.abs(value) >= size);
  return found ? `${significant(value / found[1])} ${found[0]}` : significant(value);
}

/** A date with its time of day, in UTC. */
export function utc(unixMs: number): string {
  return new Date(unixMs).toISOString().replace('T', ' ').replace(/\.\d+Z/, ' UTC');
}

/** A moment of a run: seconds, or hours and minutes where it is long. */
export function moment(seconds: number): string {
  const sign = seconds < 0 ? '−' : '';
  const size = Math.abs(seconds);
  if (size < 60) return `${sign}${Number(size.toFixed(size < 10 ? 2 : 1))} s`;
  const whole = Math.round(size);
  const pad = (number: number) => String(number).padStart(2, '0');
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  if (hours > 0) return `${sign}${hours}h${minutes || rest ? `${pad(minutes)}m` : ''}${rest ? `${pad(rest)}s` : ''}`;
  return `${sign}${minutes}m${rest ? `${pad(rest)}s` : ''}`;
}

/** One decimal, as rates have everywhere. */
function decimal(value: number): string {
  const tenths = Math.round(value * 10);
  return `${grouped(Math.trunc(tenths / 10))}.${Math.abs(tenths % 10)}`;
}

function bytes(value: number): string {
  return value < 1e3 ? `${Math.round(value)} B` : scaled(value, [['GB', 1e9], ['MB', 1e6], ['kB', 1e3]]);
}

/** A value with its unit. */
export function shown(value: number | null | undefined, unit: Unit): string {
  if (value === null || value === undefined) return '–';
  switch (unit) {
    case 'milliseconds':
      return milliseconds(value);
    case 'per_second':
      return `${decimal(value)}/s`;
    case 'bytes':
      return bytes(value);
    case 'bytes_per_second':
      return `${bytes(value)}/s`;
    case 'share':
      return `${(value * 100).toFixed(2)} %`;
    case 'processors':
      return `${value.toFixed(2)} processors`;
    case 'count':
      return Number.isInteger(value) ? grouped(value) : significant(value);
  }
}

/** Short, for the ticks of an axis. */
export function tick(value: number, unit: Unit): string {
  if (value === 0) return '0';
  const plain = (number: number) => grouped(Number(number.toPrecision(6)));
  switch (unit) {
    case 'milliseconds':
      return Math.abs(value) >= 1e3 ? `${plain(value / 1e3)} s` : Math.abs(value) < 1 ? `${plain(value * 1e3)} µs` : `${plain(value)} ms`;
    case 'bytes':
    case 'bytes_per_second':
    case 'per_second':
    case 'count': {
      const isBytes = unit === 'bytes' || unit === 'bytes_per_second';
      const each = unit === 'per_second' || unit === 'bytes_per_second' ? '/s' : '';
      for (const [name, size] of [['G', 1e9], ['M', 1e6], ['k', 1e3]] as const) {
        if (Math.abs(value) >= size * (isBytes ? 1 : 10)) return `${plain(value / size)} ${name}${isBytes ? 'B' : ''}${each}`;
      }
      return plain(value) + (isBytes ? ' B' : '') + each;
    }
    case 'share':
      return `${plain(value * 100)} %`;
    case 'processors':
      return plain(value);
  }
}

/** What stands beside an axis. Of counts it is what is counted. */
export function axisName(unit: Unit, lines: string[]): string {
  return unit === 'count' ? [...new Set(lines)].join(', ') : unitNames[unit];
}

const unitNames: Record<Exclude<Unit, 'count'>, string> = {
  milliseconds: 'time',
  per_second: 'a second',
  bytes: 'bytes',
  bytes_per_second: 'bytes a second',
  share: 'share',
  processors: 'processors',
};
