//! `k6/html` in JavaScript: functions of a page and node numbers, beneath the classes of `html.js`.

use super::members::members;
use super::{DataValue, Document, FieldValue, NodeType, Number, Query, Step, Until, facts};
use crate::modules::binding::{hold, with_held};
use crate::vm::{Builtin, Native};
use rquickjs::function::Opt;
use rquickjs::{Coerced, Ctx, Exception, Function, IntoJs as _, Object, Value};
use std::rc::Rc;

pub(in crate::modules) const MODULE: Builtin =
    Builtin { specifier: "k6/html", text: include_str!("html.js") };
pub(in crate::modules) const NATIVE: Native = Native { name: "prony:html", install };

type Page = Rc<Document>;

fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("parse", Function::new(ctx.clone(), parse)?)?;
    exports.set("walk", Function::new(ctx.clone(), walk)?)?;
    exports.set("until", Function::new(ctx.clone(), until)?)?;
    exports.set("index", Function::new(ctx.clone(), index)?)?;
    exports.set("contains", Function::new(ctx.clone(), contains)?)?;
    exports.set("text", Function::new(ctx.clone(), text)?)?;
    exports.set("html", Function::new(ctx.clone(), html)?)?;
    exports.set("attribute", Function::new(ctx.clone(), attribute)?)?;
    exports.set("attributes", Function::new(ctx.clone(), attributes)?)?;
    exports.set("value", Function::new(ctx.clone(), value)?)?;
    exports.set("data", Function::new(ctx.clone(), data)?)?;
    exports.set("fields", Function::new(ctx.clone(), fields)?)?;
    exports.set("serialize", Function::new(ctx.clone(), serialize)?)?;
    exports.set("node", Function::new(ctx.clone(), node)?)?;
    exports.set("members", Function::new(ctx.clone(), member_names)?)?;
    exports.set("member", Function::new(ctx.clone(), member)?)
}

fn page<'js>(ctx: &Ctx<'js>, held: &Value<'js>) -> rquickjs::Result<Page> {
    with_held(ctx, held, |page: &mut Page| Rc::clone(page))
}

fn numbers(nodes: Vec<u32>) -> Vec<Number> {
    nodes.into_iter().map(Number).collect()
}

fn plain(nodes: Vec<Number>) -> Vec<u32> {
    nodes.into_iter().map(|number| number.0).collect()
}

fn parse(ctx: Ctx<'_>, text: String) -> rquickjs::Result<Value<'_>> {
    hold(&ctx, Rc::new(Document::parse(&text)))
}

/// A selector's text or node numbers.
enum Other {
    Nothing,
    Query(Query),
    Nodes(Vec<Number>),
}

impl Other {
    fn of(argument: Option<Value<'_>>) -> rquickjs::Result<Self> {
        let Some(argument) = argument.filter(|argument| !argument.is_undefined()) else {
            return Ok(Self::Nothing);
        };
        Ok(match argument.as_string() {
            Some(text) => Self::Query(Query::parse(&text.to_string()?)),
            None => Self::Nodes(numbers(argument.get()?)),
        })
    }
}

/// From nodes to nodes, by the name of jQuery's method.
fn walk<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    nodes: Vec<u32>,
    method: String,
    other: Opt<Value<'js>>,
) -> rquickjs::Result<Vec<u32>> {
    let page = page(&ctx, &held)?;
    let nodes = numbers(nodes);
    let found = match (method.as_str(), Other::of(other.0)?) {
        ("find", Other::Query(query)) => page.find(&nodes, &query),
        ("find", Other::Nodes(others)) => page.find_nodes(&nodes, &others),
        ("closest", Other::Query(query)) => page.closest(&nodes, &query),
        ("closest", Other::Nodes(others)) => page.closest_nodes(&nodes, &others),
        ("has", Other::Query(query)) => page.has(&nodes, &query),
        ("has", Other::Nodes(others)) => page.has_nodes(&nodes, &others),
        ("add", Other::Query(query)) => Document::add(&nodes, &page.find(&[Document::ROOT], &query)),
        ("add", Other::Nodes(others)) => Document::add(&nodes, &others),
        ("filter", Other::Query(query)) => page.filter(&nodes, &query),
        ("filter", Other::Nodes(others)) => nodes.into_iter().filter(|node| others.contains(node)).collect(),
        ("not", Other::Query(query)) => page.not(&nodes, &query),
        ("not", Other::Nodes(others)) => nodes.into_iter().filter(|node| !others.contains(node)).collect(),
        (step, filter) => {
            let Some(step) = Step::named(step) else {
                return Err(Exception::throw_type(&ctx, "a selector is needed"));
            };
            match filter {
                Other::Query(query) => page.filter(&page.step(&nodes, step), &query),
                _ => page.step(&nodes, step),
            }
        }
    };
    Ok(plain(found))
}

