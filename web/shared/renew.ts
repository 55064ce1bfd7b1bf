// Draws a page anew in place: what is the same stays as it is, with its focus, its scrolling and what is unfolded. Parts with a
// state of their own (plots, sorted tables) are kept: each takes its new data itself.

interface Kept {
  element: HTMLElement;
  update: (data: never) => void;
}

/** Parts that are kept, by their keys; null on pages that are never drawn anew, which keep nothing. */
let parts: Map<string, Kept> | null = null;
let seen = new Set<string>();
let isDrawing = false;
/** Stands in a new tree for a part that is kept. */
const standIns = new WeakMap<Node, HTMLElement>();

/** From now on the page may be drawn anew. */
export function startRenewing(): void {
  parts = new Map();
}

/** A part that is made once and then given new data; `key` tells it from all others of the page. */
export function kept<T>(key: string, data: T, make: (data: T) => { element: HTMLElement; update: (data: T) => void }): HTMLElement {
  // What is drawn for itself, as after a click, is not drawn anew.
  if (!parts || !isDrawing || seen.has(key)) return make(data).element;
  seen.add(key);
  const found = parts.get(key);
  if (!found) {
    const made = make(data);
    parts.set(key, made);
    return made.element;
  }
  (found.update as (data: T) => void)(data);
  const standIn = document.createElement(found.element.tagName);
  standIns.set(standIn, found.element);
  return standIn;
}

/** Makes the children of `place` those that `build` makes. */
export function renew(place: HTMLElement, build: () => Node[]): void {
  seen = new Set();
  isDrawing = true;
  const fresh = build();
  isDrawing = false;
  renewChildren(place, fresh);
  // Parts that are gone from the page are made anew when they come back.
  for (const key of parts?.keys() ?? []) if (!seen.has(key)) parts?.delete(key);
}

/** The same where no part has a state of its own. */
export function renewChildren(old: Element, fresh: Node[]): void {
  const left = [...old.childNodes];
  const wanted = fresh.map((node) => {
    const original = standIns.get(node);
    const place = left.findIndex((other) => (original ? other === original : isSame(other, node)));
    const [found] = place >= 0 ? left.splice(place, 1) : [];
    if (!found) return adopted(original ?? node);
    if (!original) renewNode(found, node);
    return found;
  });
  for (const node of left) node.remove();
  // What stands in its place already is not moved, which would take its focus.
  let at: ChildNode | null = old.firstChild;
  for (const node of wanted) {
    if (node === at) at = at.nextSibling;
    else old.insertBefore(node, at);
  }
}

/** A new part of the tree may hold parts that are kept. */
function adopted(node: Node): Node {
  if (node instanceof Element) {
    for (const child of [...node.querySelectorAll('*')]) {
      const original = standIns.get(child);
      if (original) child.replaceWith(original);
    }
  }
  return node;
}

function isSame(old: Node, fresh: Node): boolean {
  if (isKept(old) || standIns.has(fresh)) return false;
  if (!(old instanceof Element) || !(fresh instanceof Element)) return old.nodeType === fresh.nodeType;
  const key = (element: Element) => element.getAttribute('data-key');
  return old.tagName === fresh.tagName && old.classList[0] === fresh.classList[0] && key(old) === key(fresh);
}

function isKept(node: Node): boolean {
  return [...(parts?.values() ?? [])].some(({ element }) => element === node);
}

/** What a reader has changed, and what names parts to each other, stays. */
const own = new Set(['id', 'open', 'aria-labelledby', 'aria-current', 'tabindex', 'style']);

function renewNode(old: Node, fresh: Node): void {
  if (!(old instanceof Element) || !(fresh instanceof Element)) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  for (const { name } of [...old.attributes]) if (!own.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (!own.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  if (old instanceof HTMLElement && fresh instanceof HTMLElement && old.style.cssText !== fresh.style.cssText) old.style.cssText = fresh.style.cssText;
  renewChildren(old, [...fresh.childNodes]);
}
