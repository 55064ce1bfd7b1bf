// Selections and elements: lists of node numbers of a page that is kept in Rust.
import h from "prony:html";

const nodesOf = (other) => {
  if (typeof other === "string") return other;
  if (other instanceof Selection) return other._nodes;
  if (other instanceof Element) return [other._node];
  throw new TypeError(`invalid argument, cannot use a '${typeof other}' as a selector`);
};
const optional = (other) => (other === undefined || other === null ? undefined : nodesOf(other));
const to = (from, nodes) => new Selection(from._page, nodes, from.url, from);
const elements = (from, nodes) => nodes.map((node) => element(from, node));
const element = (from, node) => (node === undefined || node === null ? undefined : new (elementClass(from._page, node))(from._page, node, from.url));

export class Selection {
  constructor(page, nodes, url, previous) {
    for (const [name, value] of [["_page", page], ["_nodes", nodes], ["_previous", previous]]) {
      Object.defineProperty(this, name, { value });
    }
    this.url = url;
  }
  _keep(test) {
    return this._nodes.filter((node, index) => test(index, to(this, [node])));
  }
  find(other) { return to(this, h.walk(this._page, this._nodes, "find", nodesOf(other))); }
  closest(other) { return to(this, h.walk(this._page, this._nodes, "closest", nodesOf(other))); }
  has(other) { return to(this, h.walk(this._page, this._nodes, "has", nodesOf(other))); }
  add(other) { return to(this, h.walk(this._page, this._nodes, "add", nodesOf(other))); }
  filter(other) {
    if (typeof other === "function") return to(this, this._keep(other));
    return to(this, h.walk(this._page, this._nodes, "filter", nodesOf(other)));
  }
  not(other) {
    if (typeof other === "function") return to(this, this._keep((...args) => !other(...args)));
    return to(this, h.walk(this._page, this._nodes, "not", nodesOf(other)));
  }
  is(other) { return this.filter(other).size() > 0; }
  end() { return this._previous ?? to(this, []); }
  eq(index) { return to(this, this._nodes.slice(index, index === -1 ? undefined : index + 1)); }
  first() { return this.eq(0); }
  last() { return this.eq(-1); }
  slice(start, end) { return to(this, this._nodes.slice(start, end)); }
  size() { return this._nodes.length; }
  get(index) {
    if (index === undefined) return elements(this, this._nodes);
    return element(this, this._nodes.at(index));
  }
  toArray() { return this._nodes.map((node) => to(this, [node])); }
  index(other) {
    if (other === undefined) return h.index(this._page, this._nodes[0]);
    if (typeof other === "string") return h.walk(this._page, [0], "find", other).indexOf(this._nodes[0]);
    return this._nodes.indexOf(nodesOf(other)[0]);
  }
  each(visit) {
    if (typeof visit !== "function") throw new TypeError("the argument to each() must be a function");
    this._nodes.forEach((node, index) => { visit(index, element(this, node)); });
    return this;
  }
  map(visit) {
    if (typeof visit !== "function") throw new TypeError("the argument to map() must be a function");
    return this._nodes.map((node, index) => visit(index, to(this, [node])));
  }
  text() { return h.text(this._page, this._nodes); }
  html() { return h.html(this._page, this._nodes[0]); }
  attr(name, otherwise) { return h.attribute(this._page, this._nodes[0], name) ?? otherwise; }
  val() { return h.value(this._page, this._nodes); }
  data(name) { return h.data(this._page, this._nodes[0], name); }
  serialize() { return h.serialize(this._page, this._nodes); }
  serializeArray() { return h.fields(this._page, this._nodes); }
  serializeObject() { return Object.fromEntries(this.serializeArray().map(({ name, value }) => [name, value])); }
}
for (const step of ["children", "contents", "parent", "parents", "next", "nextAll", "prev", "prevAll", "siblings"]) {
  Selection.prototype[step] = function (filter) {
    return to(this, h.walk(this._page, this._nodes, step, optional(filter)));
  };
}
for (const step of ["nextAll", "prevAll", "parents"]) {
  Selection.prototype[step.replace("All", "") + "Until"] = function (until, filter) {
    return to(this, h.until(this._page, this._nodes, step, optional(until), filter));
  };
}

