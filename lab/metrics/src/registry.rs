//! Which metrics there are: built in, defined by the script, and submetrics that thresholds with tags ask for.
//!
//! One registry a run, shared by all threads: every user's init code defines the same metrics again.

use crate::builtin;
use crate::metric::{Contains, Kind, MetricId};
use crate::tag_set::TagSet;
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

/// The longest name that k6 takes.
const NAME_LENGTH_MAX: usize = 129;
/// The shortest one: k6's rule asks for a first character and at least one more.
const NAME_LENGTH_MIN: usize = 2;

/// A metric as it was defined.
#[derive(Debug, Clone)]
pub struct Definition {
    /// With the tags in braces for a submetric.
    pub name: Arc<str>,
    pub kind: Kind,
    pub contains: Contains,
    /// Where this is a submetric: whose, and which tags a sample must have.
    pub part_of: Option<Part>,
    /// Ids of its submetrics.
    pub submetrics: Vec<MetricId>,
}

/// What makes a submetric.
#[derive(Debug, Clone)]
pub struct Part {
    pub parent: MetricId,
    /// The text between the braces, as written.
    pub suffix: String,
    pub tags: Arc<TagSet>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetricError {
    #[error(
        "'{name}' cannot be the name of a metric: take {NAME_LENGTH_MIN} to {NAME_LENGTH_MAX} ASCII letters, digits \
         and underscores, without a digit at the start"
    )]
    Name { name: String },
    #[error("metric '{name}' is a {old} already and cannot be a {new} too")]
    Kind { name: String, old: Kind, new: Kind },
    #[error("metric '{name}' has values of type {old} already and cannot have {new} ones too")]
    Contains { name: String, old: Contains, new: Contains },
}

/// The metrics of a run.
#[derive(Debug)]
pub struct Registry {
    definitions: RwLock<Definitions>,
}

#[derive(Debug, Default)]
struct Definitions {
    by_id: Vec<Definition>,
    /// Not the submetrics.
    by_name: HashMap<Arc<str>, MetricId>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new()
    }
}

impl Registry {
    /// A registry that knows the built-in metrics.
    pub fn new() -> Self {
        let mut definitions = Definitions::default();
        for &(name, kind, contains) in builtin::TABLE {
            definitions.insert(name, kind, contains);
        }
        Self { definitions: RwLock::new(definitions) }
    }

    /// The metric of this name, which is made where it does not exist and must else be the same.
    pub fn define(&self, name: &str, kind: Kind, contains: Contains) -> Result<MetricId, MetricError> {
        if !is_metric_name(name) {
            return Err(MetricError::Name { name: name.to_owned() });
        }
        let known = self.get(name);
        let id = known.unwrap_or_else(|| self.write(|definitions| definitions.insert(name, kind, contains)));
        // Another thread may have defined it in between, hence the check of what is there now.
        let definition = self.definition(id);
        let (old_kind, old_contains) = (definition.kind, definition.contains);
        if old_kind != kind {
            return Err(MetricError::Kind { name: name.to_owned(), old: old_kind, new: kind });
        }
        if old_contains != contains {
            return Err(MetricError::Contains { name: name.to_owned(), old: old_contains, new: contains });
        }
        Ok(id)
    }

    /// The part of a metric whose samples have these tags; two texts of the same tags are one submetric.
    pub fn define_part(&self, parent: MetricId, suffix: &str, tags: TagSet) -> MetricId {
        self.write(|definitions| definitions.insert_part(parent, suffix, tags))
    }

    /// Submetrics are not found by name.
    pub fn get(&self, name: &str) -> Option<MetricId> {
        self.read().by_name.get(name).copied()
    }

    pub fn definition(&self, id: MetricId) -> Definition {
        self.read().by_id[id.index()].clone()
    }

    /// All metrics and submetrics by id.
    pub fn definitions(&self) -> Vec<Definition> {
        self.read().by_id.clone()
    }

    pub fn count(&self) -> usize {
        self.read().by_id.len()
    }

