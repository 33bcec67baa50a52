// SPDX-License-Identifier: Apache-2.0
// The types of the API's answers (docs/api.md).

export interface Envelope<T> {
  status: 'success' | 'error';
  data: T;
  warnings?: string[];
  errorType?: string;
  error?: string;
}

export interface ProfileType {
  name: string;
  sampleTypes: { type: string; unit: string }[];
  defaultSampleType: string;
}

/** A profile of an uploaded file. */
export interface FilePart {
  name: string;
  sampleTypes: { type: string; unit: string }[];
  defaultSampleType: string;
}

/** An uploaded file; in the list of all, without its parts. */
export interface UploadedFile {
  id: string;
  name: string;
  user: string;
  /** What could not be read of it; or empty. */
  note?: string;
  format?: string;
  uploaded: number;
  expires: number;
  kept: boolean;
  parts?: FilePart[];
}

export interface Buckets {
  bounds: number[];
  /** By step: the number of profiles of each bucket. */
  counts: number[][];
}

export interface Line {
  labels: Record<string, string>;
  timestamps: number[];
  totals: Record<string, (number | null)[]>;
  /** Not of single profiles. */
  kinds?: Record<string, 'flow' | 'counter' | 'state'>;
  buckets?: Record<string, Buckets>;
  /** Of rates: the share of each step that is known. */
  covered?: Record<string, number[]>;
}

export interface Change {
  time: number;
  kind: 'label' | 'build_id' | 'restart';
  name: string;
  jobs: string[];
  /** Of programs of a machine: their labels "exe". */
  programs: string[];
  /** The instances that restarted; empty if there are many. */
  instances: string[];
  from: string[];
  to: string[];
  series: number;
}

/** The members that all reports have. */
interface Report {
  sample_type: string;
  unit: string;
  total: number;
  /** Of a comparison by rate: what values are divided by to be those of one series in a second. */
  seconds?: number;
}

export interface FlameAnswer extends Report {
  strings: string[];
  name: number[];
  file: number[];
  binary: number[];
  parent: number[];
  inlined: number[];
  self: number[];
  total_of: number[];
  self_a?: number[];
  total_of_a?: number[];
  left_out: { nodes: number; weight: number };
  /** Of a comparison with error bars: half of the 95 % interval of a box's difference (null: not tested), and whether it is no chance (1). */
  interval?: (number | null)[];
  sure?: number[];
  few_buckets?: boolean;
  bursty?: boolean;
  drift?: boolean;
  few_instances?: boolean;
  /** With a pivot: the tree of its callers, whose texts are in `strings`, too. */
  callers?: Pick<FlameAnswer, 'name' | 'file' | 'binary' | 'parent' | 'inlined' | 'self' | 'total_of' | 'left_out'> & {
    self_a?: number[];
    total_of_a?: number[];
    interval?: (number | null)[];
    sure?: number[];
  };
}

export interface TopRow {
  name: string;
  file: string;
  flat: number;
  cum: number;
  /** Of a comparison: the values of the base. */
  flat_a?: number;
  cum_a?: number;
}

export interface TopAnswer extends Report {
  total_a?: number;
  total_b?: number;
  rows: TopRow[];
}

/** A value on both sides, and how sure its change is. */
export interface ComparedValue {
  a: number;
  b: number;
  delta: number;
  tested: boolean;
  interval?: number;
  visible?: number;
  p_all?: number;
  sure?: boolean;
  agree?: [number, number];
}

export interface ComparedRow {
  name: string;
  file: string;
  flat: ComparedValue;
  cum: ComparedValue;
}

export interface CompareAnswer {
  sample_type: string;
  unit: string;
  kind: 'flow' | 'counter' | 'state';
  by: 'share' | 'rate' | 'level';
  alpha: number;
  profiles: [number, number];
  instances: [number, number];
  buckets: [number, number];
  bucket_seconds: number;
  few_buckets: boolean;
  bursty: boolean;
  drift: boolean;
  few_instances: boolean;
  tested: number;
  few: number;
  /** Not by share. */
  total?: ComparedValue;
  rows: ComparedRow[];
}

export interface GraphAnswer extends Report {
  nodes: { name: string; file: string; flat: number; cum: number }[];
  edges: { from: number; to: number; weight: number; inline: boolean; residual: boolean }[];
}

export interface SourceAnswer extends Report {
  functions: {
    name: string;
    file: string;
    flat: number;
    cum: number;
    found: boolean;
    lines: { line: number; flat: number; cum: number; text: string }[];
  }[];
  more: number;
}

export interface HistoryAnswer {
  sample_type: string;
  unit: string;
  timestamps: number[];
  total: (number | null)[];
  profiles: number[];
  /** `seconds`: what values are divided by to be values per second; null: they have no time. */
  functions: {
    name: string;
    file: string;
    labels: Record<string, string>;
    flat: (number | null)[];
    cum: (number | null)[];
    seconds: (number | null)[];
  }[];
}

export interface Target {
  labels: Record<string, string>;
  discoveredLabels: Record<string, string>;
  scrapePool: string;
  scrapeUrl: string;
  lastError: string;
  lastScrape: string;
  lastScrapeDuration: number;
  health: 'up' | 'down' | 'unknown';
  scrapeInterval: string;
}

/** An entry of <name>_sd_configs; a failure is reported while it lasts. */
export interface Discovery {
  /** The job; empty: the section ebpf. */
  scrapePool: string;
  discovery: string;
  configLine: number;
  targets: number;
  health: Target['health'];
  source: string;
  lastError: string;
  lastErrorTime: string;
}

/** The eBPF collector of the server's machine. */
export interface Collector {
  node: string;
  health: Target['health'];
  lastError: string;
  samplingFrequency: number;
  interval: string;
  processes: number;
  series: number;
  profiles: number;
  profilesFailed: number;
}

export interface Targets {
  activeTargets: Target[];
  droppedTargets: { discoveredLabels: Record<string, string>; scrapePool: string; reason: string }[];
  droppedTargetCounts: Record<string, number>;
  discoveries: Discovery[];
  /** One, or none. */
  collectors: Collector[];
}

export interface Count {
  name: string;
  value: number;
}

export interface Tsdb {
  headStats: { numSeries: number; numRanges: number; numUnflushedProfiles: number; minTime: number; maxTime: number };
  blockStats: { numBlocks: number; numSamples: number };
  bytes: { blocks: number; ballast: number; wal: number; values: number; groups: number };
  seriesCountByMetricName: Count[];
  labelValueCountByLabelName: Count[];
  seriesCountByLabelValuePair: Count[];
}

export interface Runtime {
  startTime: string;
  CWD: string;
  serverTime: string;
  storageRetention: string;
  reloadConfigSuccess: boolean;
  reloadConfigError: string;
  lastConfigTime: string;
}

export interface Session {
  user: string;
  required: boolean;
  session: boolean;
  scopes: string[];
}

export interface RunningQuery {
  id: string;
  path: string;
  query: string;
  user: string;
  started: number;
  done: number;
  profiles: number;
  bytes: number;
}
