// What plots over time are marked with: windows, events, and the lines that objectives draw.
import type uPlot from 'uplot';
import { h } from '../shared/dom';
import { grouped, moment } from '../shared/format';
import { color } from '../shared/theme';
import type { AnnotationData, ObjectiveData, RunData, WindowData } from './data';

export type Marks = Pick<RunData, 'windows' | 'annotations' | 'objectives'>;

/** Each kind has a letter, so that colour alone does not tell them apart. */
const kinds: Record<AnnotationData['kind'], { letter: string; color: string; name: string }> = {
  stage: { letter: 'S', color: 'quiet', name: 'stage of the load' },
  pause: { letter: 'P', color: 'line-5', name: 'pause, as of a garbage collector' },
  compaction: { letter: 'C', color: 'line-3', name: 'compaction' },
  fault: { letter: '!', color: 'bad', name: 'fault of an observer' },
  clock: { letter: 'T', color: 'bad', name: 'clock' },
  worker: { letter: 'W', color: 'bad', name: 'workers' },
  finding: { letter: 'F', color: 'warn', name: 'finding' },
};

/** All but the steady state is shaded; each window is named where it has room for its name. */
export function shade(plot: uPlot, windows: WindowData[], isNamed: boolean): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.font = `${10 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textBaseline = 'top';
  ctx.textAlign = 'left';
  for (const window of windows) {
    const place = (seconds: number) => Math.min(Math.max(plot.valToPos(seconds, 'x', true), left), left + width);
    const [from, to] = [place(window.from_s), place(window.to_s)];
    if (to <= from) continue;
    if (window.kind !== 'steady') {
      ctx.fillStyle = color('shade');
      ctx.fillRect(from, top, to - from, height);
    }
    if (window.from_s > 0 && from > left) {
      ctx.fillStyle = color('edge');
      ctx.fillRect(Math.round(from), top, Math.max(1, Math.floor(ratio)), height);
    }
    if (isNamed && ctx.measureText(window.name).width + 12 * ratio < to - from) {
      ctx.fillStyle = color('quiet');
      ctx.fillText(window.name, from + 6 * ratio, top + 3 * ratio);
    }
  }
  ctx.restore();
}

/** Events at the bottom, and the objectives of the plot with this id as lines. */
export function marks(plot: uPlot, { annotations, objectives }: Marks, id: string | null): void {
  ticks(plot, annotations);
  lines(plot, objectives.filter((objective) => objective.plot === id));
}

/** Moments as ticks, parts of the run as bars along the axis; findings have their letters above those of others. */
function ticks(plot: uPlot, annotations: AnnotationData[]): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const [ratio, right, bottom] = [devicePixelRatio, left + width, top + height];
  const place = (seconds: number) => Math.round(plot.valToPos(seconds, 'x', true));
  const free = [-Infinity, -Infinity];
  ctx.save();
  ctx.font = `${9 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'bottom';
  for (const { at_s, to_s, kind } of annotations) {
    const [from, to] = [place(at_s), place(to_s ?? at_s)];
    if (to < left || from > right) continue;
    const { letter, color: name } = kinds[kind];
    const [x, row] = [Math.max(from, left), kind === 'finding' ? 1 : 0];
    ctx.fillStyle = color(name);
    ctx.fillRect(x, bottom - 10 * ratio, Math.max(1, Math.floor(ratio)), 10 * ratio);
    if (to > x) ctx.fillRect(x, bottom - 4 * ratio, Math.min(to, right) - x, 4 * ratio);
    if (x > free[row]!) {
      ctx.fillText(letter, Math.max(x, left + 4 * ratio), bottom - (11 + row * 10) * ratio);
      free[row] = x + 10 * ratio;
    }
  }
  ctx.restore();
}

function lines(plot: uPlot, objectives: ObjectiveData[]): void {
  const { ctx } = plot;
  const { left, top, width, height } = plot.bbox;
  const ratio = devicePixelRatio;
  ctx.save();
  ctx.textAlign = 'right';
  ctx.textBaseline = 'bottom';
  ctx.font = `${10 * ratio}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.strokeStyle = color('bad');
  ctx.fillStyle = color('bad');
  ctx.lineWidth = 1.2 * ratio;
  ctx.setLineDash([5 * ratio, 4 * ratio]);
  for (const { value, text } of objectives) {
    const y = Math.round(plot.valToPos(value, 'y', true));
    if (!(y >= top && y <= top + height)) continue;
    ctx.beginPath();
    ctx.moveTo(left, y);
    ctx.lineTo(left + width, y);
    ctx.stroke();
    ctx.fillText(text, left + width - 4 * ratio, y - 2 * ratio);
  }
  ctx.restore();
}

/** Where an objective lies beyond the plot, a note says so: the data would be a flat line if it had to be in it. */
export function beyond(objectives: ObjectiveData[], id: string, highest: number): string {
  const above = objectives.filter((objective) => objective.plot === id && objective.value > highest);
  return above.length > 0 ? `above the plot: ${above.map(({ text }) => text).join(', ')}` : '';
}

/** The kinds of the findings that are of this moment: their words stand beneath the plots. */
export function findingsAt(annotations: AnnotationData[], seconds: number): string {
  // What is drawn is so at the end of its second.
  const found = annotations.filter(({ at_s, to_s, kind }) => kind === 'finding' && at_s <= seconds && seconds <= (to_s ?? at_s + 1));
  return found.map(({ text }) => text.split(':', 1)[0]).join(', ');
}

/** The events in words, and what their letters mean. */
export function events(annotations: AnnotationData[]): HTMLElement | null {
  if (annotations.length === 0) return null;
  const found = [...new Set(annotations.map(({ kind }) => kind))];
  const legend = found.map((kind) => `${kinds[kind].letter} ${kinds[kind].name}`).join(', ');
  return h(
    'details',
    { class: 'events' },
    h('summary', {}, `Events: ${grouped(annotations.length)}`, h('span', { class: 'note' }, ` marked in the plots: ${legend}`)),
    h('ol', {}, ...annotations.map(({ at_s, to_s, kind, text }) => h('li', {}, h('span', { class: 'value' }, to_s === undefined ? moment(at_s) : `${moment(at_s)} to ${moment(to_s)}`), ` ${kinds[kind].letter} ${text}`))),
  );
}
