//! Types and fields of a GraphQL schema, and what is left of them for a role: for oracles, which say what roles must be served.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
};

/// Of root types, which a role has only as far as it is granted their fields.
const ROOTS: [&str; 3] = ["Query", "Mutation", "Subscription"];

/// Whether permissions that name these fields (`Type.field`, `Type.*`) allow one: of types of which none is named, all.
pub fn is_granted(grants: &BTreeSet<String>, type_name: &str, field: &str) -> bool {
    let prefix = format!("{type_name}.");
    let is_named = ROOTS.contains(&type_name) || grants.iter().any(|grant| grant.starts_with(&prefix));
    let has = |field: &str| grants.contains(&format!("{prefix}{field}"));
    !is_named || has(field) || has("*")
}

/// What can have fields or members.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeKind {
    Object,
    Interface,
    Union,
}

/// What a field returns: a number where there is no type.
#[derive(Debug, Clone)]
pub struct FieldOutput {
    pub of: Option<String>,
    pub is_list: bool,
}

/// A type of any kind.
#[derive(Debug, Clone)]
pub struct SchemaType {
    pub kind: TypeKind,
    pub fields: BTreeMap<String, FieldOutput>,
    /// Of a union its members, of an object its interfaces.
    pub others: BTreeSet<String>,
}

/// Types by name, the root types too.
#[derive(Debug, Clone)]
pub struct TypeMap(pub BTreeMap<String, SchemaType>);

impl SchemaType {
    pub fn of(kind: TypeKind) -> Self {
        Self { kind, fields: BTreeMap::new(), others: BTreeSet::new() }
    }
}

impl TypeMap {
    pub fn sdl(&self) -> String {
        let mut text = String::new();
        for (name, ty) in &self.0 {
            let others: Vec<&str> = ty.others.iter().map(String::as_str).collect();
            let _ = match ty.kind {
                TypeKind::Union => {
                    let _ = writeln!(text, "union {name} = {}", others.join(" | "));
                    continue;
                }
                TypeKind::Interface => write!(text, "interface {name} {{ "),
                TypeKind::Object if others.is_empty() => write!(text, "type {name} {{ "),
                TypeKind::Object => write!(text, "type {name} implements {} {{ ", others.join(" & ")),
            };
            for (field, output) in &ty.fields {
                let of = output.of.as_deref().unwrap_or("Int");
                let of = if output.is_list { format!("[{of}!]") } else { of.to_owned() };
                let _ = write!(text, "{field}(by: Int): {of} ");
            }
            text.push_str("}\n");
        }
        text
    }

    /// What is left where these fields of types are allowed: types without fields, interfaces without objects, and what leads to such, are
    /// gone; then interfaces have the fields that all their objects have, which goes on until nothing more is gone. Types that no root field
    /// leads to are gone too.
    #[must_use]
    pub fn seen(&self, is_allowed: &dyn Fn(&str, &str) -> bool) -> Self {
        let mut seen = self.clone();
        for (name, ty) in &mut seen.0 {
            ty.fields.retain(|field, _| is_allowed(name, field));
        }
        while seen.drop_what_has_nothing() || seen.keep_common_fields() {}
        seen.keep_reached();
        seen
    }

    fn size(&self) -> usize {
        self.0.values().map(|ty| 1 + ty.fields.len() + ty.others.len()).sum()
    }

    fn drop_what_has_nothing(&mut self) -> bool {
        let before = self.size();
        let implemented: BTreeSet<String> =
            self.objects().flat_map(|(_, object)| object.others.iter().cloned()).collect();
        self.0.retain(|name, ty| match ty.kind {
            TypeKind::Union => !ty.others.is_empty(),
            TypeKind::Object => !ty.fields.is_empty(),
            TypeKind::Interface => !ty.fields.is_empty() && implemented.contains(name),
        });
        let there: BTreeSet<String> = self.0.keys().cloned().collect();
        for ty in self.0.values_mut() {
            ty.others.retain(|name| there.contains(name));
            ty.fields.retain(|_, output| output.of.as_ref().is_none_or(|of| there.contains(of)));
        }
        self.size() != before
    }

    fn keep_common_fields(&mut self) -> bool {
        let before = self.size();
        let objects: Vec<SchemaType> = self.objects().map(|(_, object)| object.clone()).collect();
        for (name, ty) in self.0.iter_mut().filter(|(_, ty)| ty.kind == TypeKind::Interface) {
            let own: Vec<&SchemaType> =
                objects.iter().filter(|object| object.others.contains(name)).collect();
            ty.fields.retain(|field, _| own.iter().all(|object| object.fields.contains_key(field)));
        }
        self.size() != before
    }

    /// Objects that have fields.
    fn objects(&self) -> impl Iterator<Item = (&String, &SchemaType)> {
        self.0.iter().filter(|(_, ty)| ty.kind == TypeKind::Object && !ty.fields.is_empty())
    }

    fn keep_reached(&mut self) {
        let mut reached = BTreeSet::new();
        let mut waiting = ROOTS.map(str::to_owned).to_vec();
        while let Some(name) = waiting.pop() {
            let Some(ty) = self.0.get(&name) else { continue };
            if !reached.insert(name.clone()) {
                continue;
            }
            waiting.extend(ty.fields.values().filter_map(|output| output.of.clone()));
            waiting.extend(ty.others.iter().cloned());
            let implements = |(_, other): &(&String, &SchemaType)| {
                ty.kind == TypeKind::Interface
                    && other.kind == TypeKind::Object
                    && other.others.contains(&name)
            };
            waiting.extend(self.0.iter().filter(implements).map(|(name, _)| name.clone()));
        }
        self.0.retain(|name, _| reached.contains(name));
    }

    /// Objects that something of a type can be.
    ///
    /// # Panics
    /// Where there is no such type.
    pub fn possible(&self, name: &str) -> Vec<String> {
        let ty = &self.0[name];
        match ty.kind {
            TypeKind::Object => vec![name.to_owned()],
            TypeKind::Union => ty.others.iter().cloned().collect(),
            TypeKind::Interface => {
                let own = self.objects().filter(|(_, object)| object.others.contains(name));
                own.map(|(object, _)| object.clone()).collect()
            }
        }
    }

    pub fn has(&self, (ty, field): &(String, String)) -> bool {
        let known = self.0.get(ty);
        known.is_some_and(|known| field == "__typename" || known.fields.contains_key(field))
    }

    /// Of types and fields.
    pub fn names(&self) -> BTreeSet<String> {
        let fields = self.0.values().flat_map(|ty| ty.fields.keys().cloned());
        self.0.keys().cloned().chain(fields).collect()
    }

    /// As the schema says of itself.
    pub fn described(&self) -> BTreeMap<String, BTreeSet<String>> {
        let described = |(name, ty): (&String, &SchemaType)| {
            let members = if ty.kind == TypeKind::Union {
                ty.others.clone()
            } else {
                ty.fields.keys().cloned().collect()
            };
            (name.clone(), members)
        };
        self.0.iter().map(described).collect()
    }
}