fn until<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    nodes: Vec<u32>,
    step: String,
    end: Opt<Value<'js>>,
    filter: Opt<Value<'js>>,
) -> rquickjs::Result<Vec<u32>> {
    let page = page(&ctx, &held)?;
    let nodes = numbers(nodes);
    let step = Step::named(&step).ok_or_else(|| Exception::throw_type(&ctx, "no such step"))?;
    let found = match Other::of(end.0)? {
        Other::Nothing => page.step(&nodes, step),
        Other::Query(query) => page.step_until(&nodes, step, &Until::Query(&query)),
        Other::Nodes(ends) => page.step_until(&nodes, step, &Until::Nodes(&ends)),
    };
    Ok(plain(match Other::of(filter.0)? {
        Other::Query(query) => page.filter(&found, &query),
        _ => found,
    }))
}

fn index<'js>(ctx: Ctx<'js>, held: Value<'js>, node: Opt<Coerced<f64>>) -> rquickjs::Result<f64> {
    let page = page(&ctx, &held)?;
    Ok(first(node).map_or(-1.0, |number| page.index(number) as f64))
}

/// Nothing where a selection has no first node.
fn first(node: Opt<Coerced<f64>>) -> Option<Number> {
    node.0.filter(|node| node.0 >= 0.0).map(|node| Number(node.0 as u32))
}

fn contains<'js>(ctx: Ctx<'js>, held: Value<'js>, outer: u32, inner: u32) -> rquickjs::Result<bool> {
    Ok(page(&ctx, &held)?.contains(Number(outer), Number(inner)))
}

fn text<'js>(ctx: Ctx<'js>, held: Value<'js>, nodes: Vec<u32>) -> rquickjs::Result<String> {
    Ok(page(&ctx, &held)?.text(&numbers(nodes)))
}

fn html<'js>(ctx: Ctx<'js>, held: Value<'js>, node: Opt<Coerced<f64>>) -> rquickjs::Result<String> {
    let page = page(&ctx, &held)?;
    Ok(first(node).map(|number| page.inner_html(number)).unwrap_or_default())
}

fn attribute<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    node: Opt<Coerced<f64>>,
    name: Opt<Coerced<String>>,
) -> rquickjs::Result<Value<'js>> {
    let page = page(&ctx, &held)?;
    let name = name.0.map(|name| name.0).unwrap_or_default();
    match first(node).and_then(|number| page.attribute(number, &name)) {
        Some(value) => value.into_js(&ctx),
        None => Ok(Value::new_undefined(ctx)),
    }
}

fn attributes<'js>(ctx: Ctx<'js>, held: Value<'js>, node: u32) -> rquickjs::Result<Vec<Vec<String>>> {
    let page = page(&ctx, &held)?;
    let pairs = page.attributes(Number(node)).into_iter();
    Ok(pairs.map(|(name, value)| vec![name.to_owned(), value.to_owned()]).collect())
}

fn value<'js>(ctx: Ctx<'js>, held: Value<'js>, nodes: Vec<u32>) -> rquickjs::Result<Value<'js>> {
    let page = page(&ctx, &held)?;
    match page.value(&numbers(nodes)) {
        Some(value) => field_value(&ctx, value),
        None => Ok(Value::new_undefined(ctx)),
    }
}

fn field_value<'js>(ctx: &Ctx<'js>, value: FieldValue) -> rquickjs::Result<Value<'js>> {
    match value {
        FieldValue::One(text) => text.into_js(ctx),
        FieldValue::Many(texts) => texts.into_js(ctx),
    }
}

