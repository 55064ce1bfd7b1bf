//! The model as GraphQL types and root fields.

use prony_graphql::{
    Name,
    compiler::{
        Node,
        ast::{FieldDefinition, InputValueDefinition, Type},
        name,
    },
    schema::{
        Contribution,
        build::{
            Pool, described_field, enumeration, field_with_arguments, input_object, named, non_null,
            non_null_list, object,
        },
    },
};
use prony_series_store::Kind;
use prony_source::dialect::{CONDITIONS, filter_argument, logical_inputs, page_arguments, shared_type};

use super::{
    descriptions::{self, of_entity, of_list, of_method, of_summaries, of_value, of_values},
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
    let mut pool = Pool::default();
    let filter = filter_argument(&mut pool, &WHERE);
    let mut writer = SchemaWriter { pool, filter, contribution: Contribution::default(), points: Vec::new() };
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
    /// Which entities a list or subscription has: the same for all types.
    filter: Node<InputValueDefinition>,
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

fn row_type(of: &ServedType) -> Name {
    valid(&format!("{}Row", of.type_name))
}

fn readable(of: &ServedType) -> impl Iterator<Item = &ServedAttribute> {
    of.attributes.iter().filter(|attribute| attribute.is_readable)
}

impl SchemaWriter {
    /// A field without arguments, which is shared with all that are alike.
    fn field(&mut self, name: &Name, ty: Type, text: &str) -> Node<FieldDefinition> {
        self.pool.described_field(name, ty, text)
    }

    fn text(&mut self, name: &Name, text: &str) -> Node<FieldDefinition> {
        self.field(name, non_null(&name!("String")), text)
    }

    /// A field with arguments.
    fn list(
        &mut self,
        name: &str,
        arguments: Vec<Node<InputValueDefinition>>,
        ty: Type,
        text: &str,
    ) -> Node<FieldDefinition> {
        described_field(field_with_arguments(&valid(name), arguments, ty), self.pool.description(text))
    }

    /// Which rows or periods of an entity a list has.
    fn time_arguments(&mut self) -> Vec<Node<InputValueDefinition>> {
        let texts = [
            (name!("from"), name!("String"), descriptions::FROM),
            (name!("to"), name!("String"), descriptions::TO),
            (name!("last"), name!("Int"), descriptions::LAST),
        ];
        let own = texts.map(|(name, ty, text)| self.pool.described_input(&name, named(&ty), text));
        own.into_iter().chain(page_arguments(&mut self.pool)).collect()
    }

    fn entity(&mut self, of: &ServedType) {
        let time = named(&name!("String"));
        let mut fields = vec![
            self.text(&name!("id"), descriptions::ID),
            self.text(&name!("type"), descriptions::TYPE),
            self.text(&name!("servicePath"), descriptions::SERVICE_PATH),
            self.field(&name!("firstTime"), time.clone(), descriptions::FIRST_TIME),
            self.field(&name!("lastTime"), time, descriptions::LAST_TIME),
        ];
        let arguments = self.time_arguments();
        let rows = non_null_list(&row_type(of));
        fields.push(self.list("rows", arguments.clone(), rows, descriptions::ROWS));
        let period = self.pool.described_input(&name!("period"), named(&PERIOD), descriptions::PERIOD);
        for attribute in &of.attributes {
            let (value, point) = value_types(attribute.kind);
            if attribute.is_readable {
                let ty = non_null_list(&point);
                fields.push(self.list(&attribute.field, arguments.clone(), ty, &of_values(attribute)));
                if !self.points.iter().any(|(known, _)| *known == point) {
                    self.points.push((point, value));
                }
            }
            if let Some(aggregate) = &attribute.aggregate {
                let summary = if attribute.kind == Kind::Time { TIME_SUMMARY } else { SUMMARY };
                let arguments = [&*arguments, std::slice::from_ref(&period)].concat();
                let ty = non_null_list(&summary);
                fields.push(self.list(aggregate, arguments, ty, &of_summaries(attribute)));
            }
        }
        self.contribution.types.push(object(&valid(&of.type_name), Some(of_entity(of).into()), fields));
    }

    fn row(&mut self, of: &ServedType) {
        let mut fields = vec![
            self.text(&name!("id"), descriptions::ID),
            self.text(&name!("servicePath"), descriptions::SERVICE_PATH),
            self.text(&name!("time"), descriptions::TIME),
        ];
        for attribute in readable(of) {
            let (value, _) = value_types(attribute.kind);
            fields.push(self.field(&valid(&attribute.field), named(&value), &of_value(attribute)));
        }
        let text = self.pool.description(descriptions::ROW);
        self.contribution.types.push(object(&row_type(of), Some(text), fields));
    }

    fn roots(&mut self, of: &ServedType) {
        let entity = valid(&of.type_name);
        let filter = self.filter.clone();
        let arguments = [filter.clone()].into_iter().chain(page_arguments(&mut self.pool)).collect();
        let many = field_with_arguments(&valid(&of.list_name), arguments, non_null_list(&entity));
        let many = described_field(many, of_list(of));
        let (id, path) = (non_null(&name!("String")), named(&name!("String")));
        let arguments = vec![
            self.pool.described_input(&name!("id"), id, descriptions::ID),
            self.pool.described_input(&name!("servicePath"), path, descriptions::SERVICE_PATH),
        ];
        let one = self.list(&of.single_name, arguments, named(&entity), descriptions::ONE);
        self.contribution.query.extend([many, one]);
        let rows = self.list(&of.event_name, vec![filter], non_null(&row_type(of)), descriptions::EVENTS);
        self.contribution.subscription.push(rows);
    }

    /// Types that belong to no entity type.
    fn shared(&mut self, model: &Model) {
        let has_metadata = model.types.iter().flat_map(|of| readable(of)).any(|of| of.metadata.is_some());
        let has_time_attribute = model.types.iter().any(|of| of.time_attribute.is_some());
        for (point, value) in std::mem::take(&mut self.points) {
            let mut fields = vec![
                self.text(&name!("time"), descriptions::TIME),
                self.field(&name!("value"), named(&value), descriptions::VALUE),
            ];
            if has_metadata {
                let json = named(&name!("JSON"));
                fields.push(self.field(&name!("metadata"), json, descriptions::METADATA));
            }
            if has_time_attribute {
                let text = named(&name!("String"));
                fields.push(self.field(&name!("timeAttribute"), text, descriptions::TIME_ATTRIBUTE));
            }
            let text = self.pool.description(descriptions::POINT);
            self.contribution.types.push(object(&point, Some(text), fields));
        }
        self.summary(&SUMMARY, &name!("Float"), Kind::Double);
        self.summary(&TIME_SUMMARY, &name!("String"), Kind::Time);
        let periods = PERIODS.iter().map(|(name, _)| valid(name));
        let text = self.pool.description(descriptions::PERIODS);
        self.contribution.types.push(enumeration(&PERIOD, Some(text), periods));
        let comparisons = named(&name!("StrWhere"));
        let own = [(name!("id"), descriptions::ID), (name!("servicePath"), descriptions::SERVICE_PATH)];
        let own = own.map(|(name, text)| self.pool.described_input(&name, comparisons.clone(), text));
        let filter = logical_inputs(&mut self.pool, &WHERE).into_iter().chain(own);
        let text = self.pool.description(CONDITIONS);
        self.contribution.types.push(input_object(&WHERE, Some(text), filter));
        for name in [name!("BigInt"), name!("JSON"), name!("StrWhere")] {
            self.contribution.types.extend(shared_type(&name, &mut self.pool));
        }
    }

    /// What values of a kind come to.
    fn summary(&mut self, name: &Name, value: &Name, kind: Kind) {
        let mut fields = vec![self.text(&name!("from"), descriptions::SUMMARY_FROM)];
        for (function, method) in METHODS.iter().filter(|(_, method)| can_aggregate(kind, *method)) {
            let ty = match method {
                Method::Count => non_null(&name!("BigInt")),
                _ => named(value),
            };
            fields.push(self.field(&valid(function), ty, of_method(*method)));
        }
        let text = self.pool.description(descriptions::SUMMARY);
        self.contribution.types.push(object(name, Some(text), fields));
    }
}
