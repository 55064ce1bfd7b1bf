//! Options that count from a restart on. Nothing else shows that a configuration which is read again has other values for them, so it is
//! told.

use std::collections::{BTreeMap, BTreeSet};

use prony_source::config::{GivenValue, OptionSpec, TypedValue, ValueKind};

use super::{options::Section, typed::Given};

/// What was given of them, by the place in the file. A value that is the default stands for none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestartOptions(BTreeMap<String, TypedValue>);

impl RestartOptions {
    /// Of the server's sections.
    pub(super) fn of_server(given: &[Given]) -> Self {
        let mut options = Self::default();
        for Given { section, value } in given {
            if !is_taken_again(*section, value.option.spec().key) {
                options.note(&format!("[{}]", section.key()), value);
            }
        }
        options
    }

    /// Adds those of a source, but for keys that count while it is served.
    pub(super) fn add_source(&mut self, name: &str, given: &[GivenValue], taken_again: &[&str]) {
        for value in given {
            if !taken_again.contains(&value.option.spec().key) {
                self.note(&format!("source `{name}`"), value);
            }
        }
    }

    /// The later value of an option wins.
    fn note(&mut self, place: &str, given: &GivenValue) {
        let spec = given.option.spec();
        let name = format!("{place} {}", spec.key);
        if default_of(spec).as_ref() == Some(&given.value) {
            self.0.remove(&name);
        } else {
            self.0.insert(name, given.value.clone());
        }
    }

    /// Which are other there.
    pub(crate) fn differences<'o>(&'o self, other: &'o Self) -> Vec<&'o str> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        let is_other = |name: &&String| self.0.get(*name) != other.0.get(*name);
        names.into_iter().filter(is_other).map(String::as_str).collect()
    }
}

/// Whether an option of the server counts where the configuration is read again.
fn is_taken_again(section: Section, key: &str) -> bool {
    match section {
        Section::Tls => true,
        Section::Server => key == "hosts",
        Section::Limits => key.starts_with("redis"),
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
    use super::*;
    use crate::config::{ListedOption, from_flags, options};

    fn given(flags: &[(&str, &str, &str)]) -> RestartOptions {
        let known = options(&[]);
        let flags = flags.iter().map(|(section, key, text)| {
            let is_it = |listed: &&ListedOption| {
                listed.section.key() == *section && listed.spec().key == *key
            };
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
