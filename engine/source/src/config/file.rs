//! The configuration file as a tree in which each key and value knows its place.

use std::{borrow::Cow, iter, ops::Range, path::Path, sync::Arc};

use serde::Deserialize;
use toml::{
    Spanned,
    de::{DeTable, DeValue, ValueDeserializer},
};

use super::{
    fault::{Faults, Origin, suggestion},
    option::{ConfigOption, GivenValue},
    value::described,
};

/// The file's text, to turn byte offsets into places.
#[derive(Debug, Clone)]
pub struct FileText<'t> {
    path: Arc<Path>,
    text: &'t str,
    /// Byte offsets at which lines begin: a file of many tables has many places.
    line_starts: Arc<[usize]>,
}

/// One key of a table and its value.
#[derive(Debug, Clone, Copy)]
pub struct FileEntry<'a, 't> {
    file: &'a FileText<'t>,
    key: &'a Spanned<Cow<'t, str>>,
    value: &'a Spanned<DeValue<'t>>,
}

impl<'t> FileText<'t> {
    /// `path` is for messages alone.
    pub fn new(path: &Path, text: &'t str) -> Self {
        let line_starts = iter::once(0).chain(memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1));
        Self { path: Arc::from(path), text, line_starts: line_starts.collect() }
    }

    /// Where a part of the text begins.
    pub fn place(&self, span: &Range<usize>) -> Origin {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        let line = self.line_starts.partition_point(|start| *start <= before.len());
        let column = before[self.line_starts[line - 1]..].chars().count() + 1;
        Origin::File { path: Arc::clone(&self.path), line, column }
    }

    /// What is in a table.
    pub fn entries<'a>(&'a self, table: &'a DeTable<'t>) -> impl Iterator<Item = FileEntry<'a, 't>> {
        table.iter().map(|(key, value)| FileEntry { file: self, key, value })
    }

    /// An entry that was taken out of its table.
    pub fn entry<'a>(
        &'a self,
        key: &'a Spanned<Cow<'t, str>>,
        value: &'a Spanned<DeValue<'t>>,
    ) -> FileEntry<'a, 't> {
        FileEntry { file: self, key, value }
    }
}

impl<'a, 't> FileEntry<'a, 't> {
    /// The key.
    pub fn name(&self) -> &'a str {
        self.key.get_ref()
    }

    pub fn key(&self) -> &'a Spanned<Cow<'t, str>> {
        self.key
    }

    pub fn value(&self) -> &'a Spanned<DeValue<'t>> {
        self.value
    }

    pub fn key_origin(&self) -> Origin {
        self.file.place(&self.key.span())
    }

    pub fn value_origin(&self) -> Origin {
        self.file.place(&self.value.span())
    }

    /// The entries of a value that should be a table.
    pub fn table(&self, faults: &mut Faults) -> Vec<Self> {
        if let DeValue::Table(table) = self.value.get_ref() {
            return self.file.entries(table).collect();
        }
        let found = described(self.value.get_ref());
        faults.push(self.value_origin(), format!("`{}` is a table, not {found}", self.name()));
        Vec::new()
    }

    /// The items of a value that should be a list, each with the list's key.
    pub fn items(&self, faults: &mut Faults) -> Vec<Self> {
        if let DeValue::Array(items) = self.value.get_ref() {
            return items.iter().map(|value| Self { value, ..*self }).collect();
        }
        let found = described(self.value.get_ref());
        faults.push(self.value_origin(), format!("`{}` is a list, not {found}", self.name()));
        Vec::new()
    }

    /// A value that should be a text.
    pub fn text(&self, faults: &mut Faults) -> Option<String> {
        if let DeValue::String(found) = self.value.get_ref() {
            return Some(found.to_string());
        }
        let found = described(self.value.get_ref());
        faults.push(self.value_origin(), format!("`{}`: write a text in quotes, not {found}", self.name()));
        None
    }

    /// A value by the type that its reader has for it.
    pub fn read<T: for<'de> Deserialize<'de>>(&self, faults: &mut Faults) -> Option<T> {
        self.read_value(self.value, faults)
    }

    /// The values of a list of tables, each by itself.
    pub fn read_tables<T: for<'de> Deserialize<'de>>(&self, faults: &mut Faults) -> Vec<T> {
        let DeValue::Array(items) = self.value.get_ref() else {
            faults.push(self.value_origin(), format!("`{}` is a list of tables", self.name()));
            return Vec::new();
        };
        items.iter().filter_map(|item| self.read_value(item, faults)).collect()
    }

    fn read_value<T: for<'de> Deserialize<'de>>(
        &self,
        value: &Spanned<DeValue<'t>>,
        faults: &mut Faults,
    ) -> Option<T> {
        T::deserialize(ValueDeserializer::from(value.clone()))
            .map_err(|error| {
                let span = error.span().unwrap_or_else(|| value.span());
                faults.push(self.file.place(&span), format!("`{}`: {}", self.name(), error.message()));
            })
            .ok()
    }

    /// The value of an option, checked by itself.
    pub fn option(&self, option: &'static dyn ConfigOption, faults: &mut Faults) -> Option<GivenValue> {
        let origin = self.value_origin();
        let read = option.spec().kind.read_toml(self.value.get_ref());
        let value =
            read.map_err(|message| faults.push(origin.clone(), format!("`{}`: {message}", self.name())));
        let given = GivenValue { option, value: value.ok()?, origin };
        given.check().map_err(|fault| faults.0.push(fault)).ok()?;
        Some(given)
    }

    /// Says that `what`, such as `[server]` or `a table`, has no such key, and which of the known ones is like it.
    pub fn unknown<'k>(&self, what: &str, known: impl IntoIterator<Item = &'k str>, faults: &mut Faults) {
        let near = suggestion(self.name(), known);
        faults.push(self.key_origin(), format!("`{}` is no option of {what}{near}", self.name()));
    }
}
