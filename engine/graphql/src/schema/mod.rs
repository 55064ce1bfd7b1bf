//! The served schema: what each source contributes, merged into one and validated.
//!
//! It is built from nodes, never from text: parsing the text of 5,000 tables took three times as long and
//! twice the memory.

pub mod build;
pub mod interfaces;
mod sharing;

use std::{fmt, sync::OnceLock};

use apollo_compiler::{
    Name, Node, ast,
    collections::{HashMap, HashSet, IndexMap, IndexSet},
    schema::{Component, ComponentName, DirectiveList, ExtendedType, Implementers, ObjectType},
    validation::Valid,
};

pub use self::sharing::SharedDefinitions;
use crate::document::operation::OperationKind;

/// Which source answers a root field; an index into the server's list of sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceId(pub u16);

/// The types and root fields of one source. Nodes may be shared between types to save memory.
#[derive(Debug, Default)]
pub struct Contribution {
    pub types: Vec<(Name, ExtendedType)>,
    pub query: Vec<Node<ast::FieldDefinition>>,
    pub mutation: Vec<Node<ast::FieldDefinition>>,
    pub subscription: Vec<Node<ast::FieldDefinition>>,
    pub directives: Vec<Node<ast::DirectiveDefinition>>,
    /// Input types that are the item of a list wherever they occur: a variable of such a type is accepted, as a
    /// list of one.
    pub only_listed: Vec<Name>,
    /// Input types whose variables are accepted where another, wider one is expected: all their values are values of that.
    pub widened: Vec<(Name, Name)>,
    /// Object types that sum rows up: they are no nest level.
    pub summaries: Vec<Name>,
    /// Custom scalars whose values are another server's business: they are taken and given as they are, whatever the scalars are called.
    pub opaque_scalars: Vec<Name>,
    /// Fields that object types of others get beside their own.
    pub extensions: Vec<(Name, Node<ast::FieldDefinition>)>,
}

/// Scalars that all who contribute them leave alone.
pub fn opaque_scalars(contributions: &[(SourceId, Contribution)]) -> HashSet<Name> {
    let named = contributions.iter().flat_map(|(_, contribution)| &contribution.opaque_scalars);
    let mut opaque: HashSet<Name> = named.cloned().collect();
    if opaque.is_empty() {
        return opaque;
    }
    for (_, contribution) in contributions {
        for (name, _) in &contribution.types {
            if !contribution.opaque_scalars.contains(name) {
                opaque.remove(name);
            }
        }
    }
    opaque
}

/// Why contributions do not make a schema.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    #[error(
        "type {name} comes from source {} and, with another definition, from source {}; rename or exclude one",
        .first.0, .second.0
    )]
    TypeCollision { name: Name, first: SourceId, second: SourceId },
    #[error("{kind} field {name} comes from source {} and from source {}; rename or exclude one", .first.0, .second.0)]
    FieldCollision { kind: OperationKind, name: Name, first: SourceId, second: SourceId },
    #[error(
        "directive @{name} comes from source {} and, with another definition, from source {}; rename one",
        .first.0, .second.0
    )]
    DirectiveCollision { name: Name, first: SourceId, second: SourceId },
    #[error("type {name} of source {} has a name that the server needs for itself; rename it", .source_id.0)]
    ReservedType { name: Name, source_id: SourceId },
    #[error("no source has a query field; serve at least one table")]
    NoQuery,
    #[error("the merged schema is not valid: {message}")]
    Invalid { message: String },
}

/// A valid schema that knows which source answers each root field.
pub struct Schema {
    valid: Valid<apollo_compiler::Schema>,
    /// By operation, and by the index of the field in its root type.
    owners: [Vec<SourceId>; 3],
    implementers: OnceLock<HashMap<Name, Implementers>>,
    only_listed: HashSet<Name>,
    widened: HashSet<(Name, Name)>,
    summaries: HashSet<Name>,
    opaque: HashSet<Name>,
}

/// Faults of an invalid schema that are reported; the rest usually follows from these.
const MAX_REPORTED_FAULTS: usize = 20;

