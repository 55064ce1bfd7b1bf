//! What a role sees of an upstream: fields that its permissions name, and the types that these lead to.

use prony_graphql::{
    Name,
    compiler::{
        ast::FieldDefinition,
        collections::{HashSet, IndexMap},
        schema::{Component, ExtendedType},
    },
    schema::interfaces,
};
use prony_source::{
    config::suggestion,
    permissions::{PermissionFault, Permissions},
};

use super::model::UpstreamModel;

const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];
const BUILT_IN: [&str; 5] = ["Int", "Float", "String", "Boolean", "ID"];

impl UpstreamModel {
    /// The part that permissions name by its fields, under the names by which they are served, with the types that these lead to.
    pub(crate) fn restricted(&self, permissions: &Permissions) -> Result<Self, Vec<PermissionFault>> {
        let of_tables = permissions.tables.keys().map(|name| PermissionFault {
            name: name.clone(),
            message: format!("of an upstream grant `fields`, such as \"Query.{name}\" or \"{name}.*\""),
        });
        let of_fields = permissions.fields.names().filter_map(|name| {
            Some(PermissionFault { name: name.to_owned(), message: self.fault_of(name)? })
        });
        let faults: Vec<PermissionFault> = of_tables.chain(of_fields).collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let granted = &permissions.fields;
        let mut model = self.clone();
        for (kind, fields) in model.roots.iter_mut().enumerate() {
            fields.retain(|name, _| granted.allow(ROOTS[kind], name, true));
        }
        for (name, ty) in &mut model.types {
            if let Some(fields) = fields_mut(ty) {
                fields.retain(|field, _| granted.allow(name, field, false));
            }
        }
        // What has nothing goes first: an object that is gone takes no field from its interfaces.
        while model.drop_what_has_nothing() || interfaces::drop_uncommon_fields(&mut model.types) {}
        model.keep_reached();
        Ok(model)
    }

    /// Why no field is named so.
    fn fault_of(&self, name: &str) -> Option<String> {
        if name == "*" {
            return None;
        }
        let Some((of, field)) = name.split_once('.') else {
            return Some("write `Type.field`, `Type.*`, or `*` for everything".to_owned());
        };
        let root = ROOTS.iter().position(|root| *root == of);
        let fields: Vec<&str> = match (root, self.types.get(of)) {
            (Some(kind), _) => self.roots[kind].keys().map(Name::as_str).collect(),
            (None, Some(ExtendedType::Object(object))) => object.fields.keys().map(Name::as_str).collect(),
            (None, Some(ExtendedType::Interface(of))) => of.fields.keys().map(Name::as_str).collect(),
            _ => {
                let has_fields =
                    |ty: &ExtendedType| matches!(ty, ExtendedType::Object(_) | ExtendedType::Interface(_));
                let types = self.types.iter().filter(|(_, ty)| has_fields(ty));
                let known = ROOTS.into_iter().chain(types.map(|(name, _)| name.as_str()));
                return Some(format!("there is no type `{of}` with fields{}", suggestion(of, known)));
            }
        };
        let is_known = field == "*" || fields.contains(&field);
        (!is_known).then(|| format!("there is no field `{field}`{}", suggestion(field, fields)))
    }

    /// Drops types without fields or members, interfaces that no object implements, and what leads to types that are not there; true
    /// where something was dropped.
    fn drop_what_has_nothing(&mut self) -> bool {
        let before = self.size();
        let implemented = interfaces::implemented(&self.types);
        self.types.retain(|name, ty| match ty {
            ExtendedType::Object(object) => !object.fields.is_empty(),
            ExtendedType::Interface(interface) => !interface.fields.is_empty() && implemented.contains(name),
            ExtendedType::Union(union) => !union.members.is_empty(),
            _ => true,
        });
        let there: HashSet<Name> = self.types.keys().cloned().collect();
        let is_there = |name: &Name| there.contains(name) || BUILT_IN.contains(&name.as_str());
        for ty in self.types.values_mut() {
            if let Some(fields) = fields_mut(ty) {
                fields.retain(|_, field| is_there(field.ty.inner_named_type()));
            }
            match ty {
                ExtendedType::Object(of) => {
                    of.make_mut().implements_interfaces.retain(|of| is_there(&of.name));
                }
                ExtendedType::Interface(of) => {
                    of.make_mut().implements_interfaces.retain(|of| is_there(&of.name));
                }
                ExtendedType::Union(union) => union.make_mut().members.retain(|of| is_there(&of.name)),
                _ => {}
            }
        }
        for fields in &mut self.roots {
            fields.retain(|_, field| is_there(field.ty.inner_named_type()));
        }
        self.size() != before
    }

