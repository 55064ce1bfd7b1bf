// The table of requests, with a small line of what each did over time.
import { svg } from '../shared/dom';
import { grouped, milliseconds } from '../shared/format';
import { table } from '../shared/tables';
import type { OverTimeData, RequestOverTimeData, TableData } from './data';

const [width, height] = [120, 24];

export function requestTable(data: TableData, overTime: OverTimeData | null, group: string): HTMLElement {
  const found = (row: string[]) => overTime?.requests.find((request) => request.name === row[0]);
  const extra = [
    { head: 'requests over time', cell: (row: string[]) => counts(found(row)) },
    { head: 'p95 over time', cell: (row: string[]) => times(found(row)) },
  ];
  return table(data, { isSortable: true, group, extra: overTime && overTime.requests.length > 0 ? extra : [] });
}

function counts(request: RequestOverTimeData | undefined): SVGElement | null {
  if (!request) return null;
  const [failed, most] = [request.failures.reduce((left, right) => left + right, 0), Math.max(...request.ended, 1)];
  const label = `${request.name}: at most ${grouped(most)} in an interval, ${grouped(failed)} failed in all`;
  return sparkline(label, line(request.ended, most), line(request.failures, most));
}

function times(request: RequestOverTimeData | undefined): SVGElement | null {
  const known = request?.p95_ms.filter((time): time is number => time !== null) ?? [];
  if (!request || known.length === 0) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  return sparkline(`${request.name}: p95 from ${milliseconds(low)} to ${milliseconds(high)}`, line(request.p95_ms, high), null);
}

function sparkline(label: string, path: string, failures: string | null): SVGElement {
  return svg(
    'svg',
    { class: 'sparkline', viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': label },
    svg('title', {}, label),
    svg('path', { d: path }),
    failures !== null && svg('path', { d: failures, class: 'failures' }),
  );
}

/** From zero; breaks where nothing is known. */
function line(values: (number | null)[], most: number): string {
  const step = width / Math.max(values.length - 1, 1);
  let isDrawn = false;
  const parts = values.map((value, index) => {
    if (value === null) {
      isDrawn = false;
      return '';
    }
    const [x, y] = [index * step, height - 1 - (value / (most || 1)) * (height - 2)];
    // A single value is a short stroke.
    const part = `${isDrawn ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}${isDrawn ? '' : 'h0.6'}`;
    isDrawn = true;
    return part;
  });
  return parts.join('');
}