const ROOTS: [(OperationKind, Name); 3] = [
    (OperationKind::Query, Name::new_static_unchecked("Query")),
    (OperationKind::Mutation, Name::new_static_unchecked("Mutation")),
    (OperationKind::Subscription, Name::new_static_unchecked("Subscription")),
];

impl Schema {
    /// Merges contributions. A type that several sources define alike is taken once; root fields belong to
    /// exactly one source. All faults are reported at once.
    pub fn merge(contributions: Vec<(SourceId, Contribution)>) -> Result<Self, Vec<SchemaFault>> {
        Merger::of(contributions).finish(|definition| definition)
    }

    /// The same schema; what others have alike is kept once.
    pub fn merge_sharing(
        contributions: Vec<(SourceId, Contribution)>,
        shared: &mut SharedDefinitions,
    ) -> Result<Self, Vec<SchemaFault>> {
        Merger::of(contributions).finish(|definition| shared.share(definition))
    }

    /// The source that answers a root field.
    pub fn owner(&self, kind: OperationKind, field_name: &str) -> Option<SourceId> {
        let root = self.valid.get_object(self.root_type(kind)?)?;
        let index = root.fields.get_index_of(field_name)?;
        self.owners[kind as usize].get(index).copied()
    }

    pub fn valid(&self) -> &Valid<apollo_compiler::Schema> {
        &self.valid
    }

    /// The schema definition language, types in the order of the contributions.
    pub fn sdl(&self) -> String {
        self.valid.to_string()
    }

    /// Which object types implement each interface; computed once.
    pub fn implementers(&self) -> &HashMap<Name, Implementers> {
        self.implementers.get_or_init(|| self.valid.implementers_map())
    }

    /// Input types that are the item of a list wherever they occur.
    pub(crate) fn only_listed(&self) -> &HashSet<Name> {
        &self.only_listed
    }

    /// Pairs of an input type and a wider one, where variables of the first are accepted.
    pub(crate) fn widened(&self) -> &HashSet<(Name, Name)> {
        &self.widened
    }

    /// Whether the values of a scalar are taken and given as they are.
    pub(crate) fn is_opaque(&self, scalar: &str) -> bool {
        self.opaque.contains(scalar)
    }

    /// Whether a type sums rows up.
    pub(crate) fn is_summary(&self, type_name: &Name) -> bool {
        self.summaries.contains(type_name)
    }

    /// The name of the root type of an operation, where the schema has one.
    pub fn root_type(&self, kind: OperationKind) -> Option<&Name> {
        self.valid.root_operation(kind.into())
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Schema").field("types", &self.valid.types.len()).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Merger {
    types: IndexMap<Name, (SourceId, ExtendedType)>,
    fields: [IndexMap<Name, (SourceId, Node<ast::FieldDefinition>)>; 3],
    directives: IndexMap<Name, (SourceId, Node<ast::DirectiveDefinition>)>,
    faults: Vec<SchemaFault>,
    only_listed: HashSet<Name>,
    widened: HashSet<(Name, Name)>,
    summaries: HashSet<Name>,
    opaque: HashSet<Name>,
    extensions: Vec<(Name, Node<ast::FieldDefinition>)>,
}

impl Merger {
    fn of(contributions: Vec<(SourceId, Contribution)>) -> Self {
        let mut merger = Self { opaque: opaque_scalars(&contributions), ..Self::default() };
        for (source, contribution) in contributions {
            merger.add(source, contribution);
        }
        merger
    }

    fn add(&mut self, source: SourceId, contribution: Contribution) {
        for (name, definition) in contribution.types {
            self.add_type(source, name, definition);
        }
        self.only_listed.extend(contribution.only_listed);
        self.widened.extend(contribution.widened);
        self.summaries.extend(contribution.summaries);
        self.extensions.extend(contribution.extensions);
        for directive in contribution.directives {
            self.add_directive(source, directive);
        }
        let roots = [contribution.query, contribution.mutation, contribution.subscription];
        for ((kind, _), fields) in ROOTS.iter().zip(roots) {
            for field in fields {
                self.add_field(source, *kind, field);
            }
        }
    }