    /// Types, fields and members.
    fn size(&self) -> usize {
        let of_type = |ty: &ExtendedType| match ty {
            ExtendedType::Object(of) => of.fields.len() + of.implements_interfaces.len(),
            ExtendedType::Interface(of) => of.fields.len() + of.implements_interfaces.len(),
            ExtendedType::Union(union) => union.members.len(),
            _ => 0,
        };
        let of_types: usize = self.types.values().map(of_type).sum();
        self.types.len() + of_types + self.roots.iter().map(IndexMap::len).sum::<usize>()
    }

    /// Leaves out types that no root field leads to.
    fn keep_reached(&mut self) {
        let mut reached: HashSet<Name> = HashSet::default();
        let mut waiting: Vec<Name> =
            self.roots.iter().flat_map(IndexMap::values).flat_map(|field| named(field)).collect();
        while let Some(name) = waiting.pop() {
            let Some(ty) = self.types.get(&name) else { continue };
            if !reached.insert(name.clone()) {
                continue;
            }
            match ty {
                ExtendedType::Object(of) => {
                    waiting.extend(of.fields.values().flat_map(|field| named(field)));
                    waiting.extend(of.implements_interfaces.iter().map(|of| of.name.clone()));
                }
                ExtendedType::Interface(of) => {
                    waiting.extend(of.fields.values().flat_map(|field| named(field)));
                    waiting.extend(of.implements_interfaces.iter().map(|of| of.name.clone()));
                    let implements = |(_, ty): &(&Name, &ExtendedType)| match ty {
                        ExtendedType::Object(of) => of.implements_interfaces.iter().any(|of| of.name == name),
                        ExtendedType::Interface(of) => {
                            of.implements_interfaces.iter().any(|of| of.name == name)
                        }
                        _ => false,
                    };
                    waiting.extend(self.types.iter().filter(implements).map(|(name, _)| name.clone()));
                }
                ExtendedType::Union(of) => waiting.extend(of.members.iter().map(|of| of.name.clone())),
                ExtendedType::InputObject(of) => {
                    waiting.extend(of.fields.values().map(|field| field.ty.inner_named_type().clone()));
                }
                ExtendedType::Scalar(_) | ExtendedType::Enum(_) => {}
            }
        }
        let of_directives = self.directives.iter().flat_map(|directive| &directive.arguments);
        reached.extend(of_directives.map(|argument| argument.ty.inner_named_type().clone()));
        self.types.retain(|name, _| reached.contains(name));
    }
}

/// What a field leads to, and what its arguments are of.
fn named(field: &FieldDefinition) -> Vec<Name> {
    let arguments = field.arguments.iter().map(|argument| argument.ty.inner_named_type());
    arguments.chain([field.ty.inner_named_type()]).cloned().collect()
}

