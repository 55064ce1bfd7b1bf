//! Joins held against what is served: the types of their fields, or what is wrong with them.

use std::sync::Arc;

use prony_graphql::{
    Name,
    compiler::{
        Node,
        ast::{FieldDefinition, Type},
        collections::{HashMap, HashSet},
        schema::ExtendedType,
    },
    schema::{
        Contribution, SourceId,
        build::{field_with_arguments, list, named},
        opaque_scalars,
    },
    selection::Value,
};

use super::{
    given::GivenValues,
    keys::{KeyComparison, KeyForm},
    settings::JoinSettings,
};

/// The joins that fit what is served.
#[derive(Debug, Clone, Default)]
pub(crate) struct Joins(Arc<[Join]>);

/// A join whose every part is there.
#[derive(Debug)]
pub(crate) struct Join {
    /// The type that has the field, and the field.
    pub(super) parent: Name,
    pub(super) field: Name,
    pub(super) key: Name,
    pub(super) key_type: Type,
    /// Who answers the root field.
    pub(super) source: SourceId,
    pub(super) root: Node<FieldDefinition>,
    pub(super) argument: Vec<Name>,
    /// What the configuration gives for arguments.
    pub(super) given: Vec<(Name, Value)>,
    pub(super) keys: KeyForm,
    pub(super) comparison: KeyComparison,
    pub(super) matched: Name,
    pub(super) matched_type: Type,
    pub(super) settings: JoinSettings,
}

impl Joins {
    /// Those of the settings that fit contributions, what they contribute themselves, and what is wrong with the others.
    pub(crate) fn of(
        settings: &[JoinSettings],
        contributions: &[(SourceId, Contribution)],
    ) -> (Self, Contribution, Vec<String>) {
        let mut faults = Vec::new();
        let mut joins: Vec<Join> = Vec::new();
        let mut contribution = Contribution::default();
        if settings.is_empty() {
            return (Self::default(), contribution, faults);
        }
        let offered = Offered::of(contributions);
        for join in settings {
            match offered.join(join) {
                Ok(_) if joins.iter().any(|known| known.settings.field == join.field) => {
                    faults.push(format!("join `{}` is there twice", join.field));
                }
                Ok(join) => joins.push(join),
                Err(fault) => faults.push(format!("join `{}`: {fault}", join.field)),
            }
        }
        for join in &joins {
            let item = join.root.ty.inner_named_type();
            // Null says that another source has failed, which takes nothing from the parent.
            let ty = if join.settings.many { list(item) } else { named(item) };
            contribution
                .extensions
                .push((join.parent.clone(), field_with_arguments(&join.field, Vec::new(), ty)));
        }
        (Self(joins.into()), contribution, faults)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn find(&self, parent: &Name, field: &Name) -> Option<&Join> {
        self.0.iter().find(|join| join.parent == *parent && join.field == *field)
    }
}

/// What all sources offer, to be looked up.
struct Offered<'a> {
    /// Of which only the source knows what values they have.
    opaque: HashSet<Name>,
    types: HashMap<&'a str, &'a ExtendedType>,
    queries: HashMap<&'a str, (SourceId, &'a Node<FieldDefinition>)>,
}

impl<'a> Offered<'a> {
    fn of(contributions: &'a [(SourceId, Contribution)]) -> Self {
        let types = contributions.iter().flat_map(|(_, contribution)| &contribution.types);
        let queries = contributions.iter().flat_map(|(source, contribution)| {
            contribution.query.iter().map(move |field| (field.name.as_str(), (*source, field)))
        });
        let opaque = opaque_scalars(contributions);
        Self {
            opaque,
            types: types.map(|(name, ty)| (name.as_str(), ty)).collect(),
            queries: queries.collect(),
        }
    }

