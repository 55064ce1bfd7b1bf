//! Key sets as whoever fetches them sees them: which there are, when each is to be fetched, and what was fetched.

use std::time::Duration;

use super::{
    identify::Authenticator,
    key_sets::{CacheFacts, KeySet, KeySetError, KeySetId, KeySetStatus},
};
use crate::jwt::{FetchedKeySet, KeyOrigin, key_set};

/// Bytes that a key set may have: more is no key set.
pub const MAX_KEY_SET_BYTES: usize = 1 << 20;

impl Authenticator {
    /// All key sets that are fetched, with the addresses and timeouts.
    pub fn key_sets(&self) -> impl Iterator<Item = (KeySetId, &str, Duration)> {
        self.issuers.key_sets().map(|(id, set)| {
            (id, set.settings().address.as_str(), Duration::from_millis(set.settings().timeout_ms))
        })
    }

    /// When a key set is to be fetched next (Unix seconds): before its keys are stale, or again after a failure.
    pub fn next_refresh(&self, id: KeySetId, now: i64) -> Option<i64> {
        Some(self.key_set(id)?.next_refresh(now))
    }

    /// Whether the caller should fetch it now; false where somebody else is at it. [`Self::replace_keys`] or [`Self::failed`]
    /// must say how it ended.
    pub fn begin_fetch(&self, id: KeySetId, now: i64) -> bool {
        self.key_set(id).is_some_and(|set| set.begin(now))
    }

    /// Takes the keys of a set that was fetched with status 200. Keys that are the same stay, with the tokens that they have
    /// verified; tokens of keys that are gone are forgotten.
    ///
    /// # Errors
    /// There is no key in it that could be used; the old ones stay, and it counts as a failure.
    pub fn replace_keys(
        &self,
        id: KeySetId,
        body: &[u8],
        cache: CacheFacts,
        now: i64,
    ) -> Result<FetchedKeySet, KeySetError> {
        let Some(set) = self.key_set(id) else {
            return Err(KeySetError("there is no such key set".to_owned()));
        };
        if body.len() > MAX_KEY_SET_BYTES {
            let reason = format!("{} bytes are more than a key set may have", body.len());
            set.failed(&reason, now);
            return Err(KeySetError(reason));
        }
        let read = key_set(body, self.issuers.algorithms(id), KeyOrigin::Address);
        let (keys, fetched) = read.inspect_err(|fault| set.failed(&fault.to_string(), now))?;
        if set.replace(keys, fetched, cache, now) {
            self.tokens.drop_keyless();
        }
        Ok(fetched)
    }

    /// Says that a key set could not be fetched. The old keys stay.
    pub fn failed(&self, id: KeySetId, reason: &str, now: i64) {
        if let Some(set) = self.key_set(id) {
            set.failed(reason, now);
        }
    }

    pub fn key_set_status(&self, id: KeySetId) -> Option<KeySetStatus> {
        Some(self.key_set(id)?.status())
    }

    fn key_set(&self, id: KeySetId) -> Option<&KeySet> {
        self.issuers.key_sets().find(|(known, _)| *known == id).map(|(_, set)| set)
    }
}
