//! An upstream's schema at one moment, as it is served: types and root fields under the names of the configuration.

use std::path::Path;

use prony_graphql::{
    Name,
    compiler::{
        Node, Schema as CompilerSchema,
        ast::{self, DirectiveList, DirectiveLocation, FieldDefinition, InputValueDefinition, Type},
        collections::{HashMap, HashSet, IndexMap},
        schema::{Component, ComponentName, ExtendedType},
    },
    requirements::with_definitions,
    schema::Contribution,
    selection::OperationKind,
};

use super::{
    guards::Guards,
    names::{OriginalNames, Renaming, root_name},
};
use crate::settings::NameSettings;

/// Why a text is not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ModelError {
    #[error("its schema is not valid: {0}")]
    Invalid(String),
    #[error("its schema has no query type")]
    NoQuery,
    #[error("{0}; rename one of them")]
    Names(String),
}

/// What is served of an upstream.
#[derive(Debug, Clone, Default)]
pub(crate) struct UpstreamModel {
    /// Without root types.
    pub(crate) types: IndexMap<Name, ExtendedType>,
    /// By [`OperationKind`].
    pub(crate) roots: [IndexMap<Name, Node<FieldDefinition>>; 3],
    pub(crate) directives: Vec<Node<ast::DirectiveDefinition>>,
    pub(crate) originals: OriginalNames,
    /// What is wanted to be known of who asks.
    pub(crate) guards: Guards,
    /// Whether a root type has another name than it is served under.
    pub(crate) has_other_roots: bool,
    pub(crate) notes: Vec<String>,
}

pub(super) const KINDS: [OperationKind; 3] =
    [OperationKind::Query, OperationKind::Mutation, OperationKind::Subscription];

impl UpstreamModel {
    /// Reads a schema definition. `path` is for messages.
    pub(crate) fn read(
        sdl: &str,
        path: &Path,
        names: &NameSettings,
        has_subscriptions: bool,
    ) -> Result<Self, ModelError> {
        let invalid = |errors: String| ModelError::Invalid(first_lines(&errors));
        let schema = CompilerSchema::parse(with_definitions(sdl), path)
            .map_err(|invalid_schema| invalid(invalid_schema.errors.to_string()))?;
        let roots: [Option<Name>; 3] = KINDS.map(|kind| {
            let root = match kind {
                OperationKind::Query => &schema.schema_definition.query,
                OperationKind::Mutation => &schema.schema_definition.mutation,
                OperationKind::Subscription => &schema.schema_definition.subscription,
            };
            root.as_ref().map(|root| root.name.clone())
        });
        if roots[0].is_none() {
            return Err(ModelError::NoQuery);
        }
        let mut reader = Reader {
            schema: &schema,
            root_names: roots.iter().flatten().cloned().collect(),
            renaming: Renaming::new(names),
            renamed: HashMap::default(),
            notes: Vec::new(),
            collisions: Vec::new(),
        };
        let mut model = reader.read(&roots);
        if let Some(collision) = reader.collisions.pop() {
            return Err(ModelError::Names(collision));
        }
        let is_other = |(kind, name): (OperationKind, &Option<Name>)| {
            name.as_ref().is_some_and(|name| *name != *root_name(kind))
        };
        model.has_other_roots = KINDS.into_iter().zip(&roots).any(is_other);
        if !has_subscriptions {
            model.roots[OperationKind::Subscription as usize].clear();
        }
        Ok(model)
    }

    pub(crate) fn contribution(&self) -> Contribution {
        let fields = |kind: OperationKind| self.roots[kind as usize].values().cloned().collect();
        Contribution {
            types: self.types.iter().map(|(name, ty)| (name.clone(), ty.clone())).collect(),
            query: fields(OperationKind::Query),
            mutation: fields(OperationKind::Mutation),
            subscription: fields(OperationKind::Subscription),
            directives: self.directives.clone(),
            only_listed: Vec::new(),
            widened: Vec::new(),
            summaries: Vec::new(),
            opaque_scalars: self.scalars(),
            extensions: Vec::new(),
        }
    }

    /// Only the upstream knows what values they have.
    fn scalars(&self) -> Vec<Name> {
        let is_custom = |name: &Name| !matches!(name.as_str(), "Int" | "Float" | "String" | "Boolean" | "ID");
        let scalars = self.types.iter().filter(|(_, ty)| matches!(ty, ExtendedType::Scalar(_)));
        scalars.map(|(name, _)| name).filter(|name| is_custom(name)).cloned().collect()
    }

