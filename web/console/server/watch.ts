// Looks at the server again and again, while somebody looks at the panel and the page is not hidden.
import { read, type Snapshot } from './metrics';
import { refusal } from '../description';

/** Between two looks at the metrics. */
export const EVERY_MS = 2000;
/** Databases are asked whether they can be asked with each so many looks. */
const HEALTH_EACH = 5;
/** Five minutes are kept. */
const KEPT = 150;

export interface SourceHealth {
  name: string;
  database: string;
  status: string;
  message?: string;
  collisions?: string[];
  schema_fault?: string;
}

export interface Health {
  status: string;
  version: string;
  sources: SourceHealth[];
}

export interface Reason {
  source: string;
  reason: string;
}

export interface Readiness {
  status: string;
  reasons?: Reason[];
  warnings?: Reason[];
}

export interface Seen {
  history: Snapshot[];
  health: Health | null;
  readiness: Readiness | null;
  /** Why there are no metrics. */
  missing: string | null;
  /** Why the server was not reached. */
  fault: string | null;
}

let history: Snapshot[] = [];

/** Calls back with what is seen until the returned function is called. */
export function watch(hasMetrics: boolean, show: (seen: Seen) => void): () => void {
  const seen: Seen = { history, health: null, readiness: null, missing: hasMetrics ? null : ELSEWHERE, fault: null };
  let [turn, isOver, isAsking] = [0, false, false];
  const look = async () => {
    if (document.hidden || isAsking) return;
    isAsking = true;
    try {
      if (turn % HEALTH_EACH === 0) [seen.health, seen.readiness] = await Promise.all([json<Health>('/health'), json<Readiness>('/ready')]);
      if (hasMetrics) await lookAtMetrics(seen);
      seen.fault = null;
      turn += 1;
    } catch (error) {
      seen.fault = `The server was not reached: ${error instanceof Error ? error.message : String(error)}`;
    } finally {
      isAsking = false;
    }
    if (!isOver) show({ ...seen });
  };
  void look();
  const timer = window.setInterval(() => void look(), EVERY_MS);
  const again = () => void look();
  document.addEventListener('visibilitychange', again);
  return () => {
    isOver = true;
    clearInterval(timer);
    document.removeEventListener('visibilitychange', again);
  };
}

const ELSEWHERE = 'The metrics are on a listener of operators (admin_listen), which this page cannot ask. On the machine of the server:';

/** What to type where the page is not told. */
export const COMMAND = 'curl http://ADDRESS:PORT/metrics';

async function lookAtMetrics(seen: Seen): Promise<void> {
  const response = await fetch('/metrics');
  if (!response.ok) {
    seen.missing = `The metrics cannot be read from here (${await refusal(response)}). On the machine of the server:`;
    return;
  }
  seen.missing = null;
  history = [...history, read(await response.text(), Date.now() / 1000)].slice(-KEPT);
  seen.history = history;
}

/** Also of a server that is not ready: it says why. */
async function json<T>(path: string): Promise<T | null> {
  const response = await fetch(path);
  const isJson = response.headers.get('content-type')?.startsWith('application/json');
  return isJson && (response.ok || response.status === 503) ? ((await response.json()) as T) : null;
}
