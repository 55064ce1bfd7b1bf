//! What the methods of single elements give ([`super::members`]), found on the page.

use super::members::Member;
use super::{Document, FieldValue, Number, Query, Step};

/// A method's result.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    Nothing,
    Text(String),
    Truth(bool),
    Number(f64),
    Texts(Vec<String>),
    Node(Number),
    Nodes(Vec<Number>),
}

/// `url` is that of the page; empty where it is not known.
pub(super) fn fact(page: &Document, node: Number, url: &str, member: Member) -> Fact {
    let attribute = |name: &str| page.attribute(node, name);
    let text = |name: &str| attribute(name).unwrap_or_default().to_owned();
    match member {
        Member::Text(name) => Fact::Text(text(name)),
        Member::Flag(name) => Fact::Truth(attribute(name).is_some()),
        Member::Whole(name, default) => {
            let whole = attribute(name).and_then(|value| value.parse::<i64>().ok());
            Fact::Number(whole.map_or(default, |whole| whole as f64))
        }
        Member::Address(name) => {
            Fact::Text(attribute(name).map_or(String::new(), |value| resolve(url, value)))
        }
        Member::Word(name, words) => {
            let word = attribute(name).filter(|value| words.contains(value));
            Fact::Text(word.unwrap_or(words[0]).to_owned())
        }
        Member::Words(name) => {
            Fact::Texts(text(name).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect())
        }
        Member::Below(css) => Fact::Nodes(page.find(&[node], &Query::parse(css))),
        Member::CountBelow(css) => Fact::Number(page.find(&[node], &Query::parse(css)).len() as f64),
        Member::Child(name) => {
            let children = page.filter(&page.step(&[node], Step::Children), &Query::parse(name));
            children.first().map_or(Fact::Nothing, |child| Fact::Node(*child))
        }
        Member::Content => Fact::Text(page.text(&[node])),
        Member::Form => form(page, node).map_or(Fact::Nothing, Fact::Node),
        Member::Labels => Fact::Nodes(labels(page, node)),
        Member::Value => match page.value(&[node]) {
            Some(FieldValue::One(value)) => Fact::Text(value),
            Some(FieldValue::Many(values)) => Fact::Text(values.into_iter().next().unwrap_or_default()),
            None => Fact::Nothing,
        },
        Member::Place(within, among) => Fact::Number(place(page, node, within, among)),
        Member::Constant(word) => Fact::Text(word.to_owned()),
        Member::Part(name) => part(page, node, url, name),
    }
}

fn resolve(url: &str, value: &str) -> String {
    if url.is_empty() {
        return value.to_owned();
    }
    let resolved = url::Url::parse(url).and_then(|base| base.join(value));
    resolved.map_or_else(|_| value.to_owned(), String::from)
}

/// The form that an element is in, or that its attribute `form` names.
fn form(page: &Document, node: Number) -> Option<Number> {
    let around = page.closest(&[node], &Query::parse("form"));
    around.first().copied().or_else(|| by_id(page, page.attribute(node, "form")?))
}

fn by_id(page: &Document, id: &str) -> Option<Number> {
    page.find(&[Document::ROOT], &Query::parse("[id]"))
        .into_iter()
        .find(|node| page.attribute(*node, "id") == Some(id))
}

/// The label around an element, and those that name its id.
fn labels(page: &Document, node: Number) -> Vec<Number> {
    let around = page.closest(&[node], &Query::parse("label"));
    let Some(id) = page.attribute(node, "id") else { return around };
    let all = page.find(&[Document::ROOT], &Query::parse("label[for]"));
    let named: Vec<_> = all.into_iter().filter(|label| page.attribute(*label, "for") == Some(id)).collect();
    Document::add(&around, &named)
}

fn place(page: &Document, node: Number, within: &str, among: &str) -> f64 {
    let ancestors = page.filter(&page.step(&[node], Step::Parents), &Query::parse(within));
    let Some(nearest) = ancestors.first() else {
        return if within.starts_with("select") { 0.0 } else { -1.0 };
    };
    let siblings = page.find(&[*nearest], &Query::parse(among));
    siblings.iter().position(|other| *other == node).map_or(-1.0, |place| place as f64)
}

