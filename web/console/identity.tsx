// Who asks: the schema and what the page tells of the server follow the headers, and the role can be chosen where there are roles.
import { useEditorContext, useSchemaStore } from '@graphiql/react';
import { useEffect, useState, type FormEvent } from 'react';
import { createPortal } from 'react-dom';
import { describe, readHeaders, type Description } from './description';

/** After the last change of the headers. */
const SETTLED_MS = 500;
const ROLE = 'x-prony-role';

/** Headers that say the same are the same. */
function settled(text: string | undefined): string | null {
  const headers = readHeaders(text);
  return headers && JSON.stringify(Object.entries(headers).sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** Asks anew who it is for and what the schema is, once the headers are others. */
function useHeaders(onDescribed: (description: Description) => void): void {
  const { headerEditor } = useEditorContext({ nonNull: true });
  const introspect = useSchemaStore((store) => store.introspect);
  useEffect(() => {
    if (!headerEditor) return;
    let known = settled(headerEditor.getValue());
    let timer = 0;
    const ask = async () => {
      const now = settled(headerEditor.getValue());
      if (now === null || now === known) return;
      known = now;
      const described = await describe(readHeaders(headerEditor.getValue()) ?? {});
      if (known === now) onDescribed(described);
      await introspect();
    };
    const changed = () => {
      clearTimeout(timer);
      timer = window.setTimeout(() => void ask().catch(console.warn), SETTLED_MS);
    };
    headerEditor.on('change', changed);
    return () => {
      clearTimeout(timer);
      headerEditor.off('change', changed);
    };
  }, [headerEditor, introspect, onDescribed]);
}

/** In the place of GraphiQL that has no other content, as it is within what its editors are known in. */
export function Identity({ description, onDescribed }: { description: Description; onDescribed: (description: Description) => void }) {
  useHeaders(onDescribed);
  const place = document.getElementById('role');
  const hasRoles = description.role !== null || description.refusal !== undefined;
  return <span>{place && hasRoles && createPortal(<RoleChoice description={description} />, place)}</span>;
}

function RoleChoice({ description: { role, refusal } }: { description: Description }) {
  const { headerEditor } = useEditorContext({ nonNull: true });
  const [chosen, setChosen] = useState('');
  const choose = (event: FormEvent) => {
    event.preventDefault();
    const headers = readHeaders(headerEditor?.getValue());
    if (!headerEditor || !headers) return;
    const others = Object.entries(headers).filter(([name]) => name.toLowerCase() !== ROLE);
    const all = chosen.trim() ? [...others, [ROLE, chosen.trim()]] : others;
    headerEditor.setValue(all.length > 0 ? JSON.stringify(Object.fromEntries(all), null, 2) : '');
  };
  return (
    <form className="role" onSubmit={choose}>
      <label htmlFor="role-name">Role</label>
      <input
        id="role-name"
        value={chosen}
        placeholder={role?.name ?? 'not known'}
        onChange={(event) => setChosen(event.target.value)}
        autoComplete="off"
        spellCheck={false}
        size={12}
      />
      <button type="submit">Use</button>
      <span role="status" className={refusal ? 'refused' : undefined}>
        {refusal ?? (role ? `in use: ${role.name}${role.unrestricted ? ', which may do everything' : ''}` : '')}
      </span>
    </form>
  );
}