fn data<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    node: Opt<Coerced<f64>>,
    name: Opt<Value<'js>>,
) -> rquickjs::Result<Value<'js>> {
    let page = page(&ctx, &held)?;
    let Some(node) = first(node).filter(|node| !page.attributes(*node).is_empty()) else {
        return Ok(Value::new_undefined(ctx));
    };
    if let Some(name) = name.0.filter(|name| !name.is_undefined()) {
        let name: Coerced<String> = name.get()?;
        return data_value(&ctx, page.data(node, &name.0));
    }
    let object = Object::new(ctx.clone())?;
    for (name, value) in page.all_data(node) {
        object.set(name, data_value(&ctx, value)?)?;
    }
    Ok(object.into_value())
}

fn data_value<'js>(ctx: &Ctx<'js>, value: DataValue) -> rquickjs::Result<Value<'js>> {
    match value {
        DataValue::Undefined => Ok(Value::new_undefined(ctx.clone())),
        DataValue::Boolean(truth) => truth.into_js(ctx),
        DataValue::Number(number) => number.into_js(ctx),
        DataValue::Text(text) => text.into_js(ctx),
        DataValue::Json(json) => ctx.json_parse(json),
    }
}

fn fields<'js>(ctx: Ctx<'js>, held: Value<'js>, nodes: Vec<u32>) -> rquickjs::Result<Vec<Object<'js>>> {
    let page = page(&ctx, &held)?;
    let fields = page.fields(&numbers(nodes)).into_iter().map(|(name, value)| {
        let field = Object::new(ctx.clone())?;
        field.set("name", name)?;
        field.set("value", field_value(&ctx, value)?)?;
        Ok(field)
    });
    fields.collect()
}

fn serialize<'js>(ctx: Ctx<'js>, held: Value<'js>, nodes: Vec<u32>) -> rquickjs::Result<String> {
    Ok(page(&ctx, &held)?.serialize(&numbers(nodes)))
}

/// One fact of a node, or the number of a relative.
fn node<'js>(ctx: Ctx<'js>, held: Value<'js>, node: u32, fact: String) -> rquickjs::Result<Value<'js>> {
    let page = page(&ctx, &held)?;
    let node = Number(node);
    let relative = match fact.as_str() {
        "nodeName" => return page.node_name(node).into_js(&ctx),
        "nodeType" => return page.node_type(node).map(|kind| kind as u32).into_js(&ctx),
        "nodeValue" => {
            let is_text = matches!(page.node_type(node), Some(NodeType::Text | NodeType::Comment));
            return if is_text { page.text(&[node]).into_js(&ctx) } else { Ok(Value::new_undefined(ctx)) };
        }
        "namespaceURI" => {
            return match page.namespace(node) {
                "svg" => "http://www.w3.org/2000/svg",
                "math" => "http://www.w3.org/1998/Math/MathML",
                _ => "http://www.w3.org/1999/xhtml",
            }
            .into_js(&ctx);
        }
        "firstChild" => page.first_child(node),
        "lastChild" => page.last_child(node),
        "nextSibling" => page.next_sibling(node),
        "previousSibling" => page.previous_sibling(node),
        _ => page.parent(node),
    };
    match relative {
        Some(number) => number.0.into_js(&ctx),
        None => Ok(Value::new_undefined(ctx)),
    }
}

fn member_names(name: String) -> Vec<&'static str> {
    members(&name).map(|(name, _)| *name).collect()
}

/// What a method of a single element gives: `{node}` and `{nodes}` where that is elements.
fn member<'js>(
    ctx: Ctx<'js>,
    held: Value<'js>,
    node: u32,
    url: String,
    name: String,
) -> rquickjs::Result<Value<'js>> {
    let page = page(&ctx, &held)?;
    let node = Number(node);
    let found = members(page.node_name(node)).find(|(known, _)| *known == name);
    let Some((_, member)) = found else { return Ok(Value::new_undefined(ctx)) };
    let wrapped = |name: &str, value: Value<'js>| -> rquickjs::Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        object.set(name, value)?;
        Ok(object.into_value())
    };
    match facts::fact(&page, node, &url, *member) {
        facts::Fact::Nothing => Ok(Value::new_undefined(ctx)),
        facts::Fact::Text(text) => text.into_js(&ctx),
        facts::Fact::Truth(truth) => truth.into_js(&ctx),
        facts::Fact::Number(number) => number.into_js(&ctx),
        facts::Fact::Texts(texts) => texts.into_js(&ctx),
        facts::Fact::Node(node) => wrapped("node", node.0.into_js(&ctx)?),
        facts::Fact::Nodes(nodes) => wrapped("nodes", plain(nodes).into_js(&ctx)?),
    }
}