    fn join(&self, settings: &JoinSettings) -> Result<Join, String> {
        let name = |text: &str| Name::new(text).map_err(|_| format!("`{text}` is no name"));
        let (parent, field) =
            settings.field.split_once('.').ok_or("`field` is a type and a new field, as Order.customer")?;
        let (parent, field) = (name(parent)?, name(field)?);
        if self.field(&parent, &field).is_ok() {
            return Err(format!("{parent} has a field `{field}` already"));
        }
        let key = name(&settings.key)?;
        let key_type = self.key_type(&parent, &key)?;
        let root =
            settings.to.strip_prefix("Query.").ok_or("`to` is a field of Query, as Query.customersByIds")?;
        let (source, root) =
            self.queries.get(root).ok_or_else(|| format!("there is no field {}", settings.to))?;
        if !root.ty.is_list() {
            return Err(format!(
                "{} gives one, and must give a list of those that have the keys",
                settings.to
            ));
        }
        let matched = name(&settings.matched)?;
        let matched_type = self.key_type(root.ty.inner_named_type(), &matched)?;
        let comparison = KeyComparison::of([
            key_type.inner_named_type().as_str(),
            matched_type.inner_named_type().as_str(),
        ]);
        let argument: Vec<Name> = settings.argument.split('.').map(name).collect::<Result<_, _>>()?;
        let keys = self.key_form(root, &argument)?;
        let given = GivenValues { types: &self.types }.of(root, settings, &argument)?;
        let is_given =
            |name: &Name| argument.first() == Some(name) || settings.arguments.contains_key(name.as_str());
        let missing =
            root.arguments.iter().find(|argument| argument.is_required() && !is_given(&argument.name));
        if let Some(missing) = missing {
            return Err(format!(
                "{} needs its argument `{}`; give it in `arguments`",
                settings.to, missing.name
            ));
        }
        if settings.batch == 0 {
            return Err("`batch` must be at least 1".to_owned());
        }
        let root = Node::clone(root);
        let settings = settings.clone();
        Ok(Join {
            parent,
            field,
            key,
            key_type,
            source: *source,
            root,
            argument,
            given,
            keys,
            comparison,
            matched,
            matched_type,
            settings,
        })
    }

    fn field(&self, parent: &Name, field: &Name) -> Result<&'a FieldDefinition, String> {
        let Some(ExtendedType::Object(object)) = self.types.get(parent.as_str()) else {
            return Err(format!("there is no type {parent} with fields"));
        };
        let field = object.fields.get(field).ok_or_else(|| format!("{parent} has no field `{field}`"))?;
        Ok(field)
    }

    /// Of a field that has a key: it is asked for as it is, and what comes is one value.
    fn key_type(&self, parent: &Name, field: &Name) -> Result<Type, String> {
        let definition = self.field(parent, field)?;
        if definition.ty.is_list() {
            return Err(format!("{parent}.{field} is a list, and must be one key"));
        }
        let named = definition.ty.inner_named_type();
        let known = self.types.get(named.as_str());
        if !matches!(known, None | Some(ExtendedType::Scalar(_) | ExtendedType::Enum(_))) {
            return Err(format!(
                "{parent}.{field} is of type {named}, and must be a scalar or an enumeration"
            ));
        }
        if let Some(needed) = definition.arguments.iter().find(|argument| argument.is_required()) {
            return Err(format!(
                "{parent}.{field} needs its argument `{}`, and is asked for without",
                needed.name
            ));
        }
        Ok(definition.ty.clone())
    }

    /// Follows an argument to the list of keys.
    fn key_form(&self, root: &FieldDefinition, argument: &[Name]) -> Result<KeyForm, String> {
        let dotted = || argument.iter().map(Name::as_str).collect::<Vec<_>>().join(".");
        let missing = || format!("{} has no argument `{}`", root.name, dotted());
        let (first, rest) = argument.split_first().ok_or_else(missing)?;
        let found = root.arguments.iter().find(|value| value.name == *first);
        let mut ty: &Type = found.map(|value| &*value.ty).ok_or_else(missing)?;
        for name in rest {
            let Some(ExtendedType::InputObject(object)) = self.types.get(ty.inner_named_type().as_str())
            else {
                return Err(missing());
            };
            ty = object.fields.get(name).map(|field| &*field.ty).ok_or_else(missing)?;
        }
        if !ty.is_list() {
            return Err(format!("argument `{}` of {} is no list", dotted(), root.name));
        }
        let item = ty.inner_named_type();
        if let Some(ExtendedType::Enum(known)) = self.types.get(item.as_str()) {
            return Ok(KeyForm::Labels(known.values.keys().cloned().collect()));
        }
        Ok(if self.opaque.contains(item) { KeyForm::AsTheyAre } else { KeyForm::of(item) })
    }
}
