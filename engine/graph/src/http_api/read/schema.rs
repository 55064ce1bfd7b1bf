//! `/schema`: types of nodes and relationships and their declared properties.

use prony_graph_store::{Kind, Read, Side, Type};
use prony_graphql::json::write_string;

use crate::http_api::{
    error::CallError,
    json::{write_list, write_separated},
    path::Call,
};

/// Writes the body of a response to a GET of it.
pub(super) fn write(read: &Read, call: &Call<'_>, body: &mut Vec<u8>) -> Result<(), CallError> {
    match call {
        Call::Types(side) => write_types(body, read, *side),
        Call::Type(side, name) => {
            body.push(b'{');
            let types = read.schema().side(*side);
            let of = types.number(name).and_then(|number| types.get(number));
            let properties = of.iter().flat_map(|of| &of.properties);
            write_separated(body, properties, |out, (name, property)| {
                write_kind(out, name, property.kind.name());
            });
            body.push(b'}');
        }
        Call::Declared(side, type_name, name) => {
            let types = read.schema().side(*side);
            let of = types.number(type_name).and_then(|number| types.get(number));
            let kind =
                of.and_then(|of| of.properties.get(&**name)).map_or("", |property| property.kind.name());
            body.push(b'{');
            write_kind(body, name, kind);
            body.push(b'}');
        }
        Call::Indexes(side, Some(name)) => {
            let types = read.schema().side(*side);
            let of = types.number(name).and_then(|number| types.get(number));
            write_list(body, of.iter().flat_map(|of| indexed(of)), write_string);
        }
        Call::Indexes(side, None) => {
            let mut types: Vec<_> = read.schema().side(*side).all().map(|(_, of)| of).collect();
            types.retain(|of| indexed(of).next().is_some());
            types.sort_unstable_by(|a, b| a.name.cmp(&b.name));
            body.push(b'{');
            write_separated(body, types, |out, of| {
                write_string(out, &of.name);
                out.extend_from_slice(b": ");
                write_list(out, indexed(of), write_string);
            });
            body.push(b'}');
        }
        _ => return Err(CallError::UnknownRoute),
    }
    Ok(())
}

/// The properties that have an index, by name.
fn indexed(of: &Type) -> impl Iterator<Item = &str> {
    of.properties.iter().filter(|(_, property)| property.is_indexed).map(|(name, _)| &**name)
}

/// Names, sorted.
pub(in crate::http_api) fn write_types(out: &mut Vec<u8>, read: &Read, side: Side) {
    let mut names: Vec<&str> = read.schema().side(side).all().map(|(_, of)| &*of.name).collect();
    names.sort_unstable();
    write_list(out, names, write_string);
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
