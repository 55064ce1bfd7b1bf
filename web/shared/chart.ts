// One uPlot chart in a figure of its own: caption, buttons that show and hide lines and hold the value under the
// cursor, colours that follow the theme, and keys that move the cursor and zoom.
import uPlot from 'uplot';
import { join, leave, type Range, show, shownRange, zoomed } from './chart-group';
import { keysHint, onKey } from './chart-keys';
import { tableSwitch } from './chart-table';
import { h, newId } from './dom';
import { axisName, shown, tick, type Unit } from './format';
import { kept } from './renew';
import { color, lineStyle, onThemeChange } from './theme';

export interface Line {
  name: string;
  role: string;
  unit: Unit;
  values: (number | null | undefined)[];
  /** Where only single moments are known: marks without a line between them. */
  marksOnly?: boolean;
  /** Joins what lies beside missing values. */
  spanGaps?: boolean;
  dash?: number[];
  /** Not among the buttons: goes with the line before it. */
  isPart?: boolean;
  /** Place in the palette; by default that among the lines. */
  place?: number;
}

export interface Chart {
  title: string;
  /** Of the heading that the title is, where it is not below one of a section: 3. */
  level?: number;
  note?: string;
  /** Said to those who cannot see it. */
  description: string;
  x: number[];
  lines: Line[];
  unit: Unit;
  mayBeLog?: boolean;
  isLog?: boolean;
  height?: number;
  /** Charts of one group share cursor and zoom. */
  group?: string;
  /** Tells it from all others of a page that is drawn anew, where group and title do not. */
  key?: string;
  /** Leaves room above the lines, for names that `underlay` or `overlay` write there. */
  isHeaded?: boolean;
  /** The axis goes from here to there whatever the lines are. */
  yRange?: [low: number, high: number];
  /** Fills between two lines, by their places. */
  bands?: { upper: number; lower: number; color: string }[];
  xLabel: (value: number) => string;
  xTick?: (value: number) => string;
  /** Said beside the place under the cursor, where there is something to say of it. */
  xNote?: (value: number) => string;
  /** `width` is that of the plot in pixels. */
  xSplits?: (min: number, max: number, width: number) => number[];
  xIsLog?: boolean;
  /** What stands beneath the axis. */
  xName: string;
  /** What stands beside the axis, where it is not the names of the lines. */
  yName?: string;
  /** A value under the cursor, where the unit does not say how it is written. */
  yText?: (value: number) => string;
  /** The axis goes from the lowest to the highest value, not from zero. */
  isLoose?: boolean;
  /** Drawn beneath the lines. */
  underlay?: (plot: uPlot) => void;
  overlay?: (plot: uPlot) => void;
}

/** Drawn anew, a chart with the same key, or else group and title, is kept and takes the new values. */
export function chart(spec: Chart): HTMLElement {
  return kept(spec.key ?? `${spec.group ?? ''}/${spec.title}`, spec, madeChart);
}

/** What a plot is made for; where another comes, it is made anew. */
const frame = (spec: Chart) =>
  [spec.x.length === 1, Boolean(spec.yRange), ...spec.lines.map(({ name, role, unit, isPart, marksOnly, place }) => [name, role, unit, isPart, marksOnly, place].join('/'))].join('\n');

