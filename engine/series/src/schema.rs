//! What there is as GraphQL: the types of entities with their attributes, of all tenants.

use std::{rc::Rc, time::SystemTime};

use futures_util::future::{LocalBoxFuture, join_all, ready};
use prony_graphql::{
    Name,
    compiler::name,
    error::GraphqlError,
    json,
    response::FieldResult,
    schema::{
        Contribution,
        build::{field_with_arguments, non_null, non_null_list, object},
    },
    selection::Field,
    variables::Variables,
};
use prony_series_store::Catalog;
use prony_source::{FieldPlan, FieldRequest, NotReady, PreparedField, SourceSchema, SourceSession};

use crate::series::{SeriesSource, with_causes};

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

/// A root field.
#[derive(Debug)]
struct TypesPlan(Vec<(Name, Member)>);

impl FieldPlan for TypesPlan {
    fn weight_bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.0)
    }

    fn waits(&self) -> bool {
        false
    }
}

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

impl SourceSchema for SeriesSource {
    fn contribution(&self) -> Contribution {
        let (of, attribute) = (name!("SeriesType"), name!("SeriesAttribute"));
        let (text, whole) = (name!("String"), name!("Int"));
        let field = |name: &Name, ty| field_with_arguments(name, Vec::new(), ty);
        let of_type = [
            field(&name!("tenant"), non_null(&text)),
            field(&name!("name"), non_null(&text)),
            field(&name!("entityCount"), non_null(&whole)),
            field(&name!("attributes"), non_null_list(&attribute)),
        ];
        let of_attribute = [field(&name!("name"), non_null(&text)), field(&name!("type"), non_null(&text))];
        Contribution {
            types: vec![
                object(&of, Some("A type of entities that have series."), of_type),
                object(
                    &attribute,
                    Some("An attribute of a type, with the type that it was first given."),
                    of_attribute,
                ),
            ],
            query: vec![field(&name!("seriesTypes"), non_null_list(&of))],
            ..Contribution::default()
        }
    }

    fn contents(&self) -> String {
        let read = self.series.store.read();
        let rows = read.row_count();
        let (types, entities) =
            read.with_catalog(|catalog| (catalog.all_types().count(), catalog.series_count()));
        format!("{types} types, {entities} entities, {rows} rows")
    }

    fn list_fields(&self) -> Vec<&str> {
        vec!["seriesTypes"]
    }

    fn example(&self) -> Option<String> {
        Some("{ seriesTypes { name entityCount attributes { name type } } }".to_owned())
    }

    fn plan(&self, request: &FieldRequest<'_>) -> Result<PreparedField, GraphqlError> {
        Ok(PreparedField::new(TypesPlan(members(request.field, "SeriesType"))))
    }
}

impl TypesPlan {
    fn respond(&self, catalog: &Catalog) -> FieldResult {
        let mut out = vec![b'['];
        for (place, table) in catalog.all_types().enumerate() {
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
                    for (place, (_, attribute)) in table.ids().enumerate() {
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
        FieldResult::data(out)
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
    out.push(b'}');
}

/// One core's part of a source of series.
#[derive(Debug)]
pub(crate) struct SeriesSession(pub(crate) SeriesSource);

impl SeriesSession {
    pub(crate) fn of(source: &SeriesSource) -> Rc<dyn SourceSession> {
        Rc::new(Self(source.clone()))
    }

    fn respond(&self, field: &PreparedField) -> FieldResult {
        self.0.series.store.read().with_catalog(|catalog| field.plan::<TypesPlan>().respond(catalog))
    }
}

impl SourceSession for SeriesSession {
    fn query<'a>(
        &'a self,
        field: &'a PreparedField,
        _variables: &'a Variables,
    ) -> LocalBoxFuture<'a, FieldResult> {
        Box::pin(ready(self.respond(field)))
    }

    fn mutate<'a>(
        &'a self,
        fields: &'a [&'a PreparedField],
        variables: &'a Variables,
    ) -> LocalBoxFuture<'a, Vec<FieldResult>> {
        Box::pin(join_all(fields.iter().map(|field| self.query(field, variables))))
    }

    fn try_answer(&self, field: &PreparedField, _variables: &Variables) -> Option<FieldResult> {
        Some(self.respond(field))
    }

    fn health(&self) -> LocalBoxFuture<'_, Result<(), String>> {
        Box::pin(ready(match self.0.series.store.health().log_failure {
            Some((error, _)) => Err(with_causes(&error)),
            None => Ok(()),
        }))
    }

    fn readiness(&self) -> LocalBoxFuture<'_, Result<(), NotReady>> {
        let failure = self.0.series.store.health().log_failure;
        let reason = failure
            .and_then(|(error, at)| NotReady::of_refused_write(error.is_disk_full(), at, SystemTime::now()));
        Box::pin(ready(reason.map_or(Ok(()), Err)))
    }
}
