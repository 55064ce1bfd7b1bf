// What the page asks the server for, by the calls that every client has (docs/series.md).

export interface Entity {
  id: string;
  type: string;
}

/** Who asks, and whose series. */
export interface Identity {
  tenant: string;
  token: string;
}

/** Values of an attribute; of periods what is made of them. */
export interface Points {
  /** Seconds since 1970. */
  times: number[];
  values: number[];
  /** The lowest and the highest of each period; none where each value is a point. */
  lows: number[] | null;
  highs: number[] | null;
  /** How many values there are. */
  count: number;
  /** How long a period is, as a duration of ISO 8601. */
  period: string | null;
}

/** An attribute with numbers, and between which moments (in milliseconds since 1970) they are. */
export interface Attribute {
  name: string;
  from: number;
  to: number;
}

type Aggregated = [value: number | null, from: string, to: string];
type Members = Record<string, unknown>;

/** Entities in the list; others can be named. */
const ENTITIES_MAX = 1000;
/** More values than this are put together by periods. */
const POINTS_MAX = 1500;

/** Lengths of periods, the shorter first. */
const PERIODS: [duration: string, seconds: number][] = [
  ['PT1S', 1],
  ['PT5S', 5],
  ['PT15S', 15],
  ['PT1M', 60],
  ['PT5M', 300],
  ['PT15M', 900],
  ['PT1H', 3600],
  ['PT6H', 21_600],
  ['P1D', 86_400],
  ['P7D', 604_800],
  ['P1M', 2_592_000],
  ['P1Y', 31_536_000],
  ['P10Y', 315_360_000],
];

async function ask(path: string, parameters: Record<string, string>, { tenant, token }: Identity): Promise<unknown> {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (tenant) headers['fiware-service'] = tenant;
  if (token) headers.authorization = /\s/.test(token) ? token : `Bearer ${token}`;
  const response = await fetch(`${path}?${new URLSearchParams(parameters)}`, { headers });
  const body = (await response.json().catch(() => null)) as { detail?: string } | null;
  if (response.status === 401 || response.status === 403) throw new Error('Who asks may not see this: put a token in.');
  if (!response.ok) throw new Error(body?.detail ?? `The server responded with ${response.status}.`);
  return body;
}

/** Those that were written last, by type and id. */
export async function entities(identity: Identity): Promise<Entity[]> {
  const all = (await ask('/v2/entities', { limit: String(ENTITIES_MAX) }, identity)) as Entity[];
  const key = ({ type, id }: Entity) => `${type}\n${id}`;
  return all.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

function evolution({ id, type }: Entity, parameters: Record<string, string>, identity: Identity): Promise<unknown> {
  return ask(`/ngsi-ld/v1/temporal/entities/${encodeURIComponent(id)}`, { type, ...parameters }, identity);
}

/** The attributes of an entity that are numbers. */
export async function attributes(entity: Entity, identity: Identity): Promise<Attribute[]> {
  const found = (await evolution(entity, { aggrMethods: 'sum' }, identity)) as Members;
  const numeric = Object.entries(found).flatMap(([name, value]) => {
    const period = (value as { sum?: Aggregated[] }).sum?.[0];
    return period ? [{ name, from: Date.parse(period[1]), to: Date.parse(period[2]) }] : [];
  });
  return numeric.filter(({ from, to }) => Number.isFinite(from) && Number.isFinite(to));
}

/** The values of an attribute from one moment to another, both included. */
export async function points(entity: Entity, attribute: string, from: number, to: number, identity: Identity): Promise<Points> {
  const range = { timerel: 'between', timeAt: new Date(from).toISOString(), endTimeAt: new Date(to + 1).toISOString() };
  const of = async (parameters: Record<string, string>) => {
    const found = (await evolution(entity, { attrs: attribute, ...range, ...parameters }, identity)) as Members;
    return (found[attribute] ?? {}) as { values?: [number, string][] } & Record<string, Aggregated[] | undefined>;
  };
  const count = (await of({ aggrMethods: 'totalCount' })).totalCount?.[0]?.[0] ?? 0;
  if (count <= POINTS_MAX) {
    const { values = [] } = await of({ options: 'temporalValues' });
    return {
      times: values.map(([, time]) => Date.parse(time) / 1000),
      values: values.map(([value]) => Number(value)),
      lows: null,
      highs: null,
      count,
      period: null,
    };
  }
  const [period] = PERIODS.find(([, seconds]) => (to - from) / 1000 / seconds <= POINTS_MAX / 2) ?? PERIODS[PERIODS.length - 1]!;
  const made = await of({ aggrMethods: 'avg,min,max', aggrPeriodDuration: period });
  const column = (name: string) => (made[name] ?? []).map(([value]) => Number(value));
  return {
    times: (made.avg ?? []).map(([, begin]) => Date.parse(begin) / 1000),
    values: column('avg'),
    lows: column('min'),
    highs: column('max'),
    count,
    period,
  };
}
