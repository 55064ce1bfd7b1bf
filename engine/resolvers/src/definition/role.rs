//! What of a schema a role is served: the fields that it is granted, and the types that these lead to.

use std::{
    collections::{BTreeSet, HashSet},
    fmt,
};

use prony_graphql::{
    Name,
    compiler::{
        Node,
        ast::{FieldDefinition, Type},
        collections::IndexMap,
        schema::{Component, ExtendedType},
    },
    schema::{Contribution, interfaces},
};
use prony_source::{
    config::suggestion,
    permissions::{PermissionFault, Permissions},
};

use super::{
    catalog::Catalog,
    contribution::{ROOTS, contribution},
};

/// What is left of the types of a schema.
pub(crate) struct Visible {
    types: IndexMap<Name, ExtendedType>,
}

type Fields = IndexMap<Name, Component<FieldDefinition>>;

impl Visible {
    /// # Errors
    /// Fields that are granted and that there are not.
    pub(crate) fn new(catalog: &Catalog, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let faults = faults(catalog, permissions);
        if !faults.is_empty() {
            return Err(faults);
        }
        let is_ours = |(_, definition): &(&Name, &ExtendedType)| !definition.is_built_in();
        let types = catalog.schema.types.iter().filter(is_ours);
        let types = types.map(|(name, definition)| (name.clone(), definition.clone())).collect();
        let mut visible = Self { types };
        visible.keep_granted(catalog, permissions);
        // What is dead goes first: an object that is gone takes no field from its interfaces.
        while visible.drop_dead() || interfaces::drop_uncommon_fields(&mut visible.types) {}
        visible.keep_reached();
        Ok(visible)
    }

    fn keep_granted(&mut self, catalog: &Catalog, permissions: &Permissions) {
        let granted = |policy: &str| permissions.policies.contains(policy);
        for (name, definition) in &mut self.types {
            let is_root = ROOTS.contains(&name.as_str());
            let Some(fields) = fields_mut(definition) else { continue };
            fields.retain(|field, definition| {
                let returns = definition.ty.inner_named_type();
                let mut wanted = catalog.requirements.of_field(&catalog.schema, name, field, returns);
                permissions.fields.allow(name, field, is_root)
                    && !wanted.any(|id| catalog.requirements.lacks_policy(id, &granted))
            });
        }
    }

    /// Takes away types without fields, interfaces that no object implements, and fields that lead to such; whether there were any.
    fn drop_dead(&mut self) -> bool {
        let count = |types: &IndexMap<Name, ExtendedType>| -> usize {
            types.values().map(|definition| 1 + fields(definition).map_or(0, IndexMap::len)).sum()
        };
        let before = count(&self.types);
        let implemented = interfaces::implemented(&self.types);
        self.types.retain(|name, definition| {
            let is_root = ROOTS.contains(&name.as_str());
            let is_never = matches!(definition, ExtendedType::Interface(_)) && !implemented.contains(name);
            is_root || (!is_never && fields(definition).is_none_or(|fields| !fields.is_empty()))
        });
        let alive: HashSet<Name> = self.types.keys().cloned().collect();
        let is_alive = |name: &Name| alive.contains(name) || is_scalar(name);
        for definition in self.types.values_mut() {
            match definition {
                ExtendedType::Object(object) => {
                    let object = object.make_mut();
                    object.implements_interfaces.retain(|interface| is_alive(&interface.name));
                    object.fields.retain(|_, field| is_alive(field.ty.inner_named_type()));
                }
                ExtendedType::Interface(interface) => {
                    let interface = interface.make_mut();
                    interface.implements_interfaces.retain(|interface| is_alive(&interface.name));
                    interface.fields.retain(|_, field| is_alive(field.ty.inner_named_type()));
                }
                ExtendedType::Union(union) => {
                    union.make_mut().members.retain(|member| is_alive(&member.name));
                }
                _ => {}
            }
        }
        self.types.retain(
            |_, definition| !matches!(definition, ExtendedType::Union(union) if union.members.is_empty()),
        );
        count(&self.types) != before
    }

