//! From a root field's selection to a [`Plan`].

use std::{collections::HashMap, sync::Arc};

use prony_graphql::{
    error::{ErrorCode, GraphqlError},
    json,
    selection::{Field, Value},
};
use prony_series_store::{AttributeId, calendar::Period};
use prony_source::dialect::RowCount;

use super::{
    model::{Model, ServedType},
    names::ServedAttribute,
    plan::{
        EntitiesPlan, EntityList, EntityOutput, EventsPlan, ListId, Plan, PointOutput, Root, RowOutput,
        Selected, SummariesPlan, SummaryOutput, TimeList,
    },
    types::{TYPES_FIELD, TypesPlan},
};
use crate::{
    access::filter::{Filter, Operator, Subject},
    query::{parameters::Method, percentile::Percentile},
};

/// The values of `SeriesPeriod`.
pub(super) const PERIODS: [(&str, Period); 6] = [
    ("YEAR", Period::Year),
    ("MONTH", Period::Month),
    ("DAY", Period::Day),
    ("HOUR", Period::Hour),
    ("MINUTE", Period::Minute),
    ("SECOND", Period::Second),
];

/// The fields of `SeriesSummary`, beside the time.
pub(super) const METHODS: [(&str, Method); 13] = [
    ("count", Method::Count),
    ("sum", Method::Sum),
    ("avg", Method::Avg),
    ("min", Method::Min),
    ("max", Method::Max),
    ("first", Method::First),
    ("last", Method::Last),
    ("stddev", Method::StdDev),
    ("timeWeightedAvg", Method::TimeWeightedAvg),
    ("p50", Method::Percentile(Percentile::whole(50))),
    ("p90", Method::Percentile(Percentile::whole(90))),
    ("p95", Method::Percentile(Percentile::whole(95))),
    ("p99", Method::Percentile(Percentile::whole(99))),
];

/// The root fields of a model by name.
#[derive(Debug, Default)]
pub(super) struct RootIndex(HashMap<Box<str>, (RootKind, Arc<ServedType>)>);

#[derive(Debug, Clone, Copy)]
enum RootKind {
    Many,
    One,
    Rows,
}

impl RootIndex {
    pub(super) fn new(model: &Model) -> Self {
        let mut index = Self::default();
        for of in &model.types {
            for (name, kind) in [
                (&of.list_name, RootKind::Many),
                (&of.single_name, RootKind::One),
                (&of.event_name, RootKind::Rows),
            ] {
                index.0.insert(name.clone(), (kind, Arc::clone(of)));
            }
        }
        index
    }

    /// Plans one root field.
    pub(super) fn lower(&self, field: &Field) -> Result<Plan, GraphqlError> {
        let root = if field.name == TYPES_FIELD {
            Root::Types(TypesPlan::of(field))
        } else {
            let (kind, of) = self.0.get(field.name.as_str()).ok_or_else(|| unknown_field(field))?;
            root_of(*kind, of, field).map_err(|message| {
                GraphqlError::new(ErrorCode::ValidationFailed, message).at(field.position)
            })?
        };
        Ok(Plan { response_key: field.response_key.as_str().into(), position: field.position, root })
    }
}

/// An error says what a checked document cannot ask for.
fn root_of(kind: RootKind, of: &Arc<ServedType>, field: &Field) -> Result<Root, String> {
    let filter = match kind {
        RootKind::Many | RootKind::Rows => Filter::of(field.argument("where"))?,
        RootKind::One => named(field),
    };
    // What the request names comes first: it says where to look.
    let filter = filter.and(of.visible.clone());
    let of = Arc::clone(of);
    if matches!(kind, RootKind::Rows) {
        let outputs = row_outputs(&of, field)?;
        return Ok(Root::Rows(EventsPlan { of, filter, outputs }));
    }
    let list = match kind {
        RootKind::Many => {
            let limit = row_count(field, "limit", of.limit);
            EntityList::Many { limit, offset: row_count(field, "offset", None) }
        }
        RootKind::One | RootKind::Rows => EntityList::One,
    };
    let mut lists = Vec::new();
    let mut outputs = Vec::with_capacity(field.selections.len());
    for child in &field.selections {
        let kind = entity_output(&of, child, &mut lists)?;
        outputs.push(Selected { prefix: prefix(child, outputs.is_empty()), kind });
    }
    Ok(Root::Entities(EntitiesPlan { of, filter, list, outputs, lists }))
}

/// The entity with an id, and with a service path where one is given.
fn named(field: &Field) -> Filter {
    let equal = |subject, argument: &str| {
        let operand = field.argument(argument).filter(|value| **value != Value::Null)?;
        Some(Filter::Compare { subject, operator: Operator::Equal, operand: operand.clone() })
    };
    let of_id = equal(Subject::Id, "id").unwrap_or_else(Filter::nothing);
    match equal(Subject::ServicePath, "servicePath") {
        Some(of_path) => of_id.and(of_path),
        None => of_id,
    }
}