    /// Kinds of the metrics from an id on, for those who follow the registry's growth.
    pub(super) fn kinds_from(&self, first: usize) -> Vec<Kind> {
        self.read().by_id[first..].iter().map(|definition| definition.kind).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Definitions> {
        // A panic elsewhere leaves whole definitions: each is pushed in one go.
        self.definitions.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write<T>(&self, change: impl FnOnce(&mut Definitions) -> T) -> T {
        change(&mut self.definitions.write().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Definitions {
    fn insert(&mut self, name: &str, kind: Kind, contains: Contains) -> MetricId {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let name: Arc<str> = name.into();
        let id = self.push(Definition {
            name: Arc::clone(&name),
            kind,
            contains,
            part_of: None,
            submetrics: Vec::new(),
        });
        self.by_name.insert(name, id);
        id
    }

    fn insert_part(&mut self, parent: MetricId, suffix: &str, tags: TagSet) -> MetricId {
        let of = &self.by_id[parent.index()];
        let has_these = |id: &&MetricId| {
            let part = self.by_id[id.index()].part_of.as_ref();
            part.is_some_and(|part| *part.tags == tags)
        };
        if let Some(&id) = of.submetrics.iter().find(has_these) {
            return id;
        }
        let id = self.push(Definition {
            name: format!("{}{{{suffix}}}", of.name).into(),
            kind: of.kind,
            contains: of.contains,
            part_of: Some(Part { parent, suffix: suffix.to_owned(), tags: Arc::new(tags) }),
            submetrics: Vec::new(),
        });
        self.by_id[parent.index()].submetrics.push(id);
        id
    }

    fn push(&mut self, definition: Definition) -> MetricId {
        let id = MetricId(u32::try_from(self.by_id.len()).expect("a script cannot define so many metrics"));
        self.by_id.push(definition);
        id
    }
}

fn is_metric_name(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (NAME_LENGTH_MIN..=NAME_LENGTH_MAX).contains(&name.len())
        && name.bytes().all(is_word)
        && !name.as_bytes()[0].is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_metrics_have_their_constant_ids() {
        let registry = Registry::new();
        assert_eq!(registry.get("http_req_duration"), Some(builtin::HTTP_REQ_DURATION));
        assert_eq!(registry.get("data_received"), Some(builtin::DATA_RECEIVED));
        assert_eq!(registry.get("vus"), Some(builtin::VUS));
    }

    #[test]
    fn names_follow_the_rule_of_k6() {
        let check = |name: &str, expected: bool| {
            let result = Registry::new().define(name, Kind::Counter, Contains::Default);
            assert_eq!(result.is_ok(), expected, "{name:?}: {result:?}");
        };
        check("requests", true);
        check("_a", true);
        check("a", false);
        check("", false);
        check("1st", false);
        check("my metric", false);
        check("größe", false);
        check(&"x".repeat(129), true);
        check(&"x".repeat(130), false);
    }

    #[test]
    fn defining_again_gives_the_same_metric_or_says_how_it_differs() {
        let registry = Registry::new();
        let first = registry.define("latency", Kind::Trend, Contains::Time).expect("new");
        assert_eq!(registry.define("latency", Kind::Trend, Contains::Time), Ok(first));
        let error = registry.define("latency", Kind::Rate, Contains::Time).expect_err("another kind");
        assert_eq!(error.to_string(), "metric 'latency' is a trend already and cannot be a rate too");
        let error = registry.define("latency", Kind::Trend, Contains::Default).expect_err("another content");
        let expected = "metric 'latency' has values of type time already and cannot have default ones too";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn the_same_tags_are_one_submetric() {
        let registry = Registry::new();
        let tags = || TagSet::from_pairs([("b", "2"), ("a", "1")]);
        let first = registry.define_part(builtin::HTTP_REQS, "b:2,a:1", tags());
        let second = registry.define_part(builtin::HTTP_REQS, "a:1,b:2", tags());
        assert_eq!(first, second);
        assert_eq!(&*registry.definition(first).name, "http_reqs{b:2,a:1}");
        assert_eq!(registry.definition(builtin::HTTP_REQS).submetrics, [first]);
        assert_eq!(registry.get("http_reqs{b:2,a:1}"), None);
    }
}