/// An attribute of a button or field, else that of its form.
fn form_attribute<'a>(page: &'a Document, node: Number, name: &str) -> Option<&'a str> {
    page.attribute(node, &format!("form{name}")).or_else(|| page.attribute(form(page, node)?, name))
}

fn part(page: &Document, node: Number, url: &str, name: &str) -> Fact {
    let attribute = |name: &str| page.attribute(node, name);
    let number = |name: &str| {
        attribute(name).and_then(|value| value.parse::<f64>().ok()).filter(|value| *value >= 0.0)
    };
    let progress = |otherwise: f64| {
        Fact::Number(number("value").map_or(otherwise, |value| value / number("max").unwrap_or(1.0)))
    };
    let is_multiple = attribute("multiple").is_some();
    match name {
        "formAction" => {
            let action = form_attribute(page, node, "action").unwrap_or_default();
            Fact::Text(if action.is_empty() { url.to_owned() } else { resolve(url, action) })
        }
        "formEnctype" => {
            let known = ["multipart/form-data", "text/plain"];
            let encoding = form_attribute(page, node, "enctype").filter(|value| known.contains(value));
            Fact::Text(encoding.unwrap_or("application/x-www-form-urlencoded").to_owned())
        }
        "formMethod" => {
            let is_post =
                form_attribute(page, node, "method").is_some_and(|value| value.eq_ignore_ascii_case("post"));
            Fact::Text(if is_post { "post" } else { "get" }.to_owned())
        }
        "formNoValidate" => Fact::Truth(form_attribute(page, node, "novalidate").is_some()),
        "formTarget" => Fact::Text(form_attribute(page, node, "target").unwrap_or_default().to_owned()),
        "control" => attribute("for").and_then(|id| by_id(page, id)).map_or(Fact::Nothing, Fact::Node),
        "progressMax" => Fact::Number(number("max").unwrap_or(1.0)),
        "progressValue" => progress(0.0),
        "progressPosition" => progress(-1.0),
        "optionLabel" => Fact::Text(attribute("label").map_or_else(|| page.text(&[node]), str::to_owned)),
        "textLength" => Fact::Number(attribute("value").unwrap_or_default().len() as f64),
        "selectSize" => Fact::Number(if is_multiple { 4.0 } else { 1.0 }),
        "selectType" => Fact::Text(if is_multiple { "select-multiple" } else { "select" }.to_owned()),
        "selectedIndex" => {
            let options = page.find(&[node], &Query::parse("option"));
            let selected = options.iter().position(|option| page.attribute(*option, "selected").is_some());
            Fact::Number(selected.map_or(-1.0, |place| place as f64))
        }
        _ => Fact::Text(address_part(&resolve(url, attribute("href").unwrap_or_default()), name)),
    }
}

/// A part of an address that belongs to no page.
fn relative_part(address: &str, name: &str) -> String {
    let (rest, hash) = address.split_once('#').unwrap_or((address, ""));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    match name {
        "pathname" => path.to_owned(),
        "search" if !query.is_empty() => format!("?{query}"),
        "hash" if !hash.is_empty() => format!("#{hash}"),
        "protocol" => ":".to_owned(),
        _ => String::new(),
    }
}

/// A part of an address, by the name of its property; empty where the address is none.
fn address_part(address: &str, name: &str) -> String {
    let Ok(url) = url::Url::parse(address) else { return relative_part(address, name) };
    let host = url.host_str().unwrap_or_default();
    match (name, url.port()) {
        ("hash", _) => {
            url.fragment().filter(|hash| !hash.is_empty()).map_or(String::new(), |hash| format!("#{hash}"))
        }
        ("host", Some(port)) => format!("{host}:{port}"),
        ("host", None) | ("hostname", _) => host.to_owned(),
        ("port", port) => port.map_or(String::new(), |port| port.to_string()),
        ("username", _) => url.username().to_owned(),
        ("password", _) => url.password().unwrap_or_default().to_owned(),
        ("origin", Some(port)) => format!("{}://{host}:{port}", url.scheme()),
        ("origin", None) => format!("{}://{host}", url.scheme()),
        ("pathname", _) => url.path().to_owned(),
        ("protocol", _) => url.scheme().to_owned(),
        ("search", _) => {
            url.query().filter(|query| !query.is_empty()).map_or(String::new(), |query| format!("?{query}"))
        }
        _ => String::new(),
    }
}
