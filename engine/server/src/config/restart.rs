//! Options that count from a restart on. Nothing else shows that a configuration which is read again has other values for them, so it is
//! told.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use prony_graphql::document::weights::FieldWeights;
use prony_source::config::{Faults, GivenValue, OptionSpec, SourceSection, TypedValue, ValueKind};

/// What was given of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RestartOptions {
    /// By the place in the file. A value that is the default stands for none.
    values: BTreeMap<String, TypedValue>,
    /// What `[complexity]` says.
    weights: FieldWeights,
}

impl RestartOptions {
    /// Of the server's sections, by their keys.
    pub(super) fn of_server<'g>(
        given: impl Iterator<Item = (&'static str, &'g GivenValue)>,
        weights: FieldWeights,
    ) -> Self {
        let mut options = Self { weights, ..Self::default() };
        for (section, value) in given {
            if !is_taken_again(section, value.option.spec().key) {
                options.note(&format!("[{section}]"), value);
            }
        }
        options
    }

    /// Adds those of a source, but for keys that count while it is served.
    pub(super) fn add_source(
        &mut self,
        name: &str,
        given: &[GivenValue],
        sections: &[SourceSection<'_>],
        taken_again: &[&str],
    ) {
        let place = format!("source `{name}`");
        for value in given.iter().filter(|value| !taken_again.contains(&value.option.spec().key)) {
            self.note(&place, value);
        }
        for section in sections {
            let entry = section.entry();
            if !taken_again.contains(&entry.name()) {
                // Without its place in the text, which is another where lines come before it.
                let value: Option<toml::Value> = entry.read(&mut Faults::default());
                let value = TypedValue::Text(format!("{value:?}"));
                self.values.insert(format!("{place} {}", entry.name()), value);
            }
        }
    }

    /// The later value of an option wins.
    fn note(&mut self, place: &str, given: &GivenValue) {
        let spec = given.option.spec();
        let name = format!("{place} {}", spec.key);
        if default_of(spec).as_ref() == Some(&given.value) {
            self.values.remove(&name);
        } else {
            self.values.insert(name, given.value.clone());
        }
    }

    /// Which are other there.
    pub(crate) fn differences<'o>(&'o self, other: &'o Self) -> Vec<&'o str> {
        let names: BTreeSet<&String> = self.values.keys().chain(other.values.keys()).collect();
        let is_other = |name: &&String| self.values.get(*name) != other.values.get(*name);
        let weights = (self.weights != other.weights).then_some("[complexity]");
        names.into_iter().filter(is_other).map(String::as_str).chain(weights).collect()
    }
}

/// Some of the values are secrets.
impl fmt::Debug for RestartOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RestartOptions").finish_non_exhaustive()
    }
}

/// Whether an option of the server counts where the configuration is read again.
fn is_taken_again(section: &str, key: &str) -> bool {
    match section {
        "tls" => true,
        "server" => key == "hosts",
        "limits" => key.starts_with("redis"),
        _ => false,
    }
}

/// None where it depends on the machine or on other options.
fn default_of(spec: &OptionSpec) -> Option<TypedValue> {
    let unquoted = |text: &str| text.trim().trim_matches('"').to_owned();
    if spec.kind == ValueKind::List {
        let items = spec.default.trim_matches(['[', ']']).split(',').map(unquoted);
        return Some(TypedValue::List(items.filter(|item| !item.is_empty()).collect()));
    }
    spec.kind.read_texts(&[unquoted(spec.default)]).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use prony_sqlite::SqliteKind;

    use super::*;
    use crate::config::{CommandLine, ListedOption, from_flags, load, options};

    fn given(flags: &[(&str, &str, &str)]) -> RestartOptions {
        let known = options(&[]);
        let flags = flags.iter().map(|(section, key, text)| {
            let is_it =
                |listed: &&ListedOption| listed.section.key() == *section && listed.spec().key == *key;
            let listed = known.iter().find(is_it).expect("there is such an option");
            (listed.clone(), vec![(*text).to_owned()])
        });
        from_flags(flags.collect()).expect("the values are right").restart
    }

    #[test]
    fn what_counts_from_a_restart_on_is_told_where_it_is_other() {
        let before = given(&[("graphql", "max_depth", "10"), ("server", "console", "false")]);
        let after = given(&[("graphql", "max_depth", "11"), ("log", "format", "json")]);
        assert_eq!(before.differences(&after), ["[graphql] max_depth", "[log] format", "[server] console"]);
        assert!(before.differences(&before.clone()).is_empty());
    }

    #[test]
    fn weights_of_fields_are_told_and_tables_are_not() {
        let of = |text: &str| {
            let file = Some((Path::new("prony.toml"), text));
            let settings = load(&[&SqliteKind], file, CommandLine::default(), &|_| None);
            settings.expect("the text is right").restart
        };
        let before = of("[[source]]\nurl = \"sqlite:shop.db\"\n[source.tables.a]\nlist_name = \"b\"\n");
        let after = of("[complexity]\n\"Query.a\" = 5\n[[source]]\nurl = \"sqlite:shop.db\"\n");
        assert_eq!(before.differences(&after), ["[complexity]"]);
    }

    #[test]
    fn a_default_that_is_written_down_is_no_other_value() {
        let defaults = [
            ("graphql", "max_depth", "15"),
            ("server", "console", "true"),
            ("server", "listen", "127.0.0.1:8080"),
            ("log", "level", "info"),
            ("traces", "sample_ratio", "1"),
        ];
        assert_eq!(given(&defaults), RestartOptions::default());
    }

    #[test]
    fn what_counts_while_the_server_runs_is_not_told() {
        let given = given(&[("server", "hosts", "shop.example"), ("limits", "redis_prefix", "shop:")]);
        assert_eq!(given, RestartOptions::default());
    }
}
