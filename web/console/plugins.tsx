// The panels of the console beside GraphiQL's own, each behind a button of the bar at the side.
import type { GraphiQLPlugin } from '@graphiql/react';
import { createContext, useContext } from 'react';
import type { Description } from './description';
import { ExplainPanel } from './explain/panel';
import { ServerPanel } from './server/panel';

/** GraphiQL makes panels without properties. */
export const Described = createContext<Description | null>(null);

const explain: GraphiQLPlugin = { title: 'Explain', icon: StopwatchIcon, content: ExplainPanel };
const server: GraphiQLPlugin = { title: 'Server', icon: ServerIcon, content: DescribedServer };
const all = [explain, server];
const withoutExplain = [server];

export function plugins(description: Description): GraphiQLPlugin[] {
  return description.explain ? all : withoutExplain;
}

/** Whether a panel that is open may stay so: one of GraphiQL's own, or one of ours that there still is. */
export function mayStay(panel: GraphiQLPlugin, panels: GraphiQLPlugin[]): boolean {
  return panels.includes(panel) || !all.includes(panel);
}

function DescribedServer() {
  const description = useContext(Described);
  return description && <ServerPanel description={description} />;
}

function StopwatchIcon() {
  return (
    <svg viewBox="0 0 24 24" width="1em" height="1em" fill="none" stroke="currentColor" strokeWidth="1.7" aria-hidden="true">
      <circle cx="12" cy="13.5" r="7.5" />
      <path d="M12 13.5V9M9.5 2.5h5M12 2.5V6M18 6.5l1.5 1.5" strokeLinecap="round" />
    </svg>
  );
}

function ServerIcon() {
  return (
    <svg viewBox="0 0 24 24" width="1em" height="1em" fill="none" stroke="currentColor" strokeWidth="1.7" aria-hidden="true">
      <rect x="3" y="4" width="18" height="7" rx="1.5" />
      <rect x="3" y="13" width="18" height="7" rx="1.5" />
      <path d="M7 7.5h.01M7 16.5h.01M11 7.5h6M11 16.5h6" strokeLinecap="round" />
    </svg>
  );
}
