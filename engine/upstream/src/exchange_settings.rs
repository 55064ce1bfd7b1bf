//! `[source.token_exchange]`: where tokens of clients become tokens for an upstream, and what is asked for.

use std::{fmt, path::PathBuf, time::Duration};

use prony_source::config::{Faults, FileEntry, substitute_of_process};
use serde::Deserialize;

use crate::address::Address;

/// Times and counts, where nothing is said.
const TIMEOUT_MS: u64 = 5_000;
const MAX_TOKENS: usize = 10_000;
/// RFC 8693, section 3.
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// How tokens are exchanged.
#[derive(Debug, Clone)]
pub(crate) struct ExchangeSettings {
    pub(crate) endpoint: Address,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret: Option<Secret>,
    /// Parameters of each request beside the client's token, by their names.
    pub(crate) parameters: Vec<(&'static str, String)>,
    /// Certificates that are trusted in place of the system's.
    pub(crate) ca_file: Option<PathBuf>,
    /// Of one exchange, with the wait for its turn.
    pub(crate) timeout: Duration,
    /// That are kept, or asked for.
    pub(crate) max_tokens: usize,
}

/// A text that no log shows.
#[derive(Clone)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

/// As it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExchangeTable {
    endpoint: String,
    client_id: Option<String>,
    client_secret: Option<String>,
    audience: Option<String>,
    resource: Option<String>,
    scope: Option<String>,
    subject_token_type: Option<String>,
    requested_token_type: Option<String>,
    ca_file: Option<PathBuf>,
    timeout_ms: Option<u64>,
    max_tokens: Option<usize>,
}

impl ExchangeSettings {
    /// None where something is wrong, which is then among the faults.
    pub(crate) fn read(section: FileEntry<'_, '_>, faults: &mut Faults) -> Option<Self> {
        let table: ExchangeTable = section.read(faults)?;
        Self::of(table).map_err(|message| faults.push(section.value_origin(), message)).ok()
    }

    fn of(table: ExchangeTable) -> Result<Self, String> {
        let known = |text: String| substitute_of_process(&text).map_err(|fault| fault.to_string());
        let optional = |text: Option<String>| text.map(known).transpose();
        let endpoint = known(table.endpoint)?;
        let endpoint =
            Address::parse(&endpoint).map_err(|error| format!("`endpoint` of token_exchange: {error}"))?;
        let client_secret = optional(table.client_secret)?.map(Secret);
        if client_secret.is_some() && table.client_id.is_none() {
            return Err("`client_secret` of token_exchange belongs to a `client_id`; give both".to_owned());
        }
        let (timeout_ms, max_tokens) =
            (table.timeout_ms.unwrap_or(TIMEOUT_MS), table.max_tokens.unwrap_or(MAX_TOKENS));
        if timeout_ms == 0 || max_tokens == 0 {
            return Err("`timeout_ms` and `max_tokens` of token_exchange are at least 1".to_owned());
        }
        let or_access = |token_type: Option<String>| token_type.unwrap_or_else(|| ACCESS_TOKEN.to_owned());
        let mut parameters = vec![
            ("subject_token_type", or_access(table.subject_token_type)),
            ("requested_token_type", or_access(table.requested_token_type)),
        ];
        let given = [("audience", table.audience), ("resource", table.resource), ("scope", table.scope)];
        parameters.extend(given.into_iter().filter_map(|(name, value)| Some((name, value?))));
        Ok(Self {
            endpoint,
            client_id: optional(table.client_id)?,
            client_secret,
            parameters,
            ca_file: table.ca_file,
            timeout: Duration::from_millis(timeout_ms),
            max_tokens,
        })
    }
}
