// Round numbers, for the ticks of axes.

/** The smallest of 1, 2 and 5 times a power of ten that cuts a span into so many parts at most. */
export function roundStep(span: number, partsMax: number): number {
  const power = 10 ** Math.floor(Math.log10(span / partsMax));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => span / step <= partsMax + 1e-9) ?? span;
}

/** Round numbers from zero to the highest, with few steps; `isWhole`: what is counted has no parts. */
export function roundLevels(highest: number, isWhole: boolean): number[] {
  const step = Math.max(roundStep(highest, 5), isWhole ? 1 : 0);
  return Array.from({ length: Math.floor(highest / step + 1e-9) + 1 }, (_, index) => Number((index * step).toPrecision(6)));
}
