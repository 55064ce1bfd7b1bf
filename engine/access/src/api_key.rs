//! API keys: random texts that are printed once and of which only the hash is kept. Keys are random enough that a fast hash is
//! a safe one.

use std::{collections::HashMap, fmt, sync::Arc};

use aws_lc_rs::{constant_time::verify_slices_are_equal, digest};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::Value as Json;

use crate::{identity::Scopes, role::RoleId};

/// `prony_PREFIX_SECRET`: so that scanners of leaked secrets know one when they see it.
const BEGINNING: &str = "prony_";
/// Letters of the prefix, by which a key is found.
pub(crate) const PREFIX_BYTES: usize = 8;
const SECRET_BYTES: usize = 32;
/// Of the secret in base64url.
const SECRET_TEXT_BYTES: usize = 43;
const KEY_BYTES: usize = BEGINNING.len() + PREFIX_BYTES + 1 + SECRET_TEXT_BYTES;
const HASH_BEGINNING: &str = "sha256:";

/// What is kept of a key.
#[derive(Clone)]
pub struct ApiKeyRecord {
    pub name: Arc<str>,
    pub(crate) prefix: String,
    pub(crate) hash: [u8; 32],
    pub role: RoleId,
    /// Unix seconds.
    pub expires_at: Option<i64>,
    pub(crate) session: Vec<(String, Json)>,
    pub(crate) scopes: Scopes,
}

impl ApiKeyRecord {
    /// Whether it is of the key that another record is of.
    pub(crate) fn is_same_key(&self, other: &Self) -> bool {
        self.prefix == other.prefix && self.hash == other.hash
    }

    /// Whether the key stands for the same as by another record, for as long; the role aside.
    pub(crate) fn gives_as(&self, other: &Self) -> bool {
        self.expires_at == other.expires_at && self.session == other.session && self.scopes == other.scopes
    }
}

/// A key that was just made.
#[derive(Clone, PartialEq, Eq)]
pub struct NewKey {
    /// To be shown once and never kept.
    pub printed: String,
    /// By which its record is found.
    pub prefix: String,
    /// As its record has it.
    pub hash: String,
}

/// Bytes of chance that a key is made of.
pub const KEY_RANDOM_BYTES: usize = PREFIX_BYTES / 2 + SECRET_BYTES;

/// Makes a key of bytes that nobody can guess.
pub fn new_key(random: &[u8; KEY_RANDOM_BYTES]) -> NewKey {
    let (of_prefix, secret) = random.split_at(PREFIX_BYTES / 2);
    let digits = of_prefix.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    let prefix: String = digits.filter_map(|digit| char::from_digit(u32::from(digit), 16)).collect();
    let printed = format!("{BEGINNING}{prefix}_{}", BASE64_URL_SAFE_NO_PAD.encode(secret));
    let hash = format!("{HASH_BEGINNING}{}", BASE64_URL_SAFE_NO_PAD.encode(hash(printed.as_bytes())));
    NewKey { printed, prefix, hash }
}

impl NewKey {
    /// The record as a table of a file of keys; `expires` is a time as TOML has it.
    pub fn record(&self, name: &str, role: &str, expires: Option<&str>) -> String {
        let text = |value: &str| toml::Value::from(value).to_string();
        let expires = expires.map_or_else(String::new, |time| format!("expires = {}\n", text(time)));
        format!(
            "[[api_key]]\nname = {}\nprefix = {}\nhash = {}\nrole = {}\n{expires}",
            text(name),
            text(&self.prefix),
            text(&self.hash),
            text(role)
        )
    }
}

/// Never shows the key.
impl fmt::Debug for NewKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("NewKey").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl fmt::Debug for ApiKeyRecord {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ApiKeyRecord").field("name", &self.name).finish_non_exhaustive()
    }
}

fn hash(key: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, key).as_ref());
    hash
}

/// A hash as it is written in a record.
pub(crate) fn read_hash(text: &str) -> Option<[u8; 32]> {
    BASE64_URL_SAFE_NO_PAD.decode(text.strip_prefix(HASH_BEGINNING)?).ok()?.try_into().ok()
}

/// Keys by their prefix.
#[derive(Debug)]
pub(crate) struct ApiKeys<T> {
    by_prefix: HashMap<[u8; PREFIX_BYTES], ([u8; 32], T)>,
}

impl<T> ApiKeys<T> {
    /// Of records, whose prefixes are different ones, with what each key stands for.
    pub(crate) fn new<'r>(records: impl IntoIterator<Item = (&'r ApiKeyRecord, T)>) -> Self {
        let entries = records.into_iter().filter_map(|(record, value)| {
            Some((record.prefix.as_bytes().try_into().ok()?, (record.hash, value)))
        });
        Self { by_prefix: entries.collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.by_prefix.is_empty()
    }

    /// What a key stands for. How long it takes says nothing of how much of the key was right.
    pub(crate) fn find(&self, key: &[u8]) -> Option<&T> {
        let rest = key.strip_prefix(BEGINNING.as_bytes()).filter(|_| key.len() == KEY_BYTES)?;
        let (known, value) = self.by_prefix.get(rest.first_chunk()?)?;
        verify_slices_are_equal(known, &hash(key)).ok().map(|()| value)
    }
}
