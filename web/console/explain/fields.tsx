// What each root field becomes: statements with the shapes of their values and the database's plans, or requests to another server.
import { useState } from 'react';
import type { Field, Operation, Runs, Statement, Value } from './ask';
import { formatSql } from './sql';

const RUNS: Record<Runs, string> = {
  once: 'runs once',
  for_each_row: 'runs for each row of the statement above it',
  once_a_level: 'runs once for all rows of the level above',
  for_each_event: 'runs for each event',
};

export function Fields({ operation }: { operation: Operation }) {
  return operation.fields.map((field) => <FieldShown key={field.path.join('.')} field={field} operation={operation} />);
}

function FieldShown({ field, operation }: { field: Field; operation: Operation }) {
  const path = field.path.join(' › ');
  const { statements = [], requests = [] } = field;
  return (
    <section aria-label={path}>
      <h3>
        {path} <small>{origin(field)}</small>
      </h3>
      {field.source !== null && field.source === operation.whole && <p>The operation is forwarded as it is written.</p>}
      {statements.map((statement, place) => (
        <StatementShown key={place} statement={statement} name={`Statement ${place + 1} of ${path}`} isAsked={operation.kind !== 'mutation'} />
      ))}
      {requests.map((text, place) => (
        <Text key={place} text={text} name={`Request of ${path}`} title="Is sent to the other server" />
      ))}
    </section>
  );
}

function origin({ source, database }: Field): string {
  if (source === null) return 'answered from the schema';
  return `from ${source}${database ? ` (${database})` : ''}`;
}

function StatementShown({ statement, name, isAsked }: { statement: Statement; name: string; isAsked: boolean }) {
  const { values, hints = [], plan, plan_fault, runs, sql } = statement;
  return (
    <div className="statement">
      {hints.map(({ message }) => (
        <p key={message} className="hint">
          <strong>Hint:</strong> {message}
        </p>
      ))}
      <Text text={formatSql(sql)} name={name} title={`The statement ${RUNS[runs]}`} />
      {values.length > 0 && (
        <details>
          <summary>{values.length === 1 ? 'One value is bound' : `${values.length} values are bound`}</summary>
          <ol>
            {values.map((value, place) => (
              <li key={place}>{shape(value)}</li>
            ))}
          </ol>
        </details>
      )}
      {plan && <Text text={plan.join('\n')} name={`Plan of ${name.replace(/^S/, 's')}`} title="The database's plan" />}
      {plan_fault && <p className="errors">The database has told no plan: {plan_fault}</p>}
      {!plan && !plan_fault && isAsked && <p className="quiet">The database is not asked for a plan of this statement.</p>}
    </div>
  );
}

/** What a value is like. */
function shape({ of, type, length, items, is_null }: Value): string {
  const size = [length !== undefined && `${length} characters`, items !== undefined && `${items} values`, is_null && 'null'].filter(Boolean);
  return [`${of}${type ? `: ${type}` : ''}`, ...size].join(', ');
}

/** A text that can be scrolled and copied. */
function Text({ text, name, title }: { text: string; name: string; title: string }) {
  const [said, setSaid] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid('copied');
    } catch {
      setSaid('the browser does not let it be copied');
    }
  };
  return (
    <figure className="text">
      <figcaption>
        <span>{title}</span>
        <span role="status">{said}</span>
        <button type="button" onClick={() => void copy()} aria-label={`Copy: ${name}`}>
          Copy
        </button>
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={name}>
        {text}
      </pre>
    </figure>
  );
}
