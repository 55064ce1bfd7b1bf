// Time by percentile, on HdrHistogram's axis: as far from 90 % to 99 % as from 99 % to 99.9 %.
import uPlot from 'uplot';
import { chart, isWide, type Line } from '../shared/chart';
import type { RunData } from './data';
import { placeOf } from './places';

/** Beyond so many runs colours are no longer told apart; the table has them all. */
const runsMax = 8;
/** Of more runs, service times are left to the tables: so many lines would not be told apart. */
const withServiceMax = 3;

const usual = { title: 'Latency spectrum', of: 'successes only', named: 'run' };

/** `named`: what tells lines apart. */
export function spectrumPlot(
  runs: Pick<RunData, 'label' | 'spectra'>[],
  { title, of, named }: { title: string; of: string; named: string } = usual,
): HTMLElement | null {
  const drawn = runs.slice(0, runsMax).flatMap((run, index) =>
    run.spectra.filter(({ role }) => role !== 'service' || runs.length <= withServiceMax).map((spectrum) => ({
      spectrum,
      name: runs.length > 1 && named === 'run' ? `${run.label}, ${spectrum.name}` : spectrum.name,
      place: runs.length > 1 ? placeOf(runs, index) : spectrum.role === 'service' ? 2 : 0,
      isSecond: runs.length > 1 && spectrum.role === 'service',
    })),
  );
  if (drawn.length === 0) return null;
  const known = (part: (inverse: number, edge: number) => boolean) =>
    drawn.map(({ spectrum }) => {
      const edge = spectrum.points.findLast(([inverse]) => inverse <= spectrum.known_to)?.[0] ?? 1;
      return spectrum.points.map(([inverse, time]) => (part(inverse, edge) ? time : null));
    });
  const [near, beyond] = [known((inverse, edge) => inverse <= edge), known((inverse, edge) => inverse >= edge)];
  const tables = drawn.map(({ spectrum }, index): uPlot.AlignedData => [
    spectrum.points.map(([inverse]) => inverse),
    near[index] ?? [],
    beyond[index] ?? [],
  ]);
  const [x, ...columns] = uPlot.join(tables);
  const lines = drawn.flatMap(({ name, place, isSecond }, index): Line[] => [
    {
      name,
      role: 'run',
      place,
      unit: 'milliseconds',
      values: columns[index * 2] as (number | null)[],
      spanGaps: true,
      ...(isSecond && { dash: [8, 4] }),
    },
    {
      name: `${name}, few samples`,
      role: 'run',
      place,
      unit: 'milliseconds',
      values: columns[index * 2 + 1] as (number | null)[],
      spanGaps: true,
      dash: [2, 3],
      isPart: true,
    },
  ]);
  const left = runs.length > runsMax ? `; the first ${runsMax} of ${runs.length} runs` : '';
  return chart({
    title,
    note: `dotted: under five samples beyond${left}`,
    description: `Response time by percentile, ${of}`,
    x: x as number[],
    lines,
    unit: 'milliseconds',
    mayBeLog: true,
    isLog: isWide(lines),
    height: 300,
    xIsLog: true,
    xLabel: percentile,
    xName: 'percentile',
    xTick: percentile,
    xSplits: (_min, max) => splits(max),
  });
}

function splits(max: number): number[] {
  const found = [1, 2];
  for (let split = 10; split <= max; split *= 10) found.push(split);
  return found;
}

/** `99.9 %` for 1000. */
function percentile(inverse: number): string {
  const percent = 100 - 100 / inverse;
  const digits = Math.max(0, Math.ceil(Math.log10(inverse) - 2 - 1e-9)) + (isRound(inverse) ? 0 : 1);
  return `${Number(percent.toFixed(Math.min(digits, 8)))} %`;
}

function isRound(inverse: number): boolean {
  const log = Math.log10(inverse);
  return Math.abs(log - Math.round(log)) < 1e-9 || inverse === 2;
}