    fn add_type(&mut self, source: SourceId, name: Name, definition: ExtendedType) {
        if name.starts_with("__") || ROOTS.iter().any(|(_, root)| *root == name) {
            self.faults.push(SchemaFault::ReservedType { name, source_id: source });
            return;
        }
        match self.types.get(&name) {
            None => {
                self.types.insert(name, (source, definition));
            }
            Some((first, known)) if *known != definition => {
                self.faults.push(SchemaFault::TypeCollision { first: *first, second: source, name });
            }
            Some(_) => {}
        }
    }

    fn add_directive(&mut self, source: SourceId, directive: Node<ast::DirectiveDefinition>) {
        match self.directives.get(&directive.name) {
            Some((first, known)) if *known != directive => {
                let (first, name) = (*first, directive.name.clone());
                self.faults.push(SchemaFault::DirectiveCollision { name, first, second: source });
            }
            Some(_) => {}
            None => {
                self.directives.insert(directive.name.clone(), (source, directive));
            }
        }
    }

    fn add_field(&mut self, source: SourceId, kind: OperationKind, field: Node<ast::FieldDefinition>) {
        let fields = &mut self.fields[kind as usize];
        if let Some((first, _)) = fields.get(&field.name) {
            let name = field.name.clone();
            self.faults.push(SchemaFault::FieldCollision { kind, name, first: *first, second: source });
        } else {
            fields.insert(field.name.clone(), (source, field));
        }
    }

    /// `keep` gives a definition that is the same.
    fn finish(
        mut self,
        mut keep: impl FnMut(ExtendedType) -> ExtendedType,
    ) -> Result<Schema, Vec<SchemaFault>> {
        if self.fields[OperationKind::Query as usize].is_empty() {
            self.faults.push(SchemaFault::NoQuery);
        }
        if !self.faults.is_empty() {
            return Err(self.faults);
        }
        for (name, field) in std::mem::take(&mut self.extensions) {
            if let Some((_, ExtendedType::Object(object))) = self.types.get_mut(&name) {
                object.make_mut().fields.insert(field.name.clone(), Component::from(field));
            }
        }
        let mut schema = apollo_compiler::Schema::new();
        schema.types.reserve(self.types.len() + ROOTS.len());
        let definition = schema.schema_definition.make_mut();
        let names = [&mut definition.query, &mut definition.mutation, &mut definition.subscription];
        let mut owners: [Vec<SourceId>; 3] = Default::default();
        for (((_, root), fields), (name, owners)) in
            ROOTS.iter().zip(self.fields).zip(names.into_iter().zip(&mut owners))
        {
            if fields.is_empty() {
                continue;
            }
            *name = Some(ComponentName::from(root.clone()));
            owners.extend(fields.values().map(|(source, _)| *source));
            schema.types.insert(root.clone(), keep(root_object(root, fields)));
        }
        let types = self.types.into_values().map(|(_, definition)| keep(definition));
        schema.types.extend(types.map(|definition| (definition.name().clone(), definition)));
        let directives = self.directives.into_iter().map(|(name, (_, definition))| (name, definition));
        schema.directive_definitions.extend(directives);
        let valid = schema.validate().map_err(|invalid| faults_of(&invalid.errors))?;
        let Self { only_listed, widened, summaries, opaque, .. } = self;
        let implementers = OnceLock::new();
        Ok(Schema { valid, owners, implementers, only_listed, widened, summaries, opaque })
    }
}

fn root_object(name: &Name, fields: IndexMap<Name, (SourceId, Node<ast::FieldDefinition>)>) -> ExtendedType {
    ExtendedType::Object(Node::new(ObjectType {
        description: None,
        name: name.clone(),
        implements_interfaces: IndexSet::default(),
        directives: DirectiveList::default(),
        fields: fields.into_iter().map(|(name, (_, field))| (name, Component::from(field))).collect(),
    }))
}

fn faults_of(errors: &apollo_compiler::validation::DiagnosticList) -> Vec<SchemaFault> {
    let messages = errors.iter().take(MAX_REPORTED_FAULTS);
    messages.map(|fault| SchemaFault::Invalid { message: fault.error.to_string() }).collect()
}
