//! Collecting fields (GraphQL specification, section 6.3.2): fragments merged, `@skip` and `@include` decided.

use apollo_compiler::{
    Name, Node,
    ast::{DirectiveList, InputValueDefinition, Value as Literal},
    collections::{HashMap, HashSet, IndexMap},
    executable::{self, SelectionSet},
    schema::ExtendedType,
};
use serde_json::Value as Json;

use crate::{
    document::{operation::Operation, rules::same_arguments},
    error::GraphqlError,
    schema::Schema,
    selection::{AppliedDirective, Field, Selection, Value},
    variables::{Variables, literal::Literals},
};

/// Selections that are collected for one of several object types, of which fragments within fragments make one of each.
const MAX_SPLITS: usize = 10_000;

impl Operation {
    /// The operation's fields for coerced variables. Variables of the same shape give the same selection, so that it,
    /// and what is planned from it, can be kept by the shape.
    pub fn select(&self, schema: &Schema, variables: &Variables) -> Result<Selection, Vec<GraphqlError>> {
        let mut collector = Collector {
            schema,
            operation: self,
            variables,
            literals: Literals::with_variables(schema, self, variables),
            splits_left: MAX_SPLITS,
            members: HashMap::default(),
        };
        let root = &self.definition.selection_set;
        let fields = collector.fields(&root.ty, &[root]);
        collector.literals.finish()?;
        Ok(Selection { kind: self.kind(), fields })
    }
}

struct Collector<'a> {
    schema: &'a Schema,
    operation: &'a Operation,
    variables: &'a Variables,
    literals: Literals<'a>,
    splits_left: usize,
    /// Object types of a fragment in another one, by the types of the object, of the fragment around and of its own: they are looked for
    /// among all types of the schema.
    members: HashMap<[&'a Name; 3], Vec<&'a Name>>,
}

/// The fields of an object, from all sets that are selected of it.
struct Level<'a> {
    /// The type of the object, as the schema has it around all fragments.
    of: &'a Name,
    visited: HashSet<(&'a Name, &'a Name)>,
    groups: Groups<'a>,
    /// How many fragments around are collected for several object types.
    splits: usize,
}

/// Fields by response key and parent type, in the order in which they were met.
type Groups<'a> = IndexMap<(&'a Name, &'a Name), Vec<&'a Node<executable::Field>>>;

