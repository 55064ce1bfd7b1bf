//! The model as GraphQL types and root fields.

use prony_graphql::{
    Name,
    compiler::{
        Node,
        ast::{FieldDefinition, InputValueDefinition},
        name,
    },
    schema::{
        Contribution,
        build::{
            Pool, described_field, enumeration, field_with_arguments, input, input_object, list, named,
            non_null, non_null_list, object,
        },
    },
};
use prony_series_store::Kind;
use prony_source::dialect::shared_type;

use super::{
    lower::{METHODS, PERIODS},
    model::{Model, ServedType},
    names::ServedAttribute,
};
use crate::query::{parameters::Method, value::can_aggregate};

const WHERE: Name = name!("SeriesWhere");
const PERIOD: Name = name!("SeriesPeriod");
const SUMMARY: Name = name!("SeriesSummary");
const TIME_SUMMARY: Name = name!("SeriesTimeSummary");

/// All types and root fields of the model. Each query is a live query too.
pub(super) fn contribution(model: &Model) -> Contribution {
    let mut writer =
        SchemaWriter { pool: Pool::default(), contribution: Contribution::default(), points: Vec::new() };
    for of in &model.types {
        writer.entity(of);
        writer.row(of);
        writer.roots(of);
    }
    if !model.types.is_empty() {
        writer.shared(model);
    }
    let Contribution { query, subscription, .. } = &mut writer.contribution;
    subscription.extend(query.iter().cloned());
    writer.contribution
}

struct SchemaWriter {
    pool: Pool,
    contribution: Contribution,
    /// Types of points that are used, each once.
    points: Vec<(Name, Name)>,
}

/// The type of an attribute's value, and of a point in time that has it.
fn value_types(kind: Kind) -> (Name, Name) {
    match kind {
        Kind::Double => (name!("Float"), name!("SeriesFloatPoint")),
        Kind::Integer => (name!("BigInt"), name!("SeriesBigIntPoint")),
        Kind::Boolean => (name!("Boolean"), name!("SeriesBooleanPoint")),
        Kind::Time | Kind::Text => (name!("String"), name!("SeriesStringPoint")),
        Kind::Structured | Kind::Geometry => (name!("JSON"), name!("SeriesJSONPoint")),
    }
}

fn valid(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}

/// What cannot be told by a field's name.
const fn description_of(method: Method) -> Option<&'static str> {
    match method {
        Method::First => Some("The first value by time."),
        Method::Last => Some("The last value by time."),
        Method::StdDev => Some("The standard deviation of a sample; null of one value."),
        Method::Percentile(_) => Some("A percentile, between two values where it lies there."),
        Method::TimeWeightedAvg => Some(
            "The average by the time for which each value held: until the next one, and the last until the end of its period or `to`.",
        ),
        _ => None,
    }
}

fn row_type(of: &ServedType) -> Name {
    valid(&format!("{}Row", of.type_name))
}

fn readable(of: &ServedType) -> impl Iterator<Item = &ServedAttribute> {
    of.attributes.iter().filter(|attribute| attribute.is_readable)
}

impl SchemaWriter {
    fn text(&mut self, name: &Name) -> Node<FieldDefinition> {
        self.pool.field(name, non_null(&name!("String")))
    }

    /// Which rows or periods of an entity a list has.
    fn time_arguments(&mut self) -> Vec<Node<InputValueDefinition>> {
        let mut arguments = Vec::new();
        for name in [name!("from"), name!("to")] {
            arguments.push(self.pool.input(&name, named(&name!("String"))));
        }
        for name in [name!("last"), name!("limit"), name!("offset")] {
            arguments.push(self.pool.input(&name, named(&name!("Int"))));
        }
        arguments
    }

    fn entity(&mut self, of: &ServedType) {
        let time = |pool: &mut Pool, name: Name| pool.field(&name, named(&name!("String")));
        let mut fields = vec![
            self.text(&name!("id")),
            self.text(&name!("type")),
            self.text(&name!("servicePath")),
            time(&mut self.pool, name!("firstTime")),
            time(&mut self.pool, name!("lastTime")),
        ];
        let arguments = self.time_arguments();
        let rows = field_with_arguments(&name!("rows"), arguments.clone(), non_null_list(&row_type(of)));
        fields.push(described_field(
            rows,
            "In the order of their times, from `from` to `to`, both included; with `last` the last of them.",
        ));
        for attribute in &of.attributes {
            let (value, point) = value_types(attribute.kind);
            if attribute.is_readable {
                let ty = non_null_list(&point);
                fields.push(field_with_arguments(&valid(&attribute.field), arguments.clone(), ty));
                if !self.points.iter().any(|(known, _)| *known == point) {
                    self.points.push((point, value));
                }
            }
            if let Some(aggregate) = &attribute.aggregate {
                let summary = if attribute.kind == Kind::Time { TIME_SUMMARY } else { SUMMARY };
                let mut arguments = arguments.clone();
                arguments.push(self.pool.input(&name!("period"), named(&PERIOD)));
                let ty = non_null_list(&summary);
                fields.push(field_with_arguments(&valid(aggregate), arguments, ty));
            }
        }
        let description = match &*of.tenant {
            "" => format!("An entity of type `{}`, under one service path.", of.name),
            tenant => {
                format!("An entity of type `{}` of tenant `{tenant}`, under one service path.", of.name)
            }
        };
        self.contribution.types.push(object(&valid(&of.type_name), Some(&description), fields));
    }

