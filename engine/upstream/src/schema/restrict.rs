//! What a role sees of an upstream: types and fields that its permissions name, and what these need.

use prony_graphql::{
    Name,
    compiler::{
        ast::FieldDefinition,
        collections::IndexMap,
        schema::{Component, ExtendedType},
    },
    selection::Value,
};
use prony_source::permissions::{Columns, PermissionFault, Permissions, SelectPermission, TablePermissions};

use super::model::{KINDS, UpstreamModel};

const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];

impl UpstreamModel {
    /// The part that permissions name. A type is named as it is served, root fields as columns of `Query`, `Mutation` and
    /// `Subscription`; what is not named is not there.
    pub(crate) fn restricted(&self, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let mut faults = Vec::new();
        for (name, table) in &permissions.tables {
            faults.extend(self.faults_of(name, table));
        }
        if !faults.is_empty() {
            return Err(faults);
        }
        let select = |name: &str| permissions.tables.get(name).and_then(|table| table.select.as_ref());
        let is_seen = |name: &Name| match self.types.get(name) {
            Some(ExtendedType::Object(_) | ExtendedType::Interface(_)) => select(name).is_some(),
            Some(ExtendedType::Union(union)) => {
                union.members.iter().any(|member| select(&member.name).is_some())
            }
            _ => true,
        };
        let mut model = Self { types: IndexMap::default(), ..self.clone() };
        for (name, ty) in &self.types {
            let mut ty = ty.clone();
            match &mut ty {
                ExtendedType::Object(object) => {
                    let Some(select) = select(name) else { continue };
                    let object = object.make_mut();
                    retain(&mut object.fields, select, &is_seen);
                    object.implements_interfaces.retain(|interface| is_seen(&interface.name));
                    if object.fields.is_empty() {
                        continue;
                    }
                }
                ExtendedType::Interface(interface) => {
                    let Some(select) = select(name) else { continue };
                    let interface = interface.make_mut();
                    retain(&mut interface.fields, select, &is_seen);
                    interface.implements_interfaces.retain(|interface| is_seen(&interface.name));
                    if interface.fields.is_empty() {
                        continue;
                    }
                }
                ExtendedType::Union(union) => {
                    let union = union.make_mut();
                    union.members.retain(|member| is_seen(&member.name));
                    if union.members.is_empty() {
                        continue;
                    }
                }
                _ => {}
            }
            model.types.insert(name.clone(), ty);
        }
        model.keep_common_fields();
        for kind in KINDS {
            let Some(select) = select(ROOTS[kind as usize]) else {
                model.roots[kind as usize].clear();
                continue;
            };
            model.roots[kind as usize]
                .retain(|name, field| select.columns.contains(name) && is_seen(field.ty.inner_named_type()));
        }
        Ok(model)
    }

    /// Leaves out fields of interfaces that an object of theirs does not have any more.
    fn keep_common_fields(&mut self) {
        let mut lacking: Vec<(Name, Name)> = Vec::new();
        for ty in self.types.values() {
            let (fields, interfaces) = match ty {
                ExtendedType::Object(object) => (&object.fields, &object.implements_interfaces),
                ExtendedType::Interface(interface) => (&interface.fields, &interface.implements_interfaces),
                _ => continue,
            };
            for interface in interfaces {
                let Some(ExtendedType::Interface(definition)) = self.types.get(&interface.name) else {
                    continue;
                };
                let lacks = definition.fields.keys().filter(|name| !fields.contains_key(*name));
                lacking.extend(lacks.map(|name| (interface.name.clone(), name.clone())));
            }
        }
        for (interface, field) in lacking {
            if let Some(ExtendedType::Interface(definition)) = self.types.get_mut(&interface) {
                definition.make_mut().fields.shift_remove(&field);
            }
        }
    }

    fn faults_of(&self, name: &str, table: &TablePermissions) -> Vec<PermissionFault> {
        let mut faults = Vec::new();
        let mut fault = |message: String| faults.push(PermissionFault { name: name.to_owned(), message });
        let root = ROOTS.iter().position(|root| *root == name);
        let fields: Option<Vec<&Name>> = match (root, self.types.get(name)) {
            (Some(kind), _) => Some(self.roots[kind].keys().collect()),
            (None, Some(ExtendedType::Object(object))) => Some(object.fields.keys().collect()),
            (None, Some(ExtendedType::Interface(interface))) => Some(interface.fields.keys().collect()),
            _ => None,
        };
        let Some(fields) = fields else {
            fault("the upstream has no such type with fields".to_owned());
            return faults;
        };
        if table.insert.is_some() || table.update.is_some() || table.delete.is_some() {
            fault("fields of an upstream can only be selected; those of `Mutation` too".to_owned());
        }
        let Some(SelectPermission { rows, columns, limit, .. }) = &table.select else { return faults };
        if !matches!(rows, Value::Object(entries) if entries.is_empty()) {
            fault("rows of an upstream cannot be filtered for a role".to_owned());
        }
        if limit.is_some() {
            fault("lists of an upstream have no limit for a role".to_owned());
        }
        if let Columns::Only(columns) = columns {
            if columns.is_empty() {
                fault("no field is left; leave the type out".to_owned());
            }
            for column in
                columns.iter().filter(|column| !fields.iter().any(|field| field.as_str() == **column))
            {
                fault(format!("there is no field `{column}`"));
            }
        }
        faults
    }
}

fn retain(
    fields: &mut IndexMap<Name, Component<FieldDefinition>>,
    select: &SelectPermission,
    is_seen: &impl Fn(&Name) -> bool,
) {
    fields.retain(|name, field| select.columns.contains(name) && is_seen(field.ty.inner_named_type()));
}
