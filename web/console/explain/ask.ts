// What is asked to explain an operation: the operation itself, for its times, where it is a query; and what it becomes.
import { parse } from 'graphql';
import { refusal, type Headers } from '../description';

export interface Value {
  of: string;
  type: string;
  length?: number;
  items?: number;
  is_null?: boolean;
}

export interface Hint {
  table: string;
  columns: string[];
  message: string;
}

export type Runs = 'once' | 'for_each_row' | 'once_a_level' | 'for_each_event';

export interface Statement {
  sql: string;
  runs: Runs;
  values: Value[];
  plan?: string[];
  plan_fault?: string;
  hints?: Hint[];
}

export interface Field {
  path: string[];
  source: string | null;
  database?: string;
  statements?: Statement[];
  requests?: string[];
}

export interface Operation {
  kind: 'query' | 'mutation' | 'subscription';
  name?: string;
  cost: number;
  whole?: string;
  fields: Field[];
}

export interface Stage {
  name: string;
  ms: number;
}

export interface Timing {
  stages: Stage[];
  /** Until the response was here, whole. */
  total_ms: number;
  bytes: number;
  /** In the words of the response. */
  errors: string[];
}

export interface Asked {
  query: string;
  variables: string;
  operationName: string | null;
  headers: Headers;
}

export interface Explained {
  operation: Operation;
  /** None of what is not run. */
  timing: Timing | null;
}

export async function explain(asked: Asked): Promise<Explained> {
  const body = requestBody(asked);
  const timing = isQuery(asked) ? await time(body, asked.headers) : null;
  const response = await post('/explain', body, asked.headers);
  if (response.status === 404) throw new Error('This server explains nothing: set `explain = true` in [graphql] of its configuration, or start it with --explain.');
  if (!response.ok) throw new Error(await refusal(response));
  return { operation: (await response.json()) as Operation, timing };
}

function requestBody({ query, variables, operationName }: Asked): string {
  let given: unknown;
  try {
    given = variables.trim() ? JSON.parse(variables) : undefined;
  } catch (error) {
    throw new Error(`The variables are no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  return JSON.stringify({ query, variables: given, operationName: operationName ?? undefined });
}

function post(path: string, body: string, headers: Headers): Promise<Response> {
  return fetch(path, { method: 'POST', body, headers: { ...headers, 'content-type': 'application/json', accept: 'application/json' } });
}

/** What cannot be read is for the server to refuse, and is not run. */
function isQuery({ query, operationName }: Asked): boolean {
  try {
    const operations = parse(query).definitions.filter((definition) => definition.kind === 'OperationDefinition');
    const found = operations.length === 1 ? operations[0] : operations.find(({ name }) => name?.value === operationName);
    return found?.operation === 'query';
  } catch {
    return false;
  }
}

async function time(body: string, headers: Headers): Promise<Timing | null> {
  const begun = performance.now();
  const response = await post('/graphql', body, { ...headers, 'x-prony-timing': '1' });
  const text = await response.text();
  const total_ms = performance.now() - begun;
  const stages = readStages(response.headers.get('server-timing') ?? '');
  return stages.length > 0 ? { stages, total_ms, bytes: new Blob([text]).size, errors: errorsOf(text) } : null;
}

function errorsOf(text: string): string[] {
  try {
    return ((JSON.parse(text) as { errors?: { message: string }[] }).errors ?? []).map(({ message }) => message);
  } catch {
    return [];
  }
}

/** `parse;dur=0.012, plan;dur=1.5` (W3C Server Timing). */
export function readStages(header: string): Stage[] {
  const entries = header.split(',').map((entry) => /^\s*([\w-]+);dur=([\d.]+)/.exec(entry));
  return entries.flatMap((found) => (found ? [{ name: found[1]!, ms: Number(found[2]) }] : []));
}
