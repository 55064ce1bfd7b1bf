// JMeter's samples: the tables of its dashboard, its graphs over time, and how long samples took.
import type { SamplesData } from './data';
import { h, newId, section } from '../shared/dom';
import { utc } from '../shared/format';
import { histogramPlot } from './histogram';
import { spectrumPlot } from './spectrum';
import { table } from '../shared/tables';
import { timePlots } from './timeline';

/** Samples know of no windows, events or objectives. */
const unmarked = { windows: [], annotations: [], objectives: [] };
const errorTables = ['errors', 'top-errors'];

export function sampleSections(data: SamplesData): (HTMLElement | null | false)[] {
  const group = newId();
  const isError = (id: string) => errorTables.includes(id);
  const errors = data.tables.filter(({ id }) => isError(id));
  const last = data.plots.flatMap(({ times }) => times.slice(-1)).reduce((left, right) => Math.max(left, right), 0);
  const spectrum = spectrumPlot(
    data.spectra.map((spectrum) => ({ label: spectrum.name, spectra: [spectrum] })),
    { title: 'Response time percentiles', of: 'all samples, failed ones among them', named: 'label' },
  );
  return [
    h('p', { class: 'what' }, h('span', {}, data.summary), data.started_at_unix_ms > 0 && h('span', {}, `from ${utc(data.started_at_unix_ms)}`)),
    ...data.notices.map((notice) => h('p', { class: 'notice' }, notice)),
    section('Figures', 'samples', ...data.tables.filter(({ id }) => !isError(id)).map((data) => table(data, { isSortable: data.id !== 'overview' }))),
    errors.length > 0 && section('Errors', 'samples errors', ...errors.map((data) => table(data, { isSortable: data.id !== 'overview' }))),
    data.plots.length > 0 && section('Over time', 'time', h('div', { class: 'grid' }, ...data.plots.flatMap((plot) => timePlots(plot, unmarked, group, false, [0, last])).map(([, plot]) => plot))),
    (spectrum || data.histograms.length > 0) &&
      section('How response times are spread', 'latency', h('div', { class: 'grid' }, spectrum, ...data.histograms.map(histogramPlot))),
  ];
}
