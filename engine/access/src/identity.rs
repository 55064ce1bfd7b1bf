//! Who asks, once that is known.

use std::sync::Arc;

use prony_graphql::variables::{ClientIdentity, ClientKey};
use serde_json::Value as Json;

use crate::role::RoleId;

/// Who asks, in which role.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub role: RoleId,
    pub way: Way,
    /// Values of the session's variables, by the index of
    /// [`SessionNames`](prony_source::permissions::SessionNames); null where nothing is known.
    pub session: Arc<[Json]>,
    pub scopes: Scopes,
    /// The name of the user or key, where there is one.
    pub subject: Option<Arc<str>>,
    /// Of a token: names of different issuers are of different users.
    pub issuer: Option<Arc<str>>,
    /// Unix seconds from which on the identity is no longer valid, the leeway included.
    pub expires_at: Option<i64>,
}

/// How somebody is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Way {
    Token,
    ApiKey,
    Certificate,
    Webhook,
    /// Without credentials.
    Anonymous,
}

/// Scopes that a token grants, in order and each once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scopes(Option<Arc<[Box<str>]>>);

impl Scopes {
    pub fn contains(&self, scope: &str) -> bool {
        self.iter_sorted().binary_search_by(|known| (**known).cmp(scope)).is_ok()
    }

    /// Whether all scopes of one of the lists are granted; where there are no lists, nothing is needed. This is what
    /// `@requiresScopes(scopes: [[String!]!]!)` means.
    pub fn satisfy<S: AsRef<str>>(&self, any_of: &[Vec<S>]) -> bool {
        any_of.is_empty() || any_of.iter().any(|all| all.iter().all(|scope| self.contains(scope.as_ref())))
    }

    /// Shared, in order.
    pub fn shared(&self) -> Arc<[Box<str>]> {
        self.0.clone().unwrap_or_default()
    }

    pub(crate) fn weight_bytes(&self) -> usize {
        self.iter_sorted().iter().map(|scope| scope.len() + size_of::<Box<str>>()).sum()
    }

    /// In order.
    pub fn iter_sorted(&self) -> &[Box<str>] {
        self.0.as_deref().unwrap_or_default()
    }
}

impl<S: Into<Box<str>>> FromIterator<S> for Scopes {
    fn from_iter<I: IntoIterator<Item = S>>(scopes: I) -> Self {
        let mut scopes: Vec<Box<str>> = scopes.into_iter().map(Into::into).collect();
        scopes.sort_unstable();
        scopes.dedup();
        Self((!scopes.is_empty()).then(|| scopes.into()))
    }
}

impl Way {
    /// For logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::ApiKey => "api_key",
            Self::Certificate => "certificate",
            Self::Webhook => "webhook",
            Self::Anonymous => "anonymous",
        }
    }

    /// Makes users of one name different who are known in different ways.
    pub(crate) fn tag(self) -> u8 {
        self as u8
    }
}

impl Identity {
    /// Whether it is no longer valid.
    pub fn has_expired(&self, now: i64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }
}

impl ClientIdentity for Identity {
    fn key(&self) -> ClientKey {
        ClientKey::of(&(self.way, &self.issuer, &self.subject))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_a_key_each_whatever_else_is_known_of_them() {
        let of = |way, issuer: Option<&str>, subject: &str| Identity {
            role: RoleId(0),
            way,
            session: Arc::default(),
            scopes: Scopes::default(),
            subject: Some(subject.into()),
            issuer: issuer.map(Into::into),
            expires_at: None,
        };
        let ann = of(Way::Token, Some("https://a.example"), "änn");
        let renewed = Identity { role: RoleId(3), expires_at: Some(7), ..ann.clone() };
        assert_eq!(ann.key(), renewed.key());
        for other in [
            of(Way::Token, Some("https://b.example"), "änn"),
            of(Way::Token, Some("https://a.example"), "bob"),
            of(Way::Certificate, Some("https://a.example"), "änn"),
            of(Way::Token, None, "änn"),
        ] {
            assert_ne!(ann.key(), other.key(), "{other:?}");
        }
    }

    #[test]
    fn one_list_of_scopes_must_be_granted_whole() {
        let scopes: Scopes = ["orders:read", "items:read", "orders:read"].into_iter().collect();
        for (needed, granted) in [
            (vec![], true),
            (vec![vec!["orders:read"]], true),
            (vec![vec!["orders:read", "items:read"]], true),
            (vec![vec!["orders:read", "orders:write"]], false),
            (vec![vec!["orders:write"], vec!["items:read"]], true),
            (vec![vec!["orders"]], false),
            (vec![vec![]], true),
        ] {
            assert_eq!(scopes.satisfy(&needed), granted, "{needed:?}");
        }
        assert!(!Scopes::default().satisfy(&[vec!["a"]]));
    }
}
