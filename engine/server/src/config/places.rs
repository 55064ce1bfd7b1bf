//! Where in the file the parts of a source stand, for what is found to be wrong with them once its tables are known.

use std::{collections::BTreeMap, fmt};

use prony_source::config::{Faults, FileEntry, GivenValue, Origin, SourceSection};
use toml::de::DeValue;

/// Places by what names the parts: keys, and numbers of items, with dots between them.
#[derive(Clone, Default)]
pub struct SourcePlaces(BTreeMap<String, Origin>);

impl SourcePlaces {
    pub(super) fn of(values: &[GivenValue], sections: &[SourceSection<'_>]) -> Self {
        let mut places = Self::default();
        for given in values {
            places.0.insert(given.option.spec().key.to_owned(), given.origin.clone());
        }
        for section in sections {
            let entry = section.entry();
            places.add(entry.name(), &entry, entry.key_origin());
        }
        places
    }

    fn add(&mut self, name: &str, entry: &FileEntry<'_, '_>, origin: Origin) {
        let mut unheeded = Faults::default();
        match entry.value().get_ref() {
            DeValue::Table(_) => {
                for part in entry.table(&mut unheeded) {
                    let origin = match part.value().get_ref() {
                        DeValue::Table(_) | DeValue::Array(_) => part.key_origin(),
                        _ => part.value_origin(),
                    };
                    self.add(&format!("{name}.{}", part.name()), &part, origin);
                }
            }
            DeValue::Array(_) => {
                for (number, item) in entry.items(&mut unheeded).iter().enumerate() {
                    self.add(&format!("{name}.{number}"), item, item.value_origin());
                }
            }
            _ => {}
        }
        self.0.insert(name.to_owned(), origin);
    }

    /// The text of faults, one a line, with the places of the parts that they begin with.
    pub(crate) fn located(&self, faults: &str) -> String {
        let located = |fault: &str| match self.place(fault) {
            Some(place) => format!("{place}: {fault}"),
            None => fault.to_owned(),
        };
        faults.lines().map(located).collect::<Vec<_>>().join("\n")
    }

    /// Of the part that a fault begins with, or of what has it.
    fn place(&self, fault: &str) -> Option<&Origin> {
        let (mut name, _) = fault.split_once(": ")?;
        loop {
            if let Some(place) = self.0.get(name) {
                return Some(place);
            }
            (name, _) = name.rsplit_once('.')?;
        }
    }
}

/// They are for messages alone, and no settings.
impl fmt::Debug for SourcePlaces {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SourcePlaces").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prony_sqlite::SqliteKind;

    use crate::config::{CommandLine, load};

    #[test]
    fn faults_of_tables_have_their_places() {
        let text = r#"[[source]]
url = "sqlite:shop.db"
include_tables = ["a"]
[source.tables.venues]
list_name = "x y"
[[source.tables.venues.relations]]
columns = ["a"]
target = "b"
target_columns = ["c"]
"#;
        let file = Some((Path::new("prony.toml"), text));
        let settings = load(&[&SqliteKind], file, CommandLine::default(), &|_| None);
        let settings = settings.expect("each part is right by itself");
        let faults = "include_tables.0: no table\n\
                      tables.venues.list_name: no name\n\
                      tables.venues.relations.0.target: no table\n\
                      tables.venues.nothing: none\n\
                      it is locked: wait";
        let located = settings.sources[0].places.located(faults);
        let expected = "prony.toml:3:18: include_tables.0: no table\n\
                        prony.toml:5:13: tables.venues.list_name: no name\n\
                        prony.toml:8:10: tables.venues.relations.0.target: no table\n\
                        prony.toml:4:16: tables.venues.nothing: none\n\
                        it is locked: wait";
        assert_eq!(located, expected);
    }
}