fn entity_output(of: &ServedType, field: &Field, lists: &mut Vec<TimeList>) -> Result<EntityOutput, String> {
    Ok(match field.name.as_str() {
        "__typename" => EntityOutput::Typename(field.parent_type.as_str().into()),
        "id" => EntityOutput::Id,
        "type" => EntityOutput::Type,
        "servicePath" => EntityOutput::ServicePath,
        "firstTime" => EntityOutput::FirstTime,
        "lastTime" => EntityOutput::LastTime,
        "rows" => {
            let outputs = row_outputs(of, field)?;
            EntityOutput::Rows { list: time_list(of, field, lists), attributes: read_by(&outputs), outputs }
        }
        name => {
            if let Some(attribute) = readable(of, name) {
                let outputs = outputs_of(field, |child| point_output(of, attribute, child))?;
                let list = time_list(of, field, lists);
                let ServedAttribute { id, kind, .. } = *attribute;
                let hidden = outputs.iter().filter_map(|of| of.kind.hidden());
                let mut attributes: Vec<AttributeId> = [id].into_iter().chain(hidden).collect();
                attributes.sort_unstable();
                attributes.dedup();
                return Ok(EntityOutput::Points { list, attribute: id, kind, attributes, outputs });
            }
            let summed = |known: &&ServedAttribute| known.aggregate.as_deref() == Some(name);
            let attribute = of.attributes.iter().find(summed).ok_or_else(|| unknown(field))?;
            let mut methods = Vec::new();
            let outputs = outputs_of(field, |child| summary_output(child, &mut methods))?;
            EntityOutput::Summaries(SummariesPlan {
                list: time_list(of, field, lists),
                attribute: attribute.id,
                kind: attribute.kind,
                period: period(field),
                methods,
                outputs,
            })
        }
    })
}

fn readable<'t>(of: &'t ServedType, name: &str) -> Option<&'t ServedAttribute> {
    of.attributes.iter().find(|known| known.is_readable && *known.field == *name)
}

fn time_list(of: &ServedType, field: &Field, lists: &mut Vec<TimeList>) -> ListId {
    let given = |name: &str| field.argument(name).filter(|value| **value != Value::Null).cloned();
    lists.push(TimeList {
        from: given("from"),
        to: given("to"),
        last: row_count(field, "last", of.limit),
        limit: row_count(field, "limit", of.limit),
        offset: row_count(field, "offset", None),
        position: field.position,
    });
    ListId(lists.len() - 1)
}

fn row_outputs(of: &ServedType, field: &Field) -> Result<Vec<Selected<RowOutput>>, String> {
    outputs_of(field, |child| {
        Ok(match child.name.as_str() {
            "__typename" => RowOutput::Typename(child.parent_type.as_str().into()),
            "id" => RowOutput::Id,
            "servicePath" => RowOutput::ServicePath,
            "time" => RowOutput::Time,
            name => {
                let attribute = readable(of, name).ok_or_else(|| unknown(child))?;
                RowOutput::Attribute(attribute.id, attribute.kind)
            }
        })
    })
}

/// The attributes that rows are written with.
fn read_by(outputs: &[Selected<RowOutput>]) -> Vec<AttributeId> {
    let attribute = |output: &Selected<RowOutput>| match output.kind {
        RowOutput::Attribute(id, _) => Some(id),
        _ => None,
    };
    let mut attributes: Vec<AttributeId> = outputs.iter().filter_map(attribute).collect();
    attributes.sort_unstable();
    attributes.dedup();
    attributes
}

fn point_output(of: &ServedType, attribute: &ServedAttribute, field: &Field) -> Result<PointOutput, String> {
    Ok(match field.name.as_str() {
        "__typename" => PointOutput::Typename(field.parent_type.as_str().into()),
        "time" => PointOutput::Time,
        "value" => PointOutput::Value,
        "metadata" => PointOutput::Metadata(attribute.metadata),
        "timeAttribute" => PointOutput::TimeAttribute(of.time_attribute),
        _ => return Err(unknown(field)),
    })
}

fn summary_output(field: &Field, methods: &mut Vec<Method>) -> Result<SummaryOutput, String> {
    Ok(match field.name.as_str() {
        "__typename" => SummaryOutput::Typename(field.parent_type.as_str().into()),
        "from" => SummaryOutput::From,
        name => {
            let known = METHODS.iter().find(|(known, _)| *known == name);
            methods.push(known.ok_or_else(|| unknown(field))?.1);
            SummaryOutput::Of(methods.len() - 1)
        }
    })
}

fn outputs_of<K>(
    field: &Field,
    mut kind: impl FnMut(&Field) -> Result<K, String>,
) -> Result<Vec<Selected<K>>, String> {
    let output = |(place, child): (usize, &Field)| {
        Ok(Selected { prefix: prefix(child, place == 0), kind: kind(child)? })
    };
    field.selections.iter().enumerate().map(output).collect()
}

fn prefix(field: &Field, is_first: bool) -> Box<[u8]> {
    let mut prefix = vec![if is_first { b'{' } else { b',' }];
    prefix.extend_from_slice(&json::member_prefix(&field.response_key));
    prefix.into_boxed_slice()
}

fn period(field: &Field) -> Option<Period> {
    let Some(Value::Enum(name)) = field.argument("period") else { return None };
    PERIODS.iter().find(|(known, _)| name == known).map(|(_, of)| *of)
}

/// `None` where the argument is absent or null, and no limit of a role takes its place.
fn row_count(field: &Field, argument: &str, highest: Option<u32>) -> Option<RowCount> {
    let value = field.argument(argument).filter(|value| **value != Value::Null);
    let is_limit = argument == "limit" && highest.is_some();
    let value = value.cloned().or_else(|| is_limit.then_some(Value::Null))?;
    Some(RowCount { value, position: field.position, highest })
}

/// Validation lets only known fields through; this names the field should schema and model ever disagree.
fn unknown(field: &Field) -> String {
    format!("`{}` has no field `{}` in this source", field.parent_type, field.name)
}

fn unknown_field(field: &Field) -> GraphqlError {
    GraphqlError::new(ErrorCode::ValidationFailed, unknown(field)).at(field.position)
}
