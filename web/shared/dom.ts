// Elements made in code. Text only ever becomes text nodes, so that names out of results cannot become markup.

export type Child = Node | string | null | undefined | false;
export type Attributes = Record<string, string | boolean | ((event: never) => void)>;

/** An element with attributes (functions are listeners: `onclick`) and children. */
export function h(tag: string, attributes: Attributes = {}, ...children: Child[]): HTMLElement {
  return fill(document.createElement(tag), attributes, children) as HTMLElement;
}

/** The same within an SVG. */
export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children) as SVGElement;
}

function fill(element: Element, attributes: Attributes, children: Child[]): Element {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') element.addEventListener(name.replace(/^on/, ''), value as EventListener);
    else if (value !== false) element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

let ids = 0;

/** An id that no other element has. */
export function newId(): string {
  ids += 1;
  return `id-${ids}`;
}

/** A section under a heading, which names it for those who cannot see it. */
export function section(title: string, name: string, ...children: Child[]): HTMLElement {
  const id = newId();
  return h('section', { class: name, 'aria-labelledby': id }, h('h2', { id }, title), ...children);
}
