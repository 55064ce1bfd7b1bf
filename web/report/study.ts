// What an experiment found by numbers of users, beside what a study published: lines over users, percentiles as bars, tables.
import { barsPlot } from './bars';
import { chart } from '../shared/chart';
import type { StudyData, StudyPlotData } from './data';
import { h, section } from '../shared/dom';
import { grouped } from '../shared/format';
import { table } from '../shared/tables';

/** Plots that have room beside the findings. */
const plotsBeside = 2;

/** What was done, and the plots that say what came of it: what stands beside the findings. */
export function studyTop(study: StudyData): (HTMLElement | null | false)[] {
  return [
    h('p', { class: 'setting' }, study.setting),
    study.differs !== '' && h('p', { class: 'notice' }, study.differs),
    plotsByUsers('By users', 'study', study, study.plots.slice(0, plotsBeside)),
  ];
}

export function studySections(study: StudyData): (HTMLElement | null | false)[] {
  return [
    plotsByUsers('Further by users', 'further', study, study.plots.slice(plotsBeside)),
    study.bars.length > 0 && section('Percentiles', 'bars', h('div', { class: 'grid' }, ...study.bars.map(barsPlot))),
    study.tables.length > 0 && section('Figures', 'figures', ...study.tables.map((data) => table(data))),
    study.notes.length > 0 && section('Notes', 'notes', h('ul', {}, ...study.notes.map((note) => h('li', {}, note)))),
  ];
}

function plotsByUsers(title: string, id: string, study: StudyData, plots: StudyPlotData[]): HTMLElement | null {
  if (plots.length === 0) return null;
  return section(title, id, h('div', { class: 'grid' }, ...plots.map((plot) => byUsers(plot, study.users))));
}

/** Steps of users stand at equal distances: they grow by factors. */
function byUsers(plot: StudyPlotData, users: number[]): HTMLElement {
  const places = users.map((_, index) => index);
  const label = (place: number) => grouped(users[Math.round(place)] ?? 0);
  const published = plot.lines.some((line) => line.is_published);
  return chart({
    title: plot.title,
    ...(published && { note: 'dashed: published' }),
    description: `${plot.title} by numbers of users, for ${plot.lines.map((line) => line.name).join(', ')}`,
    x: places,
    lines: plot.lines.map((line) => ({
      name: line.name,
      role: 'run',
      place: line.place,
      unit: plot.unit,
      values: line.values,
      spanGaps: true,
      ...(line.is_published && { dash: [6, 4] }),
    })),
    unit: plot.unit,
    mayBeLog: true,
    height: 260,
    group: 'study',
    xLabel: (place) => `${label(place)} users`,
    xName: 'users',
    xTick: label,
    xSplits: (min, max) => places.filter((place) => place >= min && place <= max),
  });
}
