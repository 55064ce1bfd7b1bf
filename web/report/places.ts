// Which colour of the palette a run has among several.
import type { RunData } from './data';

/** A and B of a comparison have two colours, however many runs there are of each. */
export function placeOf(runs: Pick<RunData, 'label'>[], index: number): number {
  const sides = runs.map(({ label }) => /^([AB])( #\d+)?$/.exec(label)?.[1]);
  return sides.every(Boolean) ? (sides[index] === 'B' ? 1 : 0) : index;
}
