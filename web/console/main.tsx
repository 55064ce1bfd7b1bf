// The console: GraphiQL over the sources that this server serves. What they are, and a query that works on them, comes
// from the server.
import 'graphiql/style.css';
import '../shared/colors.css';
import '../shared/plots.css';
import './console.css';
import './panels.css';

import type { GraphiQLPlugin } from '@graphiql/react';
import { createGraphiQLFetcher, type Fetcher } from '@graphiql/toolkit';
import { GraphiQL } from 'graphiql';
import { parse, print } from 'graphql';
import { createClient } from 'graphql-ws';
import { StrictMode, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { setTheme, startTheme } from '../shared/theme';
import { describe, type Description } from './description';
import { Identity } from './identity';
import { Described, mayStay, plugins } from './plugins';

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
      <div id="role" />
    </header>
  );
}

function Console({ first }: { first: Description }) {
  const [description, setDescription] = useState(first);
  // GraphiQL shuts its panels when they become others.
  const [open, setOpen] = useState<GraphiQLPlugin | null>(null);
  const panels = plugins(description);
  return (
    <Described value={description}>
      <Sources {...description} />
      <main>
        <GraphiQL
          fetcher={ask}
          defaultQuery={first.example}
          {...linked()}
          {...(first.refusal ? TOKEN : {})}
          shouldPersistHeaders={false}
          plugins={panels}
          visiblePlugin={open && mayStay(open, panels) ? open : undefined}
          onTogglePluginVisibility={setOpen}
        >
          <GraphiQL.Logo>
            <Identity description={description} onDescribed={setDescription} />
          </GraphiQL.Logo>
        </GraphiQL>
      </main>
    </Described>
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

// Plots have the colours of the page, which GraphiQL's settings choose.
startTheme();
new MutationObserver(() => {
  const { classList } = document.body;
  setTheme(classList.contains('graphiql-dark') ? 'dark' : classList.contains('graphiql-light') ? 'light' : null);
}).observe(document.body, { attributeFilter: ['class'] });

try {
  const description = await describe();
  const names = description.sources.map((source) => source.name).join(', ');
  document.title = names ? `${names} · Prony` : 'Prony';
  createRoot(place).render(
    <StrictMode>
      <Console first={description} />
    </StrictMode>,
  );
} catch (error) {
  place.textContent = `The console could not start: ${error instanceof Error ? error.message : String(error)}`;
}
