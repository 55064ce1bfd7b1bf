// What the page is given: lab/report/src/page/data.rs in TypeScript.

import type { Unit } from '../shared/format';
import type { TableData } from '../shared/tables';

export type { TableData, Unit };

export interface PageData {
  title: string;
  version: string;
  study: StudyData | null;
  verdict: VerdictData | null;
  conclusions?: VerdictData[];
  runs: RunData[];
  side_by_side: TableData | null;
  search: SearchData | null;
  comparison: ComparisonData | null;
  samples: SamplesData | null;
  live: LiveData | null;
}

export interface LiveData {
  elapsed_s: number;
  duration_s: number;
  step?: string;
  end: string | null;
}

export interface SamplesData {
  summary: string;
  started_at_unix_ms: number;
  notices: string[];
  tables: TableData[];
  plots: PlotData[];
  spectra: SpectrumData[];
  histograms: HistogramData[];
}

export interface RunData {
  label: string;
  file: string;
  notice: string | null;
  started_at_unix_ms: number;
  facts: [term: string, what: string][];
  findings: FindingData[];
  verdict: VerdictData | null;
  thresholds: ThresholdData[];
  claims: ClaimData[];
  tables: TableData[];
  windows: WindowData[];
  plots: PlotData[];
  over_time: OverTimeData | null;
  annotations: AnnotationData[];
  objectives: ObjectiveData[];
  spectra: SpectrumData[];
  histograms: HistogramData[];
  observers: { figures: TableData | null; faults: string[]; plots: PlotData[] };
}

/** Counts by interval from the start of the run; the last may be shorter. */
export interface OverTimeData {
  interval_s: number;
  /** When the last one ends. */
  end_s: number;
  /** Of successes: the first bucket, then the counts from there. */
  latencies: number[][];
  failures: number[];
  requests: RequestOverTimeData[];
}

export interface RequestOverTimeData {
  name: string;
  ended: number[];
  failures: number[];
  p95_ms: (number | null)[];
}

export interface AnnotationData {
  at_s: number;
  /** Of a part of the run; absent of a moment. */
  to_s?: number;
  kind: 'stage' | 'pause' | 'compaction' | 'fault' | 'clock' | 'worker' | 'finding';
  text: string;
}

export interface ObjectiveData {
  plot: string;
  value: number;
  text: string;
}

export interface FindingData {
  kind: string;
  voids: boolean;
  weight: string;
  seen: string;
  cause: string;
  try_next: string;
  /** Where it is marked in the plots; absent of what is true of the whole run. */
  span_s?: [from: number, to: number];
}

export interface VerdictData {
  conclusion: 'passed' | 'failed' | 'void';
  text: string;
  exit_code: string | null;
}

export interface ThresholdData {
  text: string;
  judgement: 'kept' | 'failed' | 'undecided' | 'void';
  measured: string;
}

export interface ClaimData {
  term: string;
  value: string;
  unit: string;
}

export interface WindowData {
  kind: 'ramp' | 'warm_up' | 'steady' | 'after';
  name: string;
  from_s: number;
  to_s: number;
}

export interface PlotData {
  id: string;
  title: string;
  unit: Unit;
  note: string;
  may_be_log: boolean;
  axis?: string;
  times: number[];
  lines: LineData[];
}

export interface LineData {
  name: string;
  role: string;
  unit: Unit;
  values: (number | null)[];
}

export interface SpectrumData {
  name: string;
  role: string;
  samples: number;
  points: [inverse: number, milliseconds: number][];
  known_to: number;
}

export interface HistogramData {
  name: string;
  role: string;
  samples: number;
  bounds_ms: number[];
  counts: number[];
}

export interface StudyData {
  title: string;
  setting: string;
  differs: string;
  users: number[];
  plots: StudyPlotData[];
  bars: BarsData[];
  tables: TableData[];
  notes: string[];
}

export interface StudyPlotData {
  title: string;
  unit: Unit;
  lines: { name: string; place: number; is_published: boolean; values: (number | null)[] }[];
}

export interface BarsData {
  title: string;
  note: string;
  groups: BarGroupData[];
}

export interface BarGroupData {
  name: string;
  bars: { name: string; ms: number | null }[];
}

export interface SearchData {
  answer: string;
  is_void: boolean;
  objective: string;
  load_name: string;
  passes_at: number | null;
  fails_at: number | null;
  steps: StepData[];
  table: TableData;
}

export interface StepData {
  load: number;
  trial: 'passed' | 'failed' | 'lab_limited';
  p50_ms: number | null;
  p95_ms: number | null;
  p99_ms: number | null;
  rate_per_s: number;
}

export interface ComparisonData {
  answer: string;
  is_void: boolean;
  note: string;
  ratios: RatioData[];
  table: TableData;
}

export interface RatioData {
  name: string;
  ratio: number;
  interval: [low: number, high: number] | null;
  judgement: 'better' | 'worse' | 'not_shown' | 'void';
  text: string;
}
