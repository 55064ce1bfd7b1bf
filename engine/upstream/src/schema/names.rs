//! Names of an upstream and those under which they are served.

use prony_graphql::{Name, compiler::collections::HashMap, selection::OperationKind};

use crate::settings::NameSettings;

/// From names that are served to the upstream's own; only those that differ.
#[derive(Debug, Clone, Default)]
pub(crate) struct OriginalNames {
    types: HashMap<Name, Name>,
    fields: [HashMap<Name, Name>; 3],
}

impl OriginalNames {
    pub(crate) fn of_type<'n>(&'n self, served: &'n Name) -> &'n Name {
        self.types.get(served).unwrap_or(served)
    }

    pub(crate) fn of_field<'n>(&'n self, kind: OperationKind, served: &'n Name) -> &'n Name {
        self.fields[kind as usize].get(served).unwrap_or(served)
    }

    /// Whether documents mean the same here and there.
    pub(crate) fn are_served(&self) -> bool {
        self.types.is_empty() && self.fields.iter().all(HashMap::is_empty)
    }

    pub(crate) fn are_types_served(&self) -> bool {
        self.types.is_empty()
    }

    /// Each type that has another name here: the upstream's name, and the one that is served.
    pub(crate) fn served_types(&self) -> impl Iterator<Item = (Name, Name)> {
        self.types.iter().map(|(served, original)| (original.clone(), served.clone()))
    }
}

/// Under which a root type is served.
pub(crate) const fn root_name(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Query => "Query",
        OperationKind::Mutation => "Mutation",
        OperationKind::Subscription => "Subscription",
    }
}

/// Gives names by the configuration, and remembers them.
#[derive(Debug)]
pub(crate) struct Renaming<'a> {
    settings: &'a NameSettings,
    pub(crate) originals: OriginalNames,
}

impl<'a> Renaming<'a> {
    pub(crate) fn new(settings: &'a NameSettings) -> Self {
        Self { settings, originals: OriginalNames::default() }
    }

    fn explicit(&self, key: &str) -> Option<Name> {
        let renamed = self.settings.renames.iter().find(|(from, _)| from == key);
        renamed.and_then(|(_, to)| Name::new(to).ok())
    }

    /// Of a type that the upstream defines itself.
    pub(crate) fn of_type(&mut self, original: &Name) -> Name {
        let prefix = &self.settings.type_prefix;
        let prefixed = || Name::new(&format!("{prefix}{original}")).ok();
        let served = self.explicit(original).or_else(prefixed).unwrap_or_else(|| original.clone());
        if served != *original {
            self.originals.types.insert(served.clone(), original.clone());
        }
        served
    }

    pub(crate) fn of_field(&mut self, kind: OperationKind, original: &Name) -> Name {
        let root = root_name(kind);
        let prefix = &self.settings.field_prefix;
        let prefixed = || Name::new(&format!("{prefix}{original}")).ok();
        let explicit = self.explicit(&format!("{root}.{original}"));
        let served = explicit.or_else(prefixed).unwrap_or_else(|| original.clone());
        if served != *original {
            self.originals.fields[kind as usize].insert(served.clone(), original.clone());
        }
        served
    }

    /// Entries of the configuration that rename nothing that is there.
    pub(crate) fn unused(&self, is_known: impl Fn(&str) -> bool) -> Vec<String> {
        let unused = self.settings.renames.iter().filter(|(from, _)| !is_known(from));
        unused.map(|(from, to)| format!("`{from}` is renamed to `{to}`, and is not there")).collect()
    }
}
