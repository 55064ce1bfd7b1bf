// Percentiles as bars, a group of them for each load.
import type { BarGroupData, BarsData } from './data';
import { h, newId, svg } from '../shared/dom';
import { axisName, milliseconds } from '../shared/format';
import { roundLevels } from '../shared/round';
import { type Axis, headroom, levelLines, withAxis } from './axis';

const [width, height] = [600, 140];

export function barsPlot(data: BarsData): HTMLElement {
  const highest = data.groups.flatMap((group) => group.bars.map((bar) => bar.ms ?? 0)).reduce((left, right) => Math.max(left, right), 0);
  const each = width / Math.max(data.groups.length, 1);
  const axis: Axis = { name: axisName('milliseconds', []), unit: 'milliseconds', levels: roundLevels(highest || 1, false), top: (highest || 1) * headroom };
  const bars = data.groups.flatMap((group, index) => barsOf(group, index * each, each, axis.top));
  const names = [...new Set(data.groups.flatMap((group) => group.bars.map((bar) => bar.name)))];
  const values = data.groups.map((group) => `${group.name}: ${group.bars.map((bar) => `${bar.name} ${value(bar.ms)}`).join(', ')}`);
  const id = newId();
  return h(
    'figure',
    { class: 'plot bars', 'aria-labelledby': id },
    h('figcaption', {}, h('h3', { id }, data.title), h('span', { class: 'note' }, data.note)),
    h('div', { class: 'names', 'aria-hidden': 'true' }, ...names.map((name) => h('span', { class: `name role-${name}` }, name))),
    withAxis(
      svg(
        'svg',
        { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${data.title}. ${values.join('. ')}` },
        ...levelLines(axis, width, height),
        ...bars,
      ),
      axis,
      h('div', { class: 'groups', 'aria-hidden': 'true' }, ...data.groups.map((group) => h('span', {}, group.name))),
    ),
  );
}

/** With a third of a group's width between it and the next. */
function barsOf(group: BarGroupData, from: number, each: number, top: number): (SVGElement | null)[] {
  const bar = (each * 2) / 3 / Math.max(group.bars.length, 1);
  return group.bars.map(({ name, ms }, index) => {
    if (ms === null) return null;
    // A short one is still to be seen.
    const size = Math.max((ms / top) * height, 1.5);
    const x = from + each / 6 + index * bar;
    const shape = svg('rect', {
      class: `role-${name}`,
      x: String(x),
      y: String(height - size),
      width: String(Math.max(bar - 1, 0.5)),
      height: String(size),
    });
    shape.append(svg('title', {}, `${group.name}, ${name}: ${milliseconds(ms)}`));
    return shape;
  });
}

function value(ms: number | null): string {
  return ms === null ? 'too few samples' : milliseconds(ms);
}
