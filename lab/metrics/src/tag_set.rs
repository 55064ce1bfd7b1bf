//! A set of tags.

use std::collections::BTreeMap;
use std::sync::Arc;

/// Names and values, sorted by name. Cheap to compare, shared with outputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TagSet(Box<[(Arc<str>, Arc<str>)]>);

impl TagSet {
    /// The last value of a name counts.
    pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let sorted: BTreeMap<&str, &str> = pairs.into_iter().collect();
        Self(sorted.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Sorted by name.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// True where this set has every tag of the other.
    pub fn contains(&self, other: &Self) -> bool {
        other.iter().all(|(name, value)| self.get(name) == Some(value))
    }

    pub(crate) fn changed(&self, added: &[(&str, &str)]) -> Self {
        let mut pairs = self.0.to_vec();
        for &(name, value) in added {
            match pairs.binary_search_by(|(known, _)| (**known).cmp(name)) {
                Ok(at) => pairs[at].1 = value.into(),
                Err(at) => pairs.insert(at, (name.into(), value.into())),
            }
        }
        Self(pairs.into_boxed_slice())
    }

    pub(crate) fn without(&self, name: &str) -> Self {
        Self(self.0.iter().filter(|(known, _)| &**known != name).cloned().collect())
    }
}
