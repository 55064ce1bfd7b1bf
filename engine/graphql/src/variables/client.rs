//! Whose a request is where many wait: what tells clients from each other, and the key that is made of it for one that waits.

use std::{
    fmt,
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::Arc,
};

/// Who a request is of, as far as turns depend on it. Its key is made where somebody waits, since most requests never do.
#[derive(Debug, Clone, Default)]
pub enum RequestClient {
    /// Nothing is known of them, and they have one key together.
    #[default]
    Unknown,
    /// The bytes of an address, or of the network that it is in.
    Address([u8; 16]),
    /// A user whom others know by name.
    User(Arc<dyn ClientIdentity>),
}

/// A user, as whoever has let the user in knows it.
pub trait ClientIdentity: fmt::Debug + Send + Sync {
    /// Equal for all requests of the same user.
    fn key(&self) -> ClientKey;
}

/// Tells clients from each other where many wait, so that each has its turn. Two that have one key by chance share their turns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ClientKey(u64);

impl RequestClient {
    pub fn key(&self) -> ClientKey {
        match self {
            Self::Unknown => ClientKey::default(),
            Self::Address(bytes) => ClientKey::of(bytes),
            Self::User(identity) => identity.key(),
        }
    }
}

impl ClientKey {
    /// Of a user or an address.
    pub fn of(client: &impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        client.hash(&mut hasher);
        Self(hasher.finish())
    }

    /// As a key among bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_ne_bytes()
    }
}