export class Element {
  constructor(page, node, url) {
    for (const [name, value] of [["_page", page], ["_node", node]]) Object.defineProperty(this, name, { value });
    Object.defineProperty(this, "url", { value: url });
  }
  selection() { return new Selection(this._page, [this._node], this.url); }
  getAttribute(name) { return h.attribute(this._page, this._node, name); }
  getAttributeNode(name) { return this.attributes()[name]; }
  hasAttribute(name) { return this.getAttribute(name) !== undefined; }
  hasAttributes() { return h.attributes(this._page, this._node).length > 0; }
  attributes() {
    const attribute = ([name, value]) => [name, {
      name, value, ownerElement: this, prefix: () => "", localName: () => name,
      namespaceURI: () => "http://www.w3.org/1999/xhtml",
    }];
    return Object.fromEntries(h.attributes(this._page, this._node).map(attribute));
  }
  isSameNode(other) { return other instanceof Element && other._page === this._page && other._node === this._node; }
  isEqualNode(other) { return other instanceof Element && other.innerHTML() === this.innerHTML(); }
  contains(other) { return other instanceof Element && !this.isSameNode(other) && h.contains(this._page, this._node, other._node); }
  matches(selector) { return this.selection().is(selector); }
  querySelector(selector) { return this.selection().find(selector).get(0); }
  querySelectorAll(selector) { return this.selection().find(selector).get(); }
  getElementsByClassName(name) { return this.querySelectorAll(`.${name}`); }
  getElementsByTagName(name) { return this.querySelectorAll(name); }
  innerHTML() { return h.html(this._page, this._node); }
  textContent() { return h.text(this._page, [this._node]); }
  children() { return this.selection().children().get(); }
  childNodes() { return this.selection().contents().get(); }
  childElementCount() { return this.selection().children().size(); }
  firstElementChild() { return this.selection().children().get(0); }
  lastElementChild() { return this.selection().children().get(-1); }
  nextElementSibling() { return this.selection().next().get(0); }
  previousElementSibling() { return this.selection().prev().get(0); }
  parentElement() { return this.selection().parent().get(0); }
  classList() { return (this.getAttribute("class") ?? "").split(/\s+/).filter(Boolean); }
  className() { return this.getAttribute("class"); }
  id() { return this.getAttribute("id") ?? ""; }
  lang() { return this.getAttribute("lang"); }
  isDefaultNamespace() { return h.node(this._page, this._node, "namespaceURI").endsWith("xhtml"); }
  hasChildNodes() { return this.firstChild() !== undefined; }
  ownerDocument() { return element(this, 0); }
  toString() { return this.nodeType() === 1 ? "[object html.Node]" : `[object ${this.nodeName()}]`; }
}
for (const relative of ["firstChild", "lastChild", "nextSibling", "previousSibling", "parentNode"]) {
  Element.prototype[relative] = function () { return element(this, h.node(this._page, this._node, relative)); };
}
for (const fact of ["nodeName", "nodeType", "nodeValue", "namespaceURI"]) {
  Element.prototype[fact] = function () { return h.node(this._page, this._node, fact); };
}

// Classes of elements with methods of their own, made at the first element of a name.
const classes = new Map();
function elementClass(page, node) {
  const name = h.node(page, node, "nodeName");
  if (!classes.has(name)) {
    const own = h.members(name);
    const named = own.length ? class extends Element {} : Element;
    for (const member of own) {
      named.prototype[member] = function () {
        const found = h.member(this._page, this._node, this.url ?? "", member);
        if (typeof found !== "object" || Array.isArray(found)) return found;
        return found.nodes ? elements(this, found.nodes) : element(this, found.node);
      };
    }
    classes.set(name, named);
  }
  return classes.get(name);
}

export function parseHTML(text, url) {
  return new Selection(h.parse(String(text)), [0], url);
}

export default { parseHTML };