impl<'a> Collector<'a> {
    fn fields(&mut self, of: &'a Name, sets: &[&'a SelectionSet]) -> Vec<Field> {
        let mut level = Level { of, visited: HashSet::default(), groups: Groups::default(), splits: 0 };
        for set in sets {
            self.collect(of, set, &mut level);
        }
        level.groups.into_iter().map(|((_, parent), group)| self.field(parent, &group)).collect()
    }

    fn collect(&mut self, parent: &'a Name, set: &'a SelectionSet, level: &mut Level<'a>) {
        for selection in &set.selections {
            if level.splits > 0 && !self.takes_split() {
                return;
            }
            if self.is_left_out(selection.directives()) {
                continue;
            }
            let inner = match selection {
                executable::Selection::Field(field) => {
                    level.groups.entry((field.response_key(), parent)).or_default().push(field);
                    continue;
                }
                executable::Selection::InlineFragment(inline) => &inline.selection_set,
                executable::Selection::FragmentSpread(spread) => {
                    let fragments = &self.operation.document.fragments;
                    let Some(fragment) = fragments.get(&spread.fragment_name) else { continue };
                    if !level.visited.insert((&fragment.name, parent)) {
                        continue;
                    }
                    &fragment.selection_set
                }
            };
            let types = self.narrowed(level.of, parent, &inner.ty);
            let is_split = usize::from(types.len() > 1);
            level.splits += is_split;
            for parent in types {
                self.collect(parent, inner, level);
            }
            level.splits -= is_split;
        }
    }

    /// Whether one more selection may be collected for one of several types; the first that may not is a fault.
    fn takes_split(&mut self) -> bool {
        if self.splits_left == 0 {
            return false;
        }
        self.splits_left -= 1;
        if self.splits_left == 0 {
            let message =
                "fragments within fragments are of too many types: name those of objects".to_owned();
            self.literals.fault(None, message);
        }
        self.splits_left > 0
    }

    /// The types whose objects are all those of `parent` that a fragment is about, as far as there are such objects in `of`:
    /// several object types where no type has them all.
    fn narrowed(&mut self, of: &'a Name, parent: &'a Name, condition: &'a Name) -> Vec<&'a Name> {
        let schema = self.schema.valid();
        if parent == condition || schema.is_subtype(condition, parent) {
            return vec![parent];
        }
        let is_object = |name: &Name| matches!(schema.types.get(name), Some(ExtendedType::Object(_)));
        if is_object(parent) {
            return Vec::new();
        }
        if parent == of {
            return vec![condition];
        }
        let is_in_both = |name: &Name| schema.is_subtype(of, name) && schema.is_subtype(parent, name);
        if is_object(condition) {
            return if is_in_both(condition) { vec![condition] } else { Vec::new() };
        }
        let key = [of, parent, condition];
        if let Some(known) = self.members.get(&key) {
            return known.clone();
        }
        let members = schema.types.keys().filter(|&name| schema.is_subtype(condition, name));
        let members: Vec<&'a Name> = members.filter(|&name| is_object(name) && is_in_both(name)).collect();
        self.members.insert(key, members.clone());
        members
    }

    fn is_left_out(&mut self, directives: &'a DirectiveList) -> bool {
        !directives.is_empty()
            && (self.condition(directives, "skip") == Some(true)
                || self.condition(directives, "include") == Some(false))
    }

    fn condition(&mut self, directives: &'a DirectiveList, directive: &str) -> Option<bool> {
        let condition = directives.get(directive)?.specified_argument_by_name("if")?;
        match &**condition {
            Literal::Boolean(value) => Some(*value),
            Literal::Variable(name) => {
                let index = self.operation.variables.iter().position(|variable| variable.name == *name)?;
                let value = self.variables.value(index).and_then(Json::as_bool);
                if value.is_none() {
                    let message = format!("variable \"${name}\" is null where @{directive} expects Boolean!");
                    self.literals.fault(condition.location(), message);
                }
                value
            }
            _ => None,
        }
    }

    /// One response field; `group` holds all fields of its response key.
    fn field(&mut self, parent: &'a Name, group: &[&'a Node<executable::Field>]) -> Field {
        let first = group[0];
        let definition = &first.definition;
        for other in &group[1..] {
            if !same_arguments(&first.arguments, &other.arguments) {
                let message = format!(
                    "fields named {} have different arguments; give one an alias",
                    first.response_key()
                );
                self.literals.fault(other.location(), message);
            }
        }
        let given = |name: &Name| first.specified_argument_by_name(name);
        let arguments = self.arguments(&definition.arguments, given);
        let directives = self.directives(group);
        let sets: Vec<&SelectionSet> =
            group.iter().map(|field| &field.selection_set).filter(|set| !set.is_empty()).collect();
        let selections = match sets.first() {
            Some(set) => self.fields(&set.ty, &sets),
            None => Vec::new(),
        };
        Field {
            response_key: first.response_key().clone(),
            name: first.name.clone(),
            parent_type: parent.clone(),
            output: definition.ty.clone(),
            arguments,
            directives,
            selections,
            position: self.operation.lines.position(first.location()),
        }
    }
    fn arguments<'d>(
        &mut self,
        definitions: impl IntoIterator<Item = &'d Node<InputValueDefinition>>,
        given: impl Fn(&Name) -> Option<&'d Node<Literal>>,
    ) -> Vec<(Name, Value)> {
        let mut arguments = Vec::new();
        for argument in definitions {
            if let Some(value) = self.literals.input(argument, given(&argument.name)) {
                arguments.push((argument.name.clone(), value));
            }
        }
        arguments
    }

    /// Of all fields of a response key; what several of them repeat counts once.
    fn directives(&mut self, group: &[&'a Node<executable::Field>]) -> Vec<AppliedDirective> {
        let mut applied = Vec::new();
        for directive in group.iter().flat_map(|field| field.directives.iter()) {
            let schema = self.schema.valid();
            let Some(definition) = schema.directive_definitions.get(&directive.name) else { continue };
            if matches!(directive.name.as_str(), "skip" | "include") {
                continue;
            }
            let given = |name: &Name| directive.specified_argument_by_name(name);
            let arguments = self.arguments(&definition.arguments, given);
            let directive = AppliedDirective { name: directive.name.clone(), arguments };
            if !applied.contains(&directive) {
                applied.push(directive);
            }
        }
        applied
    }
}
