// The axis at the left of small graphics in SVG, as plots have it: its name, and round values at their heights.
import { h, svg } from '../shared/dom';
import { tick, type Unit } from '../shared/format';

/** The highest is not drawn up to the edge. */
export const headroom = 1.04;

export interface Axis {
  name: string;
  unit: Unit;
  levels: number[];
  /** The value at the upper edge. */
  top: number;
}

/** Lines across a graphic of this size at the axis's values. */
export function levelLines({ levels, top }: Axis, width: number, height: number): SVGElement[] {
  return levels.map((level) => {
    const y = String(height * (1 - level / top));
    return svg('line', { class: 'level', x1: '0', x2: String(width), y1: y, y2: y });
  });
}

/** The graphic with its axis, and beneath it what stands under the graphic alone. What the axis says is in the graphic's label too. */
export function withAxis(graphic: SVGElement, { name, unit, levels, top }: Axis, beneath: HTMLElement): HTMLElement {
  const labels = levels.map((level) => {
    const label = h('span', {}, tick(level, unit));
    label.style.bottom = `${(level / top) * 100}%`;
    return label;
  });
  beneath.classList.add('beneath');
  return h(
    'div',
    { class: 'framed' },
    h('div', { class: 'axis-name', 'aria-hidden': 'true' }, name),
    h('div', { class: 'levels', 'aria-hidden': 'true' }, ...labels),
    graphic,
    beneath,
  );
}