    /// Leaves what the root fields lead to.
    fn keep_reached(&mut self) {
        let mut reached: HashSet<Name> = HashSet::new();
        let mut open: Vec<Name> = ROOTS.iter().filter_map(|root| Name::new(root).ok()).collect();
        while let Some(name) = open.pop() {
            let Some(definition) = self.types.get(&name) else { continue };
            if !reached.insert(name.clone()) {
                continue;
            }
            let named = |ty: &Type| ty.inner_named_type().clone();
            match definition {
                ExtendedType::Object(object) => {
                    open.extend(object.implements_interfaces.iter().map(|interface| interface.name.clone()));
                }
                ExtendedType::Interface(_) => open.extend(self.implementers(&name)),
                ExtendedType::Union(union) => {
                    open.extend(union.members.iter().map(|member| member.name.clone()));
                }
                ExtendedType::InputObject(input) => {
                    open.extend(input.fields.values().map(|field| named(&field.ty)));
                }
                ExtendedType::Scalar(_) | ExtendedType::Enum(_) => {}
            }
            for field in fields(definition).into_iter().flat_map(IndexMap::values) {
                open.push(named(&field.ty));
                open.extend(field.arguments.iter().map(|argument| named(&argument.ty)));
            }
        }
        self.types.retain(|name, _| reached.contains(name));
    }

    fn implementers(&self, interface: &Name) -> impl Iterator<Item = Name> {
        let implements = move |definition: &ExtendedType| match definition {
            ExtendedType::Object(object) => object.implements_interfaces.contains(interface),
            ExtendedType::Interface(other) => other.implements_interfaces.contains(interface),
            _ => false,
        };
        self.types.iter().filter(move |(_, definition)| implements(definition)).map(|(name, _)| name.clone())
    }

    pub(crate) fn has_type(&self, name: &str) -> bool {
        self.types.contains_key(name)
    }

    /// Root fields of queries.
    pub(crate) fn queries(&self) -> impl Iterator<Item = &str> {
        self.types.get("Query").and_then(fields).into_iter().flat_map(IndexMap::keys).map(Name::as_str)
    }

    pub(crate) fn contribution(&self, catalog: &Catalog) -> Contribution {
        let root = |root: &str| -> Vec<Node<FieldDefinition>> {
            let fields = self.types.get(root).and_then(fields).into_iter().flat_map(IndexMap::values);
            fields.map(|field| field.node.clone()).collect()
        };
        let types = self.types.iter().filter(|(name, _)| !ROOTS.contains(&name.as_str()));
        Contribution {
            types: types.map(|(name, definition)| (name.clone(), definition.clone())).collect(),
            query: root("Query"),
            mutation: root("Mutation"),
            subscription: root("Subscription"),
            ..contribution(&catalog.schema)
        }
    }
}

impl fmt::Debug for Visible {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Visible").field("types", &self.types.len()).finish_non_exhaustive()
    }
}

/// Scalars that no schema has to declare.
fn is_scalar(name: &str) -> bool {
    ["Int", "Float", "String", "Boolean", "ID"].contains(&name)
}

fn fields(definition: &ExtendedType) -> Option<&Fields> {
    match definition {
        ExtendedType::Object(object) => Some(&object.fields),
        ExtendedType::Interface(interface) => Some(&interface.fields),
        _ => None,
    }
}

fn fields_mut(definition: &mut ExtendedType) -> Option<&mut Fields> {
    match definition {
        ExtendedType::Object(object) => Some(&mut object.make_mut().fields),
        ExtendedType::Interface(interface) => Some(&mut interface.make_mut().fields),
        _ => None,
    }
}

fn faults(catalog: &Catalog, permissions: &Permissions) -> Vec<PermissionFault> {
    let mut faults = Vec::new();
    for name in permissions.tables.keys() {
        let message = "functions have no tables: grant `fields`, such as [\"Query.*\"]".to_owned();
        faults.push(PermissionFault { name: name.clone(), message });
    }
    for name in permissions.fields.names() {
        if let Err(message) = known(catalog, name) {
            faults.push(PermissionFault { name: name.to_owned(), message });
        }
    }
    faults
}

/// Whether there is a field that is granted.
fn known(catalog: &Catalog, name: &str) -> Result<(), String> {
    let Some((type_name, field)) = name.split_once('.') else {
        return if name == "*" { Ok(()) } else { Err("write `Type.field`, `Type.*` or `*`".to_owned()) };
    };
    let Some(fields) = catalog.schema.types.get(type_name).and_then(fields) else {
        let types = catalog.schema.types.iter().filter(|(_, definition)| fields(definition).is_some());
        let known: BTreeSet<&str> = types.map(|(name, _)| name.as_str()).collect();
        return Err(format!("there is no type `{type_name}` with fields{}", suggestion(type_name, known)));
    };
    if field == "*" || fields.contains_key(field) {
        return Ok(());
    }
    let near = suggestion(field, fields.keys().map(Name::as_str));
    Err(format!("type {type_name} has no field `{field}`{near}"))
}
