// The panel that explains the operation in the editor: where its time goes and what its sources are asked.
import { useEditorContext } from '@graphiql/react';
import { useState } from 'react';
import { readHeaders } from '../description';
import { explain, type Explained } from './ask';
import { Fields } from './fields';
import { Times } from './times';

type State = { is: 'idle' } | { is: 'asking' } | { is: 'failed'; message: string } | { is: 'explained'; explained: Explained };

export function ExplainPanel() {
  const { queryEditor, variableEditor, headerEditor } = useEditorContext({ nonNull: true });
  const [state, setState] = useState<State>({ is: 'idle' });
  const ask = async () => {
    const headers = readHeaders(headerEditor?.getValue());
    if (!headers) return setState({ is: 'failed', message: 'The headers are no JSON object of texts.' });
    setState({ is: 'asking' });
    try {
      const explained = await explain({
        query: queryEditor?.getValue() ?? '',
        variables: variableEditor?.getValue() ?? '',
        operationName: queryEditor?.operationName ?? null,
        headers,
      });
      setState({ is: 'explained', explained });
    } catch (error) {
      setState({ is: 'failed', message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <div className="prony-panel">
      <h2>Explain</h2>
      <p className="lead">Runs the query in the editor for its times, and asks what each of its fields becomes. Mutations and subscriptions are not run.</p>
      <button type="button" className="act" onClick={() => void ask()} disabled={state.is === 'asking'}>
        Explain the operation
      </button>
      <p role="status" className="said">
        {said(state)}
      </p>
      {state.is === 'failed' && (
        <p role="alert" className="errors">
          {state.message}
        </p>
      )}
      {state.is === 'explained' && (
        <>
          {state.explained.timing && <Times timing={state.explained.timing} />}
          <Fields operation={state.explained.operation} />
        </>
      )}
    </div>
  );
}

function said(state: State): string {
  if (state.is === 'asking') return 'Asking…';
  if (state.is !== 'explained') return '';
  const { kind, name, cost, fields } = state.explained.operation;
  const hints = fields.flatMap((field) => field.statements ?? []).flatMap((statement) => statement.hints ?? []).length;
  const told = `${name ? `${name}, a ${kind}` : `A ${kind}`} of ${fields.length === 1 ? 'one field' : `${fields.length} fields`}, estimated to cost ${cost}.`;
  const run = kind === 'query' ? '' : ` It was not run: a ${kind} is only explained.`;
  return `${told}${run}${hints > 0 ? ` ${hints === 1 ? 'There is one hint' : `There are ${hints} hints`} below.` : ''}`;
}
