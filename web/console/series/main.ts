// The chart of a series: an entity, an attribute, a range of time; again every two seconds where it is live.
import 'uplot/dist/uPlot.min.css';
import '../../shared/page.css';
import './series.css';

import { bar } from '../../shared/bar';
import { h } from '../../shared/dom';
import { startTheme } from '../../shared/theme';
import { readChoice, span, writeChoice } from './choice';
import { form } from './form';
import { nothing, plot, sentence, valueTable } from './plot';
import { attributes, entities, points, type Attribute, type Entity, type Points } from './rows';

/** Between two looks at a series that is live. */
const LIVE_MS = 2000;

const place = document.getElementById('series');
if (!place) throw new Error('the page lacks its #series');

let choice = readChoice();
let token = '';
let known: Entity[] = [];
let numeric: Attribute[] = [];
/** What is shown, so that the same is not drawn again. */
let shown = '';
/** Of several that are under way the last counts. */
let turn = 0;

startTheme();
const said = h('p', { class: 'said', role: 'status' });
const fault = h('p', { class: 'notice fault', role: 'alert', hidden: true });
const drawing = h('div', { class: 'drawing' });
const rows = h('div', {});
const listed = h('details', { class: 'listed', ontoggle: () => showRows() }, h('summary', {}, 'Values as a table'), rows);
const fields = form(
  choice,
  (change) => {
    choice = { ...choice, ...change };
    const isAbout = 'type' in change || 'entity' in change || 'tenant' in change;
    void load('tenant' in change, isAbout);
  },
  (given) => {
    token = given;
    void load(true, true);
  },
);
place.append(
  bar(h('a', { href: '/' }, 'Prony')),
  h('main', {}, h('header', {}, h('h1', {}, 'Series')), fields.element, fault, said, drawing, listed),
);
let current: Points | null = null;
void load(true, true);
window.setInterval(() => {
  if (choice.isLive && !document.hidden) void load(known.length === 0, true);
}, LIVE_MS);
document.addEventListener('visibilitychange', () => {
  if (choice.isLive && !document.hidden) void load(known.length === 0, true);
});

/** Asks for what is chosen, and shows it; what was not chosen is the first that there is. */
async function load(withEntities: boolean, withAttributes: boolean): Promise<void> {
  turn += 1;
  const mine = turn;
  try {
    const identity = { tenant: choice.tenant, token };
    if (withEntities) known = await entities(identity);
    if (mine !== turn) return;
    const first = known.find(({ type }) => !choice.type || type === choice.type);
    if (!choice.type || !choice.entity) choice = { ...choice, type: choice.type || (first?.type ?? ''), entity: choice.entity || (first?.id ?? '') };
    fields.offerEntities(known, choice);
    if (!choice.entity) return empty('There are no entities yet: POST /v2/notify or /ngsi-ld/v1/temporal/entities brings some.');
    const entity = { id: choice.entity, type: choice.type };
    if (withAttributes) numeric = await attributes(entity, identity);
    if (mine !== turn) return;
    const attribute = numeric.find(({ name }) => name === choice.attribute) ?? numeric[0];
    choice = { ...choice, attribute: attribute?.name ?? '' };
    fields.offerAttributes(numeric, choice);
    writeChoice(choice);
    if (!attribute) return empty(`${entity.id} has no attribute with numbers. A role needs "aggregates" to see some here.`);
    const [from, to] = span(choice, attribute.from, attribute.to);
    fields.offerSpan(choice, from, to);
    const found = from <= to ? await points(entity, attribute.name, from, to, identity) : null;
    if (mine === turn) show(found);
  } catch (error) {
    if (mine !== turn) return;
    fault.textContent = error instanceof Error ? error.message : String(error);
    fault.hidden = false;
  }
}

function empty(words: string): void {
  fault.hidden = true;
  [shown, current] = ['', null];
  said.textContent = '';
  drawing.replaceChildren(nothing(words));
  showRows();
}

function show(found: Points | null): void {
  if (!found || found.values.length === 0) return empty('There are no values in this range.');
  fault.hidden = true;
  const subject = { entity: choice.entity, attribute: choice.attribute, unit: choice.unit };
  const now = JSON.stringify([subject, found]);
  if (now === shown) return;
  [shown, current] = [now, found];
  document.title = `${choice.attribute} of ${choice.entity} · Prony`;
  said.textContent = sentence(subject, found);
  const hadFocus = drawing.contains(document.activeElement);
  drawing.replaceChildren(plot(subject, found));
  if (hadFocus) drawing.querySelector<HTMLElement>('.canvas')?.focus();
  showRows();
}

/** The table is made once somebody opens it. */
function showRows(): void {
  listed.hidden = current === null;
  const isOpen = (listed as HTMLDetailsElement).open;
  const subject = { entity: choice.entity, attribute: choice.attribute, unit: choice.unit };
  rows.replaceChildren(...(isOpen && current ? [valueTable(subject, current)] : []));
}
