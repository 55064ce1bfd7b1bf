//! What a user can set for a graph, and how it is written.

use prony_graph_store::{Durability, Kind, Side};
use prony_source::CommonSettings;

/// How a graph is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphSettings {
    pub common: CommonSettings,
    /// Whether there are the calls over HTTP beside GraphQL.
    pub http: bool,
    /// Whether calls may run scripts.
    pub lua: bool,
    /// Of one script.
    pub lua_max_memory_bytes: usize,
    pub durability: Durability,
    pub reads: Reads,
    /// Whether to go on without what is damaged.
    pub recover: bool,
    /// Milliseconds after which a field is logged; 0 where none is.
    pub slow_statement_ms: u32,
    /// Length of the log at which a snapshot is due.
    pub snapshot_at_log_bytes: u64,
    /// Seconds after which all files are read again to find damage; 0 where they are not.
    pub scrub_every_s: u64,
    /// Made at the start where they are not there.
    pub indexes: Vec<GraphIndex>,
}

/// What those who read are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reads {
    /// Only what is as durable as writes are when they are answered.
    #[default]
    Durable,
    /// What was written last, also where it may be taken back or lost.
    Latest,
}

impl Reads {
    /// As they are written in settings.
    pub(crate) const WORDS: &'static [&'static str] = &["durable", "latest"];

    /// Of one of these words.
    pub(crate) fn of(word: &str) -> Self {
        if word == "latest" { Self::Latest } else { Self::Durable }
    }
}

/// An index of a graph: the property is declared with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphIndex {
    pub side: Side,
    pub type_name: String,
    pub property: String,
    pub kind: Kind,
}

impl Default for GraphSettings {
    fn default() -> Self {
        Self {
            common: CommonSettings::default(),
            http: true,
            lua: false,
            lua_max_memory_bytes: 64 << 20,
            durability: Durability::Sync,
            reads: Reads::default(),
            recover: false,
            slow_statement_ms: 0,
            snapshot_at_log_bytes: prony_graph_store::SNAPSHOT_AT_LOG_BYTES,
            // A week, as file systems and RAID controllers have it: a disk has what was damaged for a few days at most, and a snapshot
            // or a backup of before is still there. It reads a graph of 10 GB for nine minutes.
            scrub_every_s: 7 * 24 * 60 * 60,
            indexes: Vec::new(),
        }
    }
}

impl AsMut<CommonSettings> for GraphSettings {
    fn as_mut(&mut self) -> &mut CommonSettings {
        &mut self.common
    }
}

/// Reads `nodes/TYPE/PROPERTY/KIND` or `relationships/…`; a type's own name may have slashes.
///
/// # Errors
/// What to write instead.
pub fn graph_index(text: &str) -> Result<GraphIndex, String> {
    const KINDS: [Kind; 4] = [Kind::Boolean, Kind::Integer, Kind::Double, Kind::String];
    let wrong = || {
        format!(
            "`{text}` is no index; write \"nodes/TYPE/PROPERTY/KIND\" or \"relationships/…\", with the kind boolean, \
             integer, double or string"
        )
    };
    let (side, rest) = text.split_once('/').ok_or_else(wrong)?;
    let side = match side {
        "nodes" => Side::Nodes,
        "relationships" => Side::Relationships,
        _ => return Err(wrong()),
    };
    let mut parts = rest.rsplitn(3, '/');
    let (kind, property, type_name) = (parts.next(), parts.next(), parts.next());
    let kind = kind.and_then(Kind::parse).filter(|kind| KINDS.contains(kind)).ok_or_else(wrong)?;
    let name = |text: Option<&str>| text.filter(|text| !text.is_empty()).map(str::to_owned).ok_or_else(wrong);
    Ok(GraphIndex { side, type_name: name(type_name)?, property: name(property)?, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_types_may_have_slashes() {
        let named = ["nodes/a/b/age/integer", "relationships/KNOWS/since/double"].map(|text| {
            let index = graph_index(text).expect("it is an index");
            (index.type_name, index.property, index.kind.name())
        });
        let expected = [("a/b", "age", "integer"), ("KNOWS", "since", "double")];
        assert_eq!(
            named,
            expected.map(|(name, property, kind)| (name.to_owned(), property.to_owned(), kind))
        );
    }
}
