//! What a role may do with the nodes or relationships of one type: which operations there are for it, and which properties each
//! of them can use. Key, id and type of what can be seen are no properties: they can always be read, filtered and sorted by.

use std::{collections::BTreeMap, sync::Arc};

use prony_graphql::{selection::Value, variables::Variables};
use prony_source::{
    config::suggestion,
    permissions::{Columns, SelectPermission, TablePermissions},
};

use super::assignments::Assignments;
use crate::{
    execute::json_value,
    schema::model::{PropertyModel, TypeModel},
};

/// What is done with a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grant {
    Select,
    Aggregate,
    Insert,
    Update,
    /// An update that takes away what is not given.
    Replace,
    Delete,
}

/// What a property is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PropertyUse {
    Read,
    Filter,
    Sort,
    Aggregate,
    Insert,
    Update,
}

/// By [`Grant`] and [`PropertyUse`]; nothing by default.
#[derive(Debug, Default)]
pub(crate) struct TypeRights {
    granted: [bool; 6],
    properties: [PropertyRights; 6],
    /// The most items of a list.
    pub(crate) limit: Option<u32>,
    /// Values that are written whatever is asked.
    pub(crate) insert_set: Assignments,
    pub(crate) update_set: Assignments,
}

#[derive(Debug)]
enum PropertyRights {
    All,
    /// By the store's names.
    Only(Vec<Arc<str>>),
}

impl Default for PropertyRights {
    fn default() -> Self {
        Self::Only(Vec::new())
    }
}

impl TypeRights {
    /// # Errors
    /// Properties that the type does not have, and values that they do not take: all of them.
    pub(super) fn of(of: &TypeModel, granted: &TablePermissions) -> Result<Self, Vec<String>> {
        let (mut rights, mut reader) = (Self::default(), Reader { of, faults: Vec::new() });
        if let Some(select) = &granted.select {
            rights.select(&mut reader, select);
        }
        if let Some(insert) = &granted.insert {
            rights.granted[Grant::Insert as usize] = true;
            rights.insert_set = reader.presets("insert", &insert.set);
            rights.properties[PropertyUse::Insert as usize] =
                reader.properties("`columns` of `insert`", &insert.columns, &rights.insert_set);
        }
        if let Some(update) = &granted.update {
            rights.update_set = reader.presets("update", &update.set);
            let properties = reader.properties("`columns` of `update`", &update.columns, &rights.update_set);
            rights.granted[Grant::Update as usize] = true;
            // It writes all properties, and with them those that cannot be given.
            rights.granted[Grant::Replace as usize] = matches!(properties, PropertyRights::All);
            rights.properties[PropertyUse::Update as usize] = properties;
        }
        rights.granted[Grant::Delete as usize] = granted.delete.is_some();
        if reader.faults.is_empty() { Ok(rights) } else { Err(reader.faults) }
    }

    fn select(&mut self, reader: &mut Reader<'_>, select: &SelectPermission) {
        self.granted[Grant::Select as usize] = true;
        self.granted[Grant::Aggregate as usize] = select.aggregates;
        self.limit = select.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX));
        let none = Assignments::new();
        for (used, key, columns) in [
            (PropertyUse::Read, "columns", Some(&select.columns)),
            (PropertyUse::Filter, "filter_columns", select.filter.as_ref()),
            (PropertyUse::Sort, "sort_columns", select.sort.as_ref()),
            (PropertyUse::Aggregate, "aggregate_columns", select.aggregate.as_ref()),
        ] {
            let what = format!("`{key}` of `select`");
            // Faults of what is left out are told once, where it is written.
            self.properties[used as usize] = match columns {
                Some(columns) => reader.properties(&what, columns, &none),
                None => {
                    Reader { of: reader.of, faults: Vec::new() }.properties(&what, &select.columns, &none)
                }
            };
        }
    }

    pub(crate) fn can(&self, grant: Grant) -> bool {
        self.granted[grant as usize]
    }

    /// Whether anything can be done.
    pub(crate) fn has_any(&self) -> bool {
        self.granted.contains(&true)
    }

    pub(crate) fn allows(&self, used: PropertyUse, property: &PropertyModel) -> bool {
        match &self.properties[used as usize] {
            PropertyRights::All => true,
            PropertyRights::Only(names) => names.contains(&property.name),
        }
    }
}

struct Reader<'r> {
    of: &'r TypeModel,
    faults: Vec<String>,
}

impl Reader<'_> {
    /// Without those that are preset.
    fn properties(&mut self, what: &str, columns: &Columns, presets: &Assignments) -> PropertyRights {
        let is_preset = |name: &Arc<str>| presets.iter().any(|(preset, ..)| preset == name);
        let names: Vec<Arc<str>> = match columns {
            Columns::All if presets.is_empty() => return PropertyRights::All,
            Columns::All => self.of.properties.iter().map(|property| Arc::clone(&property.name)).collect(),
            Columns::Only(names) => {
                let (of, mut found) = (self.of, Vec::with_capacity(names.len()));
                for name in names.iter().filter(|name| !is_always_there(of, name)) {
                    match self.property(name) {
                        Ok(property) => found.push(Arc::clone(&property.name)),
                        Err(message) => self.faults.push(format!("{what}: {message}")),
                    }
                }
                found
            }
        };
        PropertyRights::Only(names.into_iter().filter(|name| !is_preset(name)).collect())
    }

    fn presets(&mut self, verb: &str, set: &BTreeMap<String, Value>) -> Assignments {
        let mut presets = Assignments::new();
        for (name, value) in set {
            let preset = self.property(name).and_then(|property| {
                let is_known = !matches!(value, Value::Slot(_));
                let fits = json_value::read(property.kind, value, &Variables::default()).is_some();
                if is_known && !fits {
                    return Err(format!("property `{name}` does not take this value"));
                }
                Ok((Arc::clone(&property.name), property.kind, value.clone()))
            });
            match preset {
                Ok(preset) => presets.push(preset),
                Err(message) => self.faults.push(format!("`set` of `{verb}`: {message}")),
            }
        }
        presets
    }

    /// By the name of its field or, where none has it, by that in the store.
    fn property(&self, name: &str) -> Result<&PropertyModel, String> {
        let by_name = || self.of.properties.iter().find(|property| *property.name == *name);
        self.of.property(name).or_else(by_name).ok_or_else(|| {
            let known = self.of.properties.iter().map(|property| &*property.field);
            format!("there is no property `{name}`{}", suggestion(name, known))
        })
    }
}

/// Whether a name is of what can always be read. Relationships have no key, and may have a property that is called so.
fn is_always_there(of: &TypeModel, name: &str) -> bool {
    ["_key", "_id", "_type"].contains(&name) && of.property(name).is_none()
}
