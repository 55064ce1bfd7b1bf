//! The root field that says which entity types there are, with their attributes, of all tenants.

use prony_graphql::{
    Name,
    compiler::name,
    json,
    schema::{
        Contribution,
        build::{described_field, field_with_arguments, non_null, non_null_list, object},
    },
    selection::Field,
};
use prony_series_store::Catalog;

use super::{descriptions, objects::end_object};
use crate::hidden;

/// The root field.
pub(super) const TYPES_FIELD: Name = name!("seriesTypes");

/// What is selected of each entity type, or of each of its attributes.
#[derive(Debug)]
enum Member {
    Tenant,
    Name,
    EntityCount,
    Type,
    Attributes(Vec<(Name, Member)>),
    Typename(&'static str),
}

/// What is selected of all types.
#[derive(Debug)]
pub(super) struct TypesPlan(Vec<(Name, Member)>);

fn members(field: &Field, typename: &'static str) -> Vec<(Name, Member)> {
    let member = |field: &Field| {
        let member = match field.name.as_str() {
            "tenant" => Member::Tenant,
            "name" => Member::Name,
            "entityCount" => Member::EntityCount,
            "type" => Member::Type,
            "attributes" => Member::Attributes(members(field, "SeriesAttribute")),
            _ => Member::Typename(typename),
        };
        (field.response_key.clone(), member)
    };
    field.selections.iter().map(member).collect()
}

/// The root field and its types.
pub(super) fn contribution() -> Contribution {
    let (of, attribute) = (name!("SeriesType"), name!("SeriesAttribute"));
    let (text, whole) = (name!("String"), name!("Int"));
    let field =
        |name: &Name, ty, text: &str| described_field(field_with_arguments(name, Vec::new(), ty), text);
    let of_type = [
        field(&name!("tenant"), non_null(&text), descriptions::TENANT),
        field(&name!("name"), non_null(&text), descriptions::TYPE_NAME),
        field(&name!("entityCount"), non_null(&whole), descriptions::ENTITY_COUNT),
        field(&name!("attributes"), non_null_list(&attribute), descriptions::ATTRIBUTES),
    ];
    let of_attribute = [
        field(&name!("name"), non_null(&text), descriptions::ATTRIBUTE_NAME),
        field(&name!("type"), non_null(&text), descriptions::ATTRIBUTE_TYPE),
    ];
    Contribution {
        types: vec![
            object(&of, Some(descriptions::OF_TYPE.into()), of_type),
            object(&attribute, Some(descriptions::ATTRIBUTE.into()), of_attribute),
        ],
        query: vec![field(&TYPES_FIELD, non_null_list(&of), descriptions::TYPES)],
        ..Contribution::default()
    }
}

impl TypesPlan {
    pub(super) fn of(field: &Field) -> Self {
        Self(members(field, "SeriesType"))
    }

    pub(super) fn weight_bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    pub(super) fn respond(&self, catalog: &Catalog) -> Vec<u8> {
        let mut out = vec![b'['];
        for (place, (_, table)) in catalog.served_tables().enumerate() {
            if place > 0 {
                out.push(b',');
            }
            write_members(&mut out, &self.0, |out, member| match member {
                Member::Tenant => json::write_string(out, &table.tenant),
                Member::Name => json::write_string(out, &table.name),
                Member::EntityCount => {
                    out.extend_from_slice(itoa::Buffer::new().format(table.series.len()).as_bytes());
                }
                Member::Attributes(members) => {
                    out.push(b'[');
                    for (place, (_, attribute)) in hidden::visible(table).enumerate() {
                        if place > 0 {
                            out.push(b',');
                        }
                        write_members(out, members, |out, member| match member {
                            Member::Name => json::write_string(out, &attribute.name),
                            Member::Typename(name) => json::write_string(out, name),
                            _ => json::write_string(out, &attribute.declared),
                        });
                    }
                    out.push(b']');
                }
                Member::Typename(name) => json::write_string(out, name),
                Member::Type => out.extend_from_slice(b"null"),
            });
        }
        out.push(b']');
        out
    }
}

fn write_members(
    out: &mut Vec<u8>,
    members: &[(Name, Member)],
    mut write: impl FnMut(&mut Vec<u8>, &Member),
) {
    for (place, (key, member)) in members.iter().enumerate() {
        out.push(if place == 0 { b'{' } else { b',' });
        out.extend_from_slice(&json::member_prefix(key));
        write(out, member);
    }
    end_object(out, members.is_empty());
}