function madeChart(spec: Chart): { element: HTMLElement; update: (next: Chart) => void } {
  const legend = h('div', { class: 'legend' });
  const at = h('span', { class: 'at', 'aria-live': 'off' });
  const note = h('span', { class: 'note' });
  const id = newId();
  const host = h('div', { class: 'canvas', tabindex: '0', role: 'group', 'aria-labelledby': id });
  let isLog = spec.isLog ?? false;
  let isChosen = false;
  const logButton =
    spec.mayBeLog &&
    h('button', { type: 'button', class: 'small', 'aria-pressed': String(isLog), onclick: () => ((isChosen = true), setLog(!isLog), draw()) }, 'log scale');
  const [tableButton, values, refill] = tableSwitch(
    spec.title,
    () => ({
      xName: spec.xName,
      xText: spec.xLabel,
      x: spec.x,
      lines: spec.lines
        .filter((line) => !line.isPart)
        .map((line) => ({ name: line.name, text: (index) => text(line.values[index], line.unit) })),
    }),
    () => (plot?.scales.x?.min != null && plot.scales.x.max != null ? [plot.scales.x.min, plot.scales.x.max] : null),
  );
  const figure = h(
    'figure',
    { class: 'plot' },
    h(
      'figcaption',
      {},
      h('h3', { id, 'aria-level': String(spec.level ?? 3) }, spec.title),
      note,
      at,
      h('span', { class: 'switches' }, logButton, tableButton),
    ),
    legend,
    host,
    values,
  );
  const hidden = new Set<number>();
  let readings: HTMLElement[] = [];
  let plot: uPlot | null = null;
  /** What is shown of a chart of no group where all is. */
  let whole: Range | null = null;
  let isWhole = true;

  describe();
  fillLegend();

  function describe(): void {
    host.setAttribute('aria-description', `${spec.description}. ${keysHint}`);
    note.textContent = spec.note ?? '';
    note.hidden = !spec.note;
  }

  function fillLegend(): void {
    readings = [];
    legend.replaceChildren();
    spec.lines.forEach((line, index) => {
      const value = h('span', { class: 'value' });
      readings.push(value);
      if (line.isPart) return;
      const swatch = h('span', { class: 'swatch', 'aria-hidden': 'true' });
      const style = lineStyle(line.role, line.place ?? index);
      swatch.style.borderColor = `var(--${style.color})`;
      swatch.style.borderTopStyle = line.dash ?? style.dash ? 'dashed' : 'solid';
      const button = h(
        'button',
        { type: 'button', 'aria-pressed': String(!hidden.has(index)), onclick: () => toggleLine(index, button) },
        swatch,
        h('span', { class: 'name' }, line.name),
        value,
      );
      legend.append(button);
    });
  }

  function toggleLine(index: number, button: HTMLElement): void {
    const show = hidden.has(index);
    const parts = [index];
    for (let next = index + 1; spec.lines[next]?.isPart; next += 1) parts.push(next);
    for (const part of parts) {
      if (show) hidden.delete(part);
      else hidden.add(part);
      plot?.setSeries(part + 1, { show });
    }
    button.setAttribute('aria-pressed', String(show));
  }

  function setLog(to: boolean): void {
    isLog = to;
    if (logButton) logButton.setAttribute('aria-pressed', String(isLog));
  }

  function draw(): void {
    const before = plot && !spec.xIsLog ? { min: plot.scales.x?.min, max: plot.scales.x?.max } : null;
    if (plot) dispose(plot, spec.group);
    isWhole = true;
    plot = new uPlot(options(() => spec, isLog, hidden, host, showAt, scaled), data(spec, isLog), host);
    if (spec.group) join(spec.group, plot);
    if (before?.min !== undefined && before.max !== undefined && before.min !== null && before.max !== null) {
      plot.setScale('x', { min: before.min, max: before.max });
    }
  }

  function scaled({ scales }: uPlot): void {
    const [min, max] = [scales.x?.min, scales.x?.max];
    if (min == null || max == null) return;
    if (isWhole && !whole) whole = [min, max];
    isWhole = whole?.[0] === min && whole[1] === max;
  }

  function update(next: Chart): void {
    const [isOther, hiddenNames] = [frame(next) !== frame(spec), new Set([...hidden].map((index) => spec.lines[index]?.name))];
    const toLog = isChosen ? isLog : next.isLog ?? false;
    const isAnew = isOther || toLog !== isLog;
    spec = next;
    setLog(toLog);
    describe();
    if (isOther) {
      hidden.clear();
      spec.lines.forEach(({ name }, index) => hiddenNames.has(name) && hidden.add(index));
      fillLegend();
    }
    if (plot) renewPlot(plot, isAnew);
    refill();
  }

  function renewPlot(before: uPlot, isAnew: boolean): void {
    const { idx, left, top } = before.cursor;
    const pointed = idx != null && left != null && left >= 0 ? (before.data[0][idx] ?? null) : null;
    if (isAnew) draw();
    const now = plot!;
    const range = spec.group ? shownRange(spec.group) : null;
    if (isWhole) whole = null;
    if (range) show(now, range, () => now.setData(data(spec, isLog), false));
    else now.setData(data(spec, isLog), isWhole);
    if (!range && !isWhole) now.redraw();
    if (pointed !== null) queueMicrotask(() => now.setCursor({ left: now.valToPos(pointed, 'x'), top: top ?? 0 }));
  }

  function text(value: number | null | undefined, unit: Unit): string {
    return spec.yText && typeof value === 'number' ? spec.yText(value) : shown(value, unit);
  }

  function showAt(index: number | null | undefined): void {
    const place = typeof index === 'number' ? (spec.x[index] ?? 0) : null;
    at.textContent = place === null ? '' : [spec.xLabel(place), spec.xNote?.(place)].filter(Boolean).join(' · ');
    spec.lines.forEach((line, place) => {
      const element = readings[place];
      if (element) element.textContent = typeof index === 'number' ? text(line.values[index], line.unit) : '';
    });
    // A part beyond what is known stands in for its line there.
    spec.lines.forEach((line, place) => {
      const owner = readings[place - 1];
      if (!line.isPart || typeof index !== 'number' || !owner) return;
      if (spec.lines[place - 1]?.values[index] == null) owner.textContent = text(line.values[index], line.unit);
    });
  }

  host.addEventListener('keydown', (event) => plot && onKey(event, plot, spec.group));
  new ResizeObserver(() => {
    const width = Math.floor(host.clientWidth);
    if (width === 0) return;
    if (!plot) draw();
    else if (plot.width !== width) plot.setSize({ width, height: plot.height });
  }).observe(host);
  onThemeChange(() => plot?.redraw(false, true));
  return { element: figure, update };
}

