//! Settings that sources of several kinds have, and their options.

use serde::{Deserialize, Serialize};

use super::{
    fault::Faults,
    kind::SourceEntry,
    option::{OptionOf, OptionSpec},
    value::ValueKind,
};

/// Limits of what one root field may ask and answer; every field has a safe default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CommonSettings {
    /// Rows of a list without `limit`.
    pub default_limit: u32,
    /// The highest `limit`; a higher one is an error that names it.
    pub max_limit: u32,
    /// Milliseconds after which the source gives up a root field.
    pub statement_timeout_ms: u32,
    /// Bytes that one root field's answer may have.
    pub max_response_bytes: usize,
    /// Whether there are subscriptions.
    pub subscriptions: bool,
    /// Whether nothing can be changed through the server.
    pub read_only: bool,
}

impl Default for CommonSettings {
    fn default() -> Self {
        Self {
            default_limit: 100,
            max_limit: 10_000,
            statement_timeout_ms: 10_000,
            max_response_bytes: 64 << 20,
            subscriptions: true,
            read_only: false,
        }
    }
}

/// Of sources that keep what is written in a log of their own.
pub const DURABILITY: OptionSpec = OptionSpec {
    key: "durability",
    flag: Some("durability"),
    kind: ValueKind::Text,
    default: "\"sync\"",
    help: "When a write to a graph or to series is answered: sync (it is on the disk), interval=MS (it is there within so many milliseconds), off (at once)",
};

/// As [`DURABILITY`].
pub const RECOVER: OptionSpec = OptionSpec {
    key: "recover",
    flag: Some("recover"),
    kind: ValueKind::Boolean,
    default: "false",
    help: "Whether a damaged graph, or damaged series, are opened without what is damaged; the log says what is lost",
};

/// Of sources that tell what took long in one form ([`slow_statements`](crate::slow_statements)).
pub const SLOW_STATEMENT_MS: OptionSpec = OptionSpec {
    key: "slow_statement_ms",
    flag: Some("slow-statement-ms"),
    kind: ValueKind::Number(0, 86_400_000),
    default: "0",
    help: "Statements of SQLite and PostgreSQL, and fields and calls of a graph, that take so long are logged, with what their values are like and how many rows they gave; 0 is none",
};

/// A number that `u32` holds, of at least one.
const COUNT: ValueKind = ValueKind::Number(1, u32::MAX as u64);

/// The options of [`CommonSettings`], for all settings that hold them.
#[rustfmt::skip]
impl<S: AsMut<CommonSettings>> OptionOf<S> {
    pub const DEFAULT_LIMIT: Self = Self::new("default_limit", Some("default-limit"), COUNT, "100", "Rows of a list without `limit`", |settings, value| { settings.as_mut().default_limit = value.number() as u32; Ok(()) });
    pub const MAX_LIMIT: Self = Self::new("max_limit", Some("max-limit"), COUNT, "10000", "The highest `limit`", |settings, value| { settings.as_mut().max_limit = value.number() as u32; Ok(()) });
    pub const STATEMENT_TIMEOUT_MS: Self = Self::new("statement_timeout_ms", Some("statement-timeout-ms"), ValueKind::MILLISECONDS, "10000", "After which a statement is cancelled at the database", |settings, value| { settings.as_mut().statement_timeout_ms = value.number() as u32; Ok(()) });
    pub const MAX_RESPONSE_BYTES: Self = Self::new("max_response_bytes", None, ValueKind::BYTES, "67108864", "Bytes that one root field's answer may have", |settings, value| { settings.as_mut().max_response_bytes = value.size(); Ok(()) });
    pub const SUBSCRIPTIONS: Self = Self::new("subscriptions", Some("subscriptions"), ValueKind::Boolean, "true", "Whether there are subscriptions to a database's tables", |settings, value| { settings.as_mut().subscriptions = value.boolean(); Ok(()) });
    pub const READ_ONLY: Self = Self::new("read_only", Some("read-only"), ValueKind::Boolean, "false", "Whether nothing can be changed through the server: no mutations, no calls of a graph that write, read-only sessions at the database", |settings, value| { settings.as_mut().read_only = value.boolean(); Ok(()) });
}

impl CommonSettings {
    /// What must hold between several of them, as the user has given them.
    pub fn check(&self, entry: &SourceEntry<'_>, faults: &mut Faults) {
        let (default, highest) = (self.default_limit, self.max_limit);
        let mut limits = entry.values.iter().filter(|given| given.option.spec().key.ends_with("_limit"));
        if let (Some(last), true) = (limits.next_back(), default > highest) {
            faults.push(last.origin.clone(), format!("default_limit {default} is over max_limit {highest}"));
        }
    }
}