    /// The definition of a field, of a root type where the parent is one.
    pub(crate) fn field(
        &self,
        kind: OperationKind,
        parent: Option<&Name>,
        name: &str,
    ) -> Option<&FieldDefinition> {
        let Some(parent) = parent else { return self.roots[kind as usize].get(name).map(|field| &**field) };
        match self.types.get(parent)? {
            ExtendedType::Object(object) => object.fields.get(name).map(|field| &***field),
            ExtendedType::Interface(interface) => interface.fields.get(name).map(|field| &***field),
            _ => None,
        }
    }

    /// The type of a field of an input object.
    pub(crate) fn input_field(&self, object: &str, name: &str) -> Option<&Type> {
        match self.types.get(object)? {
            ExtendedType::InputObject(object) => object.fields.get(name).map(|field| &*field.ty),
            _ => None,
        }
    }

    pub(crate) fn directive(&self, name: &str) -> Option<&ast::DirectiveDefinition> {
        self.directives.iter().find(|directive| directive.name == name).map(|directive| &**directive)
    }
}

/// The first faults are enough; the others mostly follow from them.
fn first_lines(text: &str) -> String {
    const LINES: usize = 12;
    text.lines().take(LINES).collect::<Vec<_>>().join("\n")
}

struct Reader<'a> {
    schema: &'a CompilerSchema,
    root_names: HashSet<Name>,
    renaming: Renaming<'a>,
    /// From the upstream's names of its own types.
    renamed: HashMap<Name, Name>,
    notes: Vec<String>,
    /// Names that several have once they are changed.
    collisions: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, roots: &[Option<Name>; 3]) -> UpstreamModel {
        let schema = self.schema;
        let own = schema.types.iter().filter(|(_, ty)| !ty.is_built_in());
        let own: Vec<_> = own.filter(|(name, _)| !self.root_names.contains(*name)).collect();
        for (name, _) in &own {
            let served = self.renaming.of_type(name);
            self.renamed.insert((*name).clone(), served);
        }
        let mut model = UpstreamModel::default();
        for (name, ty) in own {
            let served = self.renamed[name].clone();
            let ty = self.ty(ty, served.clone());
            if model.types.insert(served.clone(), ty).is_some() {
                self.collisions.push(format!("several of its types would be called `{served}`"));
            }
        }
        for kind in KINDS {
            let Some(root) = roots[kind as usize].as_ref().and_then(|name| schema.get_object(name)) else {
                continue;
            };
            for field in root.fields.values() {
                if self.leads_to_root(&root.name, field) {
                    continue;
                }
                let name = self.renaming.of_field(kind, &field.name);
                let mut field = self.field(field);
                field.make_mut().name = name.clone();
                if model.roots[kind as usize].insert(name.clone(), field).is_some() {
                    let root = root_name(kind);
                    self.collisions.push(format!("several of its fields would be called `{root}.{name}`"));
                }
            }
        }
        model.directives = self.directives();
        model.guards = Guards::of(schema, |of, field| self.served_as(roots, of, field));
        let is_known = |from: &str| {
            let root = from.split_once('.').and_then(|(root, field)| {
                let kind = ["Query", "Mutation", "Subscription"].iter().position(|known| *known == root)?;
                schema.get_object(roots[kind].as_ref()?)?.fields.get(field)
            });
            root.is_some() || self.renamed.keys().any(|name| name == from)
        };
        self.notes.extend(self.renaming.unused(is_known));
        model.notes = std::mem::take(&mut self.notes);
        model.originals = std::mem::take(&mut self.renaming.originals);
        model
    }

    /// Under which types and names a type's field is served; under several where a type is the root of several kinds.
    fn served_as(&mut self, roots: &[Option<Name>; 3], of: &Name, field: &Name) -> Vec<(Name, Name)> {
        if !self.root_names.contains(of) {
            return vec![(self.renamed.get(of).unwrap_or(of).clone(), field.clone())];
        }
        let kinds = KINDS.into_iter().filter(|kind| roots[*kind as usize].as_ref() == Some(of));
        let root = |kind| Name::new(root_name(kind)).expect("a root type has a name");
        kinds.map(|kind| (root(kind), self.renaming.of_field(kind, field))).collect()
    }

    /// A field below which all root fields are again, of all sources, cannot be forwarded.
    fn leads_to_root(&mut self, parent: &Name, field: &FieldDefinition) -> bool {
        let leads = self.root_names.contains(field.ty.inner_named_type());
        if leads {
            self.notes.push(format!("{parent}.{} is left out: it leads back to a root type", field.name));
        }
        leads
    }

    fn ty(&mut self, ty: &ExtendedType, name: Name) -> ExtendedType {
        let mut ty = ty.clone();
        match &mut ty {
            ExtendedType::Scalar(scalar) => {
                let scalar = scalar.make_mut();
                scalar.name = name;
                scalar.directives.retain(|directive| directive.name == "specifiedBy");
            }
            ExtendedType::Object(object) => {
                let object = object.make_mut();
                object.fields = self.fields(&object.name, &object.fields);
                object.name = name;
                object.directives.clear();
                object.implements_interfaces =
                    object.implements_interfaces.iter().map(|name| self.component_name(name)).collect();
            }
            ExtendedType::Interface(interface) => {
                let interface = interface.make_mut();
                interface.fields = self.fields(&interface.name, &interface.fields);
                interface.name = name;
                interface.directives.clear();
                interface.implements_interfaces =
                    interface.implements_interfaces.iter().map(|name| self.component_name(name)).collect();
            }
            ExtendedType::Union(union) => {
                let union = union.make_mut();
                union.name = name;
                union.directives.clear();
                let members = union.members.iter().filter(|member| !self.root_names.contains(&member.name));
                union.members = members.map(|name| self.component_name(name)).collect();
            }
            ExtendedType::Enum(definition) => {
                let definition = definition.make_mut();
                definition.name = name;
                definition.directives.clear();
                for value in definition.values.values_mut() {
                    strip(&mut value.make_mut().directives);
                }
            }
            ExtendedType::InputObject(object) => {
                let object = object.make_mut();
                object.name = name;
                object.directives.clear();
                for field in object.fields.values_mut() {
                    *field = Component::from(self.input(field));
                }
            }
        }
        ty
    }

    fn fields(
        &mut self,
        parent: &Name,
        fields: &IndexMap<Name, Component<FieldDefinition>>,
    ) -> IndexMap<Name, Component<FieldDefinition>> {
        let mut kept = IndexMap::default();
        for (name, field) in fields {
            if !self.leads_to_root(parent, field) {
                kept.insert(name.clone(), Component::from(self.field(field)));
            }
        }
        kept
    }

    fn field(&self, field: &FieldDefinition) -> Node<FieldDefinition> {
        let mut field = field.clone();
        self.rename(&mut field.ty);
        field.arguments = field.arguments.iter().map(|argument| self.input(argument)).collect();
        strip(&mut field.directives);
        Node::new(field)
    }

    fn input(&self, value: &InputValueDefinition) -> Node<InputValueDefinition> {
        let mut value = value.clone();
        self.rename(value.ty.make_mut());
        strip(&mut value.directives);
        Node::new(value)
    }

    fn rename(&self, ty: &mut Type) {
        match ty {
            Type::Named(name) | Type::NonNullNamed(name) => {
                if let Some(served) = self.renamed.get(name) {
                    *name = served.clone();
                }
            }
            Type::List(inner) | Type::NonNullList(inner) => self.rename(inner),
        }
    }

    fn component_name(&self, name: &ComponentName) -> ComponentName {
        ComponentName::from(self.renamed.get(&name.name).unwrap_or(&name.name).clone())
    }

    /// Those that clients may write.
    fn directives(&self) -> Vec<Node<ast::DirectiveDefinition>> {
        let executable = |location: &DirectiveLocation| {
            matches!(
                location,
                DirectiveLocation::Query
                    | DirectiveLocation::Mutation
                    | DirectiveLocation::Subscription
                    | DirectiveLocation::Field
                    | DirectiveLocation::FragmentDefinition
                    | DirectiveLocation::FragmentSpread
                    | DirectiveLocation::InlineFragment
                    | DirectiveLocation::VariableDefinition
            )
        };
        let all = self.schema.directive_definitions.values().filter(|directive| !directive.is_built_in());
        let mut kept = Vec::new();
        for directive in all {
            let mut definition = (**directive).clone();
            definition.locations.retain(executable);
            if definition.locations.is_empty() {
                continue;
            }
            definition.arguments = definition.arguments.iter().map(|argument| self.input(argument)).collect();
            kept.push(Node::new(definition));
        }
        kept
    }
}

/// Directives of a schema are its server's own; what they mean is not known here.
fn strip(directives: &mut DirectiveList) {
    directives.retain(|directive| directive.name == "deprecated");
}
