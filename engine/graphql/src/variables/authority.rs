//! What is known of who asks, for directives of a schema that want it.

use std::{collections::BTreeSet, sync::Arc};

/// Who asks, as far as fields are granted by it. By default nobody is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Authority {
    pub is_authenticated: bool,
    /// Sorted.
    pub scopes: Arc<[Box<str>]>,
    pub policies: Policies,
}

/// Policies that hold for who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Policies {
    All,
    Only(Arc<BTreeSet<String>>),
}

impl Default for Policies {
    fn default() -> Self {
        Self::Only(Arc::default())
    }
}

impl Authority {
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.binary_search_by(|known| (**known).cmp(scope)).is_ok()
    }

    pub fn has_policy(&self, policy: &str) -> bool {
        match &self.policies {
            Policies::All => true,
            Policies::Only(names) => names.contains(policy),
        }
    }
}
