// The fields in which it is chosen what is looked at.
import { type Child, h, newId } from '../../shared/dom';
import { RANGES, type Choice } from './choice';
import type { Attribute, Entity } from './rows';
import { local } from './time';

export interface Form {
  element: HTMLElement;
  /** Shows which entities there are. */
  offerEntities(all: Entity[], choice: Choice): void;
  offerAttributes(all: Attribute[], choice: Choice): void;
  /** Shows or hides the fields of two moments. */
  offerSpan(choice: Choice, from: number, to: number): void;
}

/** `changed` is told what has become another; `identified` that another tenant or token counts. */
export function form(choice: Choice, changed: (change: Partial<Choice>) => void, identified: (token: string) => void): Form {
  const ids = newId();
  const list = h('datalist', { id: ids });
  const type = select(() => changed({ type: type.value, entity: '', attribute: '' }));
  const entity = input('text', choice.entity, () => changed({ entity: entity.value, attribute: '' }), { list: ids, spellcheck: 'false' });
  const attribute = select(() => changed({ attribute: attribute.value }));
  const range = select(() => changed({ range: range.value }));
  options(range, [...RANGES.map(([name, text]) => [name, text] as [string, string]), ['between', 'between …']], choice.range);
  const from = input('datetime-local', choice.from, () => changed({ from: from.value }), { step: '1' });
  const to = input('datetime-local', choice.to, () => changed({ to: to.value }), { step: '1' });
  const unit = input('text', choice.unit, () => changed({ unit: unit.value.trim() }), { size: '6', placeholder: '°C' });
  const live = input('checkbox', '', () => changed({ isLive: live.checked }), {});
  live.checked = choice.isLive;
  const tenant = input('text', choice.tenant, () => changed({ tenant: tenant.value.trim(), type: '', entity: '', attribute: '' }), { size: '12' });
  const token = input('password', '', () => identified(token.value.trim()), { autocomplete: 'off', size: '16' });
  const between = [field('From', from), field('To', to)];
  const element = h(
    'form',
    { class: 'choice', onsubmit: (event: Event) => event.preventDefault() },
    field('Type', type),
    field('Entity', entity, list),
    field('Attribute', attribute),
    field('Range', range),
    ...between,
    field('Unit', unit),
    h('label', { class: 'live' }, live, ' Live'),
    h('details', {}, h('summary', {}, 'Tenant and token'), h('div', { class: 'choice' }, field('Tenant', tenant), field('Token', token))),
  );

  return {
    element,
    offerEntities(all, { type: chosen, entity: id }) {
      const types = [...new Set([...all.map((of) => of.type), chosen])].filter(Boolean);
      options(type, types.map((name) => [name, name]), chosen);
      list.replaceChildren(...all.filter((of) => of.type === chosen).map((of) => h('option', { value: of.id })));
      write(entity, id);
    },
    offerAttributes(all, { attribute: chosen }) {
      options(attribute, all.map(({ name }) => [name, name]), chosen);
    },
    offerSpan({ range: name, ...choice }, first, last) {
      for (const each of between) each.hidden = name !== 'between';
      if (!choice.from) write(from, local(first));
      if (!choice.to) write(to, local(last));
    },
  };
}

/** Leaves what somebody is writing. */
function write(into: HTMLInputElement, text: string): void {
  if (document.activeElement !== into) into.value = text;
}

function field(name: string, control: HTMLElement, ...more: Child[]): HTMLElement {
  return h('label', { class: 'field' }, h('span', {}, name), control, ...more);
}

function select(changed: () => void): HTMLSelectElement {
  return h('select', { onchange: changed }) as HTMLSelectElement;
}

function input(type: string, value: string, changed: () => void, attributes: Record<string, string>): HTMLInputElement {
  return h('input', { type, value, onchange: changed, ...attributes }) as HTMLInputElement;
}

/** Leaves a list as it is that has these already: it may be open. */
function options(of: HTMLSelectElement, all: [value: string, text: string][], chosen: string): void {
  const has = all.every(([value], place) => of.options[place]?.value === value) && of.options.length === all.length;
  if (has && of.value === chosen) return;
  of.replaceChildren(...all.map(([value, text]) => h('option', { value, selected: value === chosen }, text)));
  of.disabled = all.length === 0;
}
