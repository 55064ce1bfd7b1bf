// What is looked at: it stands in the page's address, so that a link shows the same.

export interface Choice {
  tenant: string;
  type: string;
  entity: string;
  attribute: string;
  /** A name out of [`RANGES`], or `between` with the two moments. */
  range: string;
  from: string;
  to: string;
  unit: string;
  isLive: boolean;
}

/** How much is shown before the last value, in milliseconds. */
export const RANGES: [name: string, text: string, ms: number][] = [
  ['hour', 'last hour', 3_600_000],
  ['6-hours', 'last 6 hours', 21_600_000],
  ['day', 'last day', 86_400_000],
  ['week', 'last week', 604_800_000],
  ['month', 'last 30 days', 2_592_000_000],
  ['year', 'last year', 31_622_400_000],
  ['all', 'all', Infinity],
];

export function readChoice(): Choice {
  const link = new URLSearchParams(window.location.search);
  const said = (name: string) => link.get(name) ?? '';
  return {
    tenant: said('tenant'),
    type: said('type'),
    entity: said('entity'),
    attribute: said('attribute'),
    range: said('range') || 'day',
    from: said('from'),
    to: said('to'),
    unit: said('unit'),
    isLive: said('live') === 'true',
  };
}

export function writeChoice({ isLive, ...choice }: Choice): void {
  const said = Object.entries({ ...choice, live: isLive ? 'true' : '' }).filter(([, text]) => text !== '');
  window.history.replaceState(null, '', `?${new URLSearchParams(said)}`);
}

/** From which moment to which, in milliseconds since 1970, of an attribute whose values are between two moments. */
export function span(choice: Choice, first: number, last: number): [from: number, to: number] {
  if (choice.range === 'between') {
    const at = (text: string, otherwise: number) => (Number.isNaN(Date.parse(text)) ? otherwise : Date.parse(text));
    return [at(choice.from, first), at(choice.to, last)];
  }
  const ms = RANGES.find(([name]) => name === choice.range)?.[2] ?? Infinity;
  return [Math.max(last - ms, first), last];
}