    fn row(&mut self, of: &ServedType) {
        let mut fields =
            vec![self.text(&name!("id")), self.text(&name!("servicePath")), self.text(&name!("time"))];
        for attribute in readable(of) {
            let (value, _) = value_types(attribute.kind);
            fields.push(self.pool.field(&valid(&attribute.field), named(&value)));
        }
        let description = "What was notified of an entity at one time.";
        self.contribution.types.push(object(&row_type(of), Some(description), fields));
    }

    fn roots(&mut self, of: &ServedType) {
        let entity = valid(&of.type_name);
        let filter = self.pool.input(&name!("where"), named(&WHERE));
        let mut arguments = vec![filter.clone()];
        for count in [name!("limit"), name!("offset")] {
            arguments.push(self.pool.input(&count, named(&name!("Int"))));
        }
        let many = field_with_arguments(&valid(&of.list_name), arguments, non_null_list(&entity));
        let arguments = vec![
            self.pool.input(&name!("id"), non_null(&name!("String"))),
            self.pool.input(&name!("servicePath"), named(&name!("String"))),
        ];
        let one = field_with_arguments(&valid(&of.single_name), arguments, named(&entity));
        let one = described_field(
            one,
            "The entity with this id; without a service path the first that was notified.",
        );
        self.contribution.query.extend([many, one]);
        let rows = field_with_arguments(&valid(&of.event_name), vec![filter], non_null(&row_type(of)));
        let rows = described_field(rows, "Each row as it is notified, once it is durable.");
        self.contribution.subscription.push(rows);
    }

    /// Types that belong to no entity type.
    fn shared(&mut self, model: &Model) {
        let has_metadata = model.types.iter().flat_map(|of| readable(of)).any(|of| of.metadata.is_some());
        let has_time_attribute = model.types.iter().any(|of| of.time_attribute.is_some());
        let text = name!("String");
        for (point, value) in std::mem::take(&mut self.points) {
            let mut fields = vec![self.text(&name!("time")), self.pool.field(&name!("value"), named(&value))];
            if has_metadata {
                let field = self.pool.field(&name!("metadata"), named(&name!("JSON")));
                fields.push(described_field(field, "What was notified with the value."));
            }
            if has_time_attribute {
                let field = self.pool.field(&name!("timeAttribute"), named(&name!("String")));
                fields.push(described_field(
                    field,
                    "What gave the time of the row, as `TimeInstant` or `temperature.observedAt`.",
                ));
            }
            self.contribution.types.push(object(&point, None, fields));
        }
        let count = self.pool.field(&name!("count"), non_null(&name!("BigInt")));
        for (name, value, kind) in [(SUMMARY, name!("Float"), Kind::Double), (TIME_SUMMARY, text, Kind::Time)]
        {
            let from = described_field(
                field_with_arguments(&name!("from"), Vec::new(), non_null(&name!("String"))),
                "When the period begins; without a period the time of the first row.",
            );
            let functions = METHODS
                .iter()
                .filter(|(_, method)| *method != Method::Count && can_aggregate(kind, *method))
                .map(|(function, method)| {
                    let field = self.pool.field(&valid(function), named(&value));
                    description_of(*method).map_or(field.clone(), |text| described_field(field, text))
                });
            let fields: Vec<_> = [from, count.clone()].into_iter().chain(functions).collect();
            let description =
                "Of all values of a period that are not null; periods without any are left out.";
            self.contribution.types.push(object(&name, Some(description), fields));
        }
        let periods = PERIODS.iter().map(|(name, _)| valid(name));
        self.contribution.types.push(enumeration(&PERIOD, Some("Of the calendar, in UTC."), periods));
        let comparisons = named(&name!("StrWhere"));
        let filter = [
            input(&name!("and"), list(&WHERE)),
            input(&name!("or"), list(&WHERE)),
            input(&name!("not"), named(&WHERE)),
            input(&name!("id"), comparisons.clone()),
            input(&name!("servicePath"), comparisons),
        ];
        self.contribution.types.push(input_object(&WHERE, None, filter));
        for name in [name!("BigInt"), name!("JSON"), name!("StrWhere")] {
            self.contribution.types.extend(shared_type(&name, &mut self.pool));
        }
    }
}
