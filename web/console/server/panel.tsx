// The panel of the server: its sources and their health, who asks and what they may do, and live metrics.
import 'uplot/dist/uPlot.min.css';

import { useSchemaStore } from '@graphiql/react';
import type { GraphQLObjectType } from 'graphql';
import { useEffect, useRef, useState } from 'react';
import { shown } from '../../shared/format';
import { renew, startRenewing } from '../../shared/renew';
import type { Description } from '../description';
import { figures, plots } from './plots';
import { COMMAND, watch, type Health, type Readiness, type Seen } from './watch';

/** A value needs the look before it. */
const LOOKS_MIN = 2;

startRenewing();

export function ServerPanel({ description }: { description: Description }) {
  const [seen, setSeen] = useState<Seen | null>(null);
  useEffect(() => watch(description.metrics, setSeen), [description.metrics]);
  return (
    <div className="prony-panel">
      <h2>Server</h2>
      <p className="lead">
        Prony {seen?.health?.version ?? description.version}
        {seen?.readiness && `, ${seen.readiness.status === 'ready' ? 'ready for requests' : seen.readiness.status}`}
      </p>
      {seen?.fault && (
        <p role="alert" className="errors">
          {seen.fault}
        </p>
      )}
      <Sources health={seen?.health ?? null} readiness={seen?.readiness ?? null} />
      <Asker description={description} />
      <section aria-labelledby="server-metrics">
        <h3 id="server-metrics">Metrics</h3>
        {seen?.missing ? (
          <>
            <p>{seen.missing}</p>
            <pre tabIndex={0} role="region" aria-label="Command">
              {COMMAND}
            </pre>
          </>
        ) : (
          <Metrics seen={seen} />
        )}
      </section>
    </div>
  );
}

function Sources({ health, readiness }: { health: Health | null; readiness: Readiness | null }) {
  if (!health) return null;
  const reasons = (name: string) => [...(readiness?.reasons ?? []), ...(readiness?.warnings ?? [])].filter(({ source }) => source === name).map(({ reason }) => reason.replaceAll('_', ' '));
  return (
    <section aria-labelledby="server-sources">
      <h3 id="server-sources">Sources</h3>
      <ul className="sources-seen">
        {health.sources.map(({ name, database, status, message, schema_fault, collisions = [] }) => {
          const faults = [message, schema_fault, ...reasons(name)].filter(Boolean);
          const isUp = status === 'ok' && faults.length === 0;
          return (
            <li key={name}>
              <span className={isUp ? 'up' : 'down'}>{status === 'ok' ? (isUp ? 'up' : 'up, but') : status}</span> <strong>{name}</strong> <small>{database}</small>
              {[...faults, ...collisions].map((fault) => (
                <span key={fault} className="fault">
                  {fault}
                </span>
              ))}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

/** What may be asked is what the schema of who asks has. */
function Asker({ description: { role, refusal, sources } }: { description: Description }) {
  const schema = useSchemaStore((store) => store.schema);
  const count = (type: GraphQLObjectType | null | undefined) => Object.keys(type?.getFields() ?? {}).length;
  return (
    <section aria-labelledby="server-role">
      <h3 id="server-role">Who asks</h3>
      {refusal ? (
        <p className="errors">{refusal}</p>
      ) : (
        <p>
          {role ? (
            <>
              Role <strong>{role.name}</strong>
              {role.unrestricted ? ', which may do everything' : ''}
            </>
          ) : (
            'Everybody who reaches this server may do everything'
          )}
          {schema && `: ${count(schema.getQueryType())} queries, ${count(schema.getMutationType())} mutations, ${count(schema.getSubscriptionType())} subscriptions`}.
        </p>
      )}
      {sources.length > 0 && (
        <ul>
          {sources.map(({ name, contents }) => (
            <li key={name}>
              {name}: {contents}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function Metrics({ seen }: { seen: Seen | null }) {
  const place = useRef<HTMLDivElement>(null);
  const history = seen?.history ?? [];
  useEffect(() => {
    if (place.current && history.length >= LOOKS_MIN) renew(place.current, () => plots(history));
  }, [history]);
  return (
    <>
      <dl className="figures">
        {figures(history).map(({ name, unit, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{shown(value, unit)}</dd>
          </div>
        ))}
      </dl>
      {history.length < LOOKS_MIN && <p role="status">What changes is drawn after a few seconds…</p>}
      <div ref={place} />
    </>
  );
}
