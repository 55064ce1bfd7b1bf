//! `/schema`: types of nodes and relationships and their declared properties.

use prony_graph_store::{Kind, Property, Read, Side, Type};
use prony_graphql::json::write_string;

use crate::http_api::{
    access::CallView,
    error::CallError,
    json::{write_list, write_separated},
    path::Call,
};

/// Writes the body of a response to a GET of it.
pub(super) fn write(view: &CallView<'_>, call: &Call<'_>, body: &mut Vec<u8>) -> Result<(), CallError> {
    match call {
        Call::Types(side) => write_types(body, view, *side),
        Call::Type(side, name) => {
            body.push(b'{');
            let of = seen_type(view, *side, name);
            let properties = of.into_iter().flat_map(|of| declared(view, *side, of));
            write_separated(body, properties, |out, (name, property)| {
                write_kind(out, name, property.kind.name());
            });
            body.push(b'}');
        }
        Call::Declared(side, type_name, name) => {
            let of = seen_type(view, *side, type_name);
            let mut properties = of.into_iter().flat_map(|of| declared(view, *side, of));
            let found = properties.find(|(known, _)| *known == &**name);
            body.push(b'{');
            write_kind(body, name, found.map_or("", |(_, property)| property.kind.name()));
            body.push(b'}');
        }
        Call::Indexes(side, Some(name)) => {
            let of = seen_type(view, *side, name);
            write_list(body, of.into_iter().flat_map(|of| indexed(view, *side, of)), write_string);
        }
        Call::Indexes(side, None) => {
            let mut types: Vec<_> = seen_types(view, *side).collect();
            types.retain(|of| indexed(view, *side, of).next().is_some());
            types.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            body.push(b'{');
            write_separated(body, types, |out, of| {
                write_string(out, &of.name);
                out.extend_from_slice(b": ");
                write_list(out, indexed(view, *side, of), write_string);
            });
            body.push(b'}');
        }
        _ => return Err(CallError::UnknownRoute),
    }
    Ok(())
}

/// Names, sorted.
pub(in crate::http_api) fn write_types(out: &mut Vec<u8>, view: &CallView<'_>, side: Side) {
    let mut names: Vec<&str> = seen_types(view, side).map(|of| &*of.name).collect();
    names.sort_unstable();
    write_list(out, names, write_string);
}

/// Types of which something can be seen.
fn seen_types<'r>(view: &CallView<'r>, side: Side) -> impl Iterator<Item = &'r Type> {
    let read: &'r Read = view.read;
    read.schema()
        .side(side)
        .all()
        .map(|(_, of)| &**of)
        .filter(move |of| view.type_number(side, &of.name).is_some())
}

fn seen_type<'r>(view: &CallView<'r>, side: Side, name: &str) -> Option<&'r Type> {
    let read: &'r Read = view.read;
    read.schema().side(side).get(view.type_number(side, name)?).map(|of| &**of)
}

/// The properties that can be read, by name.
fn declared<'r>(
    view: &CallView<'_>,
    side: Side,
    of: &'r Type,
) -> impl Iterator<Item = (&'r str, &'r Property)> {
    let readable = of.properties.iter().filter(move |(name, _)| view.reads_of_type(side, &of.name, name));
    readable.map(|(name, property)| (&**name, property))
}

/// Those of them that have an index.
fn indexed<'r>(view: &CallView<'_>, side: Side, of: &'r Type) -> impl Iterator<Item = &'r str> {
    declared(view, side, of).filter(|(_, property)| property.is_indexed).map(|(name, _)| name)
}

fn write_kind(out: &mut Vec<u8>, name: &str, kind: &str) {
    write_string(out, name);
    out.extend_from_slice(b": ");
    write_string(out, kind);
}

/// The kind that a data type names.
pub(in crate::http_api) fn kind(name: &str) -> Result<Kind, CallError> {
    Kind::parse(name).ok_or_else(|| {
        let names: Vec<String> = Kind::ALL.iter().map(|kind| format!("\"{}\"", kind.name())).collect();
        CallError::BadRequest(format!("Allowed data types: {}", names.join(", ")).into())
    })
}
