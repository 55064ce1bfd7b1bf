// The number that a cell of a table shows, so that rows can be sorted by it.

const units: Record<string, number> = {
  'µs': 1e-6,
  ms: 1e-3,
  s: 1,
  m: 60,
  h: 3600,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
};

/** Nothing where the text is no number: `1 234`, `12.3 ms`, `1m30s`, `0.50 %`, `4.5 kB/s`. */
export function amount(text: string): number | null {
  const plain = text.replace(/[\s\u00a0]/g, '').replace('−', '-').replace(/\/s$/, '');
  const parts = [...plain.matchAll(/(-?\d+(?:\.\d+)?)(µs|ms|kB|MB|GB|TB|[smhB%]|)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== plain) return null;
  return parts.reduce((sum, [, number, unit = '']) => sum + Number(number) * (units[unit] ?? 1), 0);
}
