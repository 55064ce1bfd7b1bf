//! Reading `[[auth.api_key]]`, and the same from a file of keys.

use std::{path::Path, sync::Arc};

use prony_source::config::{Faults, FileEntry, FileText, Origin};
use toml::de::DeTable;

use super::{
    condition::json,
    fields::{Fields, dotted},
    roles, time,
    types::ConfigInputs,
};
use crate::{
    api_key::{ApiKeyRecord, PREFIX_BYTES, read_hash},
    role::Role,
};

/// The list of a file of keys.
const LIST: &str = "api_key";

/// The records of a list.
pub(super) fn read(
    list: FileEntry<'_, '_>,
    roles: &[Role],
    faults: &mut Faults,
) -> Vec<(ApiKeyRecord, Origin)> {
    let items = list.items(faults).into_iter();
    items.filter_map(|item| read_key(item, roles, faults)).collect()
}

/// The records of a file of keys, whose mistakes have their places in it.
pub(super) fn read_file(
    entry: FileEntry<'_, '_>,
    roles: &[Role],
    inputs: &ConfigInputs<'_>,
    faults: &mut Faults,
) -> Vec<(ApiKeyRecord, Origin)> {
    let Some(path) = entry.text(faults) else { return Vec::new() };
    let bytes = match (inputs.file)(Path::new(&path)) {
        Ok(bytes) => bytes,
        Err(error) => {
            faults.push(entry.value_origin(), format!("`{path}` cannot be read: {error}"));
            return Vec::new();
        }
    };
    let Ok(text) = str::from_utf8(&bytes) else {
        faults.push(entry.value_origin(), format!("`{path}` is no text"));
        return Vec::new();
    };
    let file = FileText::new(Path::new(&path), text);
    let (table, syntax) = DeTable::parse_recoverable(text);
    for error in syntax {
        faults.push(file.place(&error.span().unwrap_or_default()), error.message());
    }
    let entries = file.entries(table.get_ref()).collect();
    let mut fields = Fields::of_entries(entries, "a file of keys", file.place(&(0..0)));
    let list = fields.take(LIST);
    fields.end(faults);
    list.map_or_else(Vec::new, |list| read(list, roles, faults))
}

fn read_key(entry: FileEntry<'_, '_>, roles: &[Role], faults: &mut Faults) -> Option<(ApiKeyRecord, Origin)> {
    let mut fields = Fields::of(entry, "an API key", faults);
    let given = entry.table(&mut Faults::default());
    let is_missing = |key: &&str| given.iter().all(|entry| entry.name() != *key);
    let missing = ["name", "prefix", "hash", "role"].into_iter().filter(is_missing);
    let missing: Vec<String> = missing.map(|key| format!("`{key}`")).collect();
    if !missing.is_empty() {
        let message = format!("needs {}; `prony key new` writes all of it", missing.join(", "));
        fields.missing(&message, faults);
    }
    let name = fields.text("name", faults);
    let prefix = fields.take("prefix").and_then(|entry| {
        let prefix = entry.text(faults)?;
        if prefix.len() != PREFIX_BYTES || !prefix.is_ascii() {
            faults.push(entry.value_origin(), format!("`prefix` has {PREFIX_BYTES} letters and digits"));
        }
        Some(prefix)
    });
    let hash = fields.take("hash").and_then(|entry| {
        let hash = read_hash(&entry.text(faults)?);
        if hash.is_none() {
            // The message leaves the value out: it may be the key itself.
            faults.push(entry.value_origin(), "`hash` is what `prony key new` writes: sha256:…");
        }
        hash
    });
    let role = fields.take("role").and_then(|entry| {
        let name = entry.text(faults)?;
        roles::find(roles, &name, entry.value_origin(), faults)
    });
    let expires_at = fields.take("expires").and_then(|entry| time::seconds(entry, faults));
    let scopes = fields.texts("scopes", faults).into_iter().map(|(scope, _)| scope).collect();
    let session = fields.take("session").map_or_else(Vec::new, |entry| {
        let entries = dotted(entry, faults).into_iter();
        entries.filter_map(|(name, entry)| Some((name, json(entry, faults)?))).collect()
    });
    fields.end(faults);
    let record = ApiKeyRecord {
        name: Arc::from(name?),
        prefix: prefix?,
        hash: hash?,
        role: role?,
        expires_at,
        session,
        scopes,
    };
    Some((record, entry.value_origin()))
}