function dispose(plot: uPlot, group?: string): void {
  if (group) leave(group, plot);
  plot.destroy();
}

/** Zero has no place on a logarithmic axis. */
function data(spec: Chart, isLog: boolean): uPlot.AlignedData {
  const positive = (value: number | null | undefined) => (isLog && typeof value === 'number' && value <= 0 ? null : value);
  return [spec.x, ...spec.lines.map((line) => line.values.map(positive))] as uPlot.AlignedData;
}

function options(
  current: () => Chart,
  isLog: boolean,
  hidden: Set<number>,
  host: HTMLElement,
  showAt: (index: number | null | undefined) => void,
  scaled: (plot: uPlot) => void,
): uPlot.Options {
  const spec = current();
  const narrow = host.clientWidth < 480;
  const font = `${narrow ? 10 : 11}px ${getComputedStyle(document.body).fontFamily}`;
  const labels = { labelFont: font, labelSize: narrow ? 13 : 15, labelGap: 0 };
  const axis = { stroke: () => color('quiet'), font, ticks: { show: false }, gap: 6, ...labels };
  // Lines of observers have the observers' names, and the title says what is counted.
  const names = spec.lines.map((line) => (line.role === 'observed' ? spec.title.toLowerCase() : line.name));
  const unitName = spec.yName ?? axisName(spec.unit, names);
  const fromZero: uPlot.Range.Function = (_plot, _min, max) => [0, max > 0 ? max * (spec.isHeaded ? 1.2 : 1.08) : 1];
  const last = spec.x.length - 1;
  return {
    width: Math.max(host.clientWidth, 200),
    height: spec.height ?? 220,
    legend: { show: false },
    padding: [8, spec.xSplits ? 20 : 14, 0, 0],
    cursor: {
      drag: { x: true, y: false, setScale: true },
      points: { size: 6 },
      y: false,
      ...(spec.group && { sync: { key: spec.group } }),
    },
    scales: {
      x: { time: false, ...(spec.xIsLog && { distr: 3 as const, log: 10 as const }), ...(last === 0 && { range: [(spec.x[0] ?? 0) - 1, (spec.x[0] ?? 0) + 1] as [number, number] }) },
      y: isLog ? { distr: 3, log: 10, ...(spec.yRange && { range: () => current().yRange ?? [1, 10] }) } : spec.isLoose ? {} : { range: spec.yRange ? () => current().yRange ?? [0, 1] : fromZero },
    },
    axes: [
      {
        ...axis,
        label: spec.xName,
        grid: { show: spec.xIsLog ?? false, stroke: () => color('rule'), width: 1 },
        size: 26,
        values: (_plot, splits) => splits.map((split) => (split === null ? '' : (spec.xTick ?? spec.xLabel)(split))),
        ...(spec.xSplits && { splits: (plot, _index, min, max) => spec.xSplits?.(min, max, plot.width) ?? [], filter: (_plot, splits) => splits }),
        ...(!spec.xSplits && { incrs: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200] }),
        space: narrow ? 60 : 80,
      },
      {
        ...axis,
        label: unitName,
        scale: 'y',
        size: narrow ? 52 : 64,
        grid: { stroke: () => color('rule'), width: 1, ...(isLog && { filter: powers }) },
        values: (_plot, splits) => splits.map((split) => (split === null ? '' : tick(split, spec.unit))),
        space: 34,
        ...(isLog && { filter: powers }),
      },
    ],
    series: [
      {},
      ...spec.lines.map((line, index): uPlot.Series => {
        const style = lineStyle(line.role, line.place ?? index);
        const marks = line.marksOnly ?? false;
        const isFew = () => (current().lines[index]?.values ?? []).filter((value) => value != null).length <= 2;
        return {
          label: line.name,
          show: !hidden.has(index),
          scale: 'y',
          stroke: () => color(style.color),
          width: style.width,
          dash: line.dash ?? style.dash,
          spanGaps: line.spanGaps ?? false,
          ...(marks && { paths: () => null }),
          points: { show: marks || isFew, size: 5, fill: () => color(style.color) },
        };
      }),
    ],
    ...(spec.bands && {
      bands: spec.bands.map(({ upper, lower, color: name }) => ({ series: [upper + 1, lower + 1] as [number, number], fill: () => color(name) })),
    }),
    hooks: {
      drawClear: [(plot) => current().underlay?.(plot)],
      draw: [(plot) => current().overlay?.(plot)],
      setCursor: [(plot) => showAt(plot.cursor.left != null && plot.cursor.left >= 0 ? plot.cursor.idx : null)],
      setScale: [
        (plot, key) => {
          if (key !== 'x') return;
          scaled(plot);
          if (spec.group) zoomed(spec.group, plot);
        },
      ],
    },
  };
}

/** The highest is a hundred times the lowest or more: on a straight axis the low ones would be one line. */
export function isWide(lines: { values: (number | null | undefined)[] }[]): boolean {
  let [low, high] = [Infinity, 0];
  for (const { values } of lines) {
    for (const value of values) {
      if (!value) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return high / low >= 100;
}

/** Powers of ten; the shorter the axis, the more of what lies between them. */
function powers(plot: uPlot, splits: number[]): (number | null)[] {
  const { min, max } = plot.scales.y ?? {};
  const reach = min != null && max != null ? max / min : Infinity;
  const round = reach >= 1_000 ? [1] : reach >= 10 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8, 9];
  return splits.map((split) => (round.some((factor) => isPower(split / factor)) ? split : null));
}

function isPower(value: number): boolean {
  const log = Math.log10(value);
  return Math.abs(log - Math.round(log)) < 1e-9;
}
