// The console: GraphiQL over the sources that this server serves. What they are, and a query that works on them, comes
// from the server.
import 'graphiql/style.css';
import './console.css';

import { createGraphiQLFetcher, type Fetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { parse, print } from 'graphql';
import { createClient } from 'graphql-ws';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';

interface Source {
  name: string;
  database: string;
  contents: string;
}

interface Description {
  version: string;
  sources: Source[];
  example: string;
}

const socket = new URL('/graphql', window.location.href);
socket.protocol = socket.protocol === 'https:' ? 'wss:' : 'ws:';

/** Each subscription has a WebSocket of its own; pages cannot send headers with one, so `connection_init` carries them. */
const ask: Fetcher = (parameters, options) => {
  const wsClient = createClient({ url: socket.href, connectionParams: options?.headers });
  return createGraphiQLFetcher({ url: '/graphql', wsClient })(parameters, options);
};

/** What a link says is in the editor: `/?query=…&variables=…&operationName=…`, as of other GraphQL servers. */
function linked() {
  const link = new URLSearchParams(window.location.search);
  const said = (name: string) => link.get(name) ?? undefined;
  return { query: formatted(said('query')), variables: said('variables'), operationName: said('operationName') };
}

/** In links queries are on one line, which nobody reads. One that has lines or comments stays as it was written. */
function formatted(query?: string) {
  if (!query || /[\n#]/.test(query)) return query;
  try {
    return print(parse(query));
  } catch {
    // What is wrong with it is for the editor to show.
    return query;
  }
}

/** What is shown where nobody is told what is served before it is known who asks. */
const LOCKED: Description = {
  version: '',
  sources: [],
  example: '# Who asks is not known:\n# put a token under Headers, then re-fetch the schema (at the left below).\n{ __typename }\n',
};

async function describe(): Promise<Description> {
  const response = await fetch('/console.json');
  if (response.status === 401 || response.status === 403) return LOCKED;
  if (!response.ok) throw new Error(`the server answered ${response.status} to /console.json`);
  return (await response.json()) as Description;
}

/** The editor of headers, open, with what is missing. */
const TOKEN = {
  defaultHeaders: '{\n  "authorization": "Bearer "\n}',
  defaultEditorToolsVisibility: 'headers' as const,
};

function Sources({ sources, version }: Description) {
  return (
    <header className="sources" aria-label="Sources">
      <h1 title={version && `version ${version}`}>Prony</h1>
      {sources.map((source) => (
        <span key={source.name} title={source.database}>
          {source.name} <small>{source.contents}</small>
          {source.database === 'series' && (
            <>
              {' '}
              <a href="/series.html">Chart</a>
            </>
          )}
        </span>
      ))}
    </header>
  );
}

function Console({ description }: { description: Description }) {
  return (
    <>
      <Sources {...description} />
      <main>
        <GraphiQL
          fetcher={ask}
          defaultQuery={description.example}
          {...linked()}
          {...(description === LOCKED ? TOKEN : {})}
          shouldPersistHeaders={false}
        >
          <GraphiQL.Logo>
            <span />
          </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </>
  );
}

/** GraphiQL's editors, and what they are called for those who do not see them: it gives them no names. */
const EDITORS = {
  '.graphiql-query-editor': 'Query',
  '.graphiql-editor-tool > :nth-child(1)': 'Variables',
  '.graphiql-editor-tool > :nth-child(2)': 'Headers',
  '.result-window': 'Result',
};

function nameEditors() {
  for (const [selector, name] of Object.entries(EDITORS)) {
    document.querySelector(`${selector} .CodeMirror textarea`)?.setAttribute('aria-label', name);
  }
}

const place = document.getElementById('console');
if (!place) throw new Error('the page lacks its #console');

// They are made some time after the page, as what they need is loaded.
new MutationObserver(nameEditors).observe(place, { childList: true, subtree: true });

try {
  const description = await describe();
  const names = description.sources.map((source) => source.name).join(', ');
  document.title = names ? `${names} · Prony` : 'Prony';
  createRoot(place).render(
    <StrictMode>
      <Console description={description} />
    </StrictMode>,
  );
} catch (error) {
  place.textContent = `The console could not start: ${error instanceof Error ? error.message : String(error)}`;
}