fn fields_mut(ty: &mut ExtendedType) -> Option<&mut IndexMap<Name, Component<FieldDefinition>>> {
    match ty {
        ExtendedType::Object(object) => Some(&mut object.make_mut().fields),
        ExtendedType::Interface(interface) => Some(&mut interface.make_mut().fields),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{fmt::Write as _, path::Path};

    use prony_source::permissions::{FieldPermissions, Permissions, TablePermissions};

    use super::*;
    use crate::settings::NameSettings;

    const SDL: &str = "
        interface Named { name: String! }
        interface Aged { age: Int }
        type Person implements Named & Aged { name: String! age: Int home: Planet ships(filter: ShipFilter): [Ship!]! }
        type Planet implements Named { name: String! people: [Person!]! }
        type Ship { id: ID! owner: Person secret: Secret }
        type Secret { text: String }
        type Other { id: ID! }
        union Thing = Ship | Other
        input ShipFilter { size: Size }
        enum Size { SMALL LARGE }
        type Query { person(id: ID!): Person planet: Planet named: [Named!]! thing: Thing secret: Secret other: Other }
        type Mutation { rename(id: ID!): Person remove: Boolean }";

    fn restricted(fields: &[&str]) -> Result<String, Vec<PermissionFault>> {
        let model = UpstreamModel::read(SDL, Path::new("test"), &NameSettings::default(), true);
        let fields = FieldPermissions::new(fields.iter().map(|name| (*name).to_owned()));
        let permissions = Permissions { fields, ..Permissions::default() };
        let model = model.expect("the schema is valid").restricted(&permissions)?;
        let mut text = String::new();
        for (root, fields) in ROOTS.iter().zip(&model.roots).filter(|(_, fields)| !fields.is_empty()) {
            let names: Vec<&str> = fields.keys().map(Name::as_str).collect();
            write!(text, "{root}: {}; ", names.join(" ")).expect("a string takes everything");
        }
        for (name, ty) in &model.types {
            let names: Vec<&str> = match ty {
                ExtendedType::Object(of) => of.fields.keys().map(Name::as_str).collect(),
                ExtendedType::Interface(of) => of.fields.keys().map(Name::as_str).collect(),
                ExtendedType::Union(of) => of.members.iter().map(|of| of.name.as_str()).collect(),
                _ => Vec::new(),
            };
            write!(text, "{name}: {}; ", names.join(" ")).expect("a string takes everything");
        }
        Ok(text.trim_end().to_owned())
    }

    #[test]
    fn a_role_has_the_fields_that_are_named_and_what_they_lead_to() {
        for (fields, expected) in [
            (&["Query.other"][..], "Query: other; Other: id;"),
            (
                &["Query.person", "Person.name"],
                "Query: person; Named: name; Person: name; Planet: name people;",
            ),
            (&["Query.thing", "Ship.id"], "Query: thing; Ship: id; Other: id; Thing: Ship Other;"),
            (
                &["Query.person", "Person.age", "Person.ships", "Ship.id"],
                "Query: person; Aged: age; Person: age ships; Ship: id; ShipFilter: ; Size: ;",
            ),
            (
                &["Mutation.*"],
                "Mutation: rename remove; Named: name; Aged: age; Person: name age home ships; Planet: name people; Ship: id owner secret; Secret: text; ShipFilter: ; Size: ;",
            ),
            (&[], ""),
        ] {
            assert_eq!(restricted(fields).expect("the names are right"), expected, "{fields:?}");
        }
        assert!(
            restricted(&["*"])
                .expect("it is right")
                .starts_with("Query: person planet named thing secret other; ")
        );
    }

    #[test]
    fn names_that_are_not_there_are_told() {
        let faults = |fields: &[&str]| {
            let faults = restricted(fields).expect_err("they are wrong");
            faults.into_iter().map(|fault| format!("{}: {}", fault.name, fault.message)).collect::<Vec<_>>()
        };
        assert_eq!(
            faults(&["Persn.name", "Person.nam", "Size.SMALL", "person"]),
            [
                "Persn.name: there is no type `Persn` with fields; did you mean `Person`?",
                "Person.nam: there is no field `nam`; did you mean `name`?",
                "Size.SMALL: there is no type `Size` with fields",
                "person: write `Type.field`, `Type.*`, or `*` for everything",
            ]
        );
        let tables = [("Person".to_owned(), TablePermissions::default().into())].into();
        let model = UpstreamModel::read(SDL, Path::new("test"), &NameSettings::default(), true);
        let refused =
            model.expect("it is valid").restricted(&Permissions { tables, ..Permissions::default() });
        let message = &refused.expect_err("tables are no way to grant fields")[0].message;
        assert_eq!(message, "of an upstream grant `fields`, such as \"Query.Person\" or \"Person.*\"");
    }
}
