//! The token that a connection brought last: where its next request brings the same one, no hash of it is needed.

use std::{cell::RefCell, fmt, sync::Arc};

use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::tokens::VerifiedToken;

/// Kept with one connection, which may have clients of several people behind it. Empty until
/// [`identify`](super::Authenticator::identify) was given it with a token whose signature is right.
#[derive(Default)]
pub struct LastToken(RefCell<Option<Kept>>);

struct Kept {
    /// Of the authenticator that has verified it: another configuration verifies anew.
    authenticator: AuthenticatorId,
    token: Box<[u8]>,
    verified: Arc<VerifiedToken>,
}

/// Tells authenticators apart, also those that are gone.
#[derive(Debug, Clone, Default)]
pub(super) struct AuthenticatorId(Arc<()>);

impl PartialEq for AuthenticatorId {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl LastToken {
    /// What was verified, where this is the token. How long the comparison takes says nothing of the token that is kept.
    pub(super) fn get(&self, authenticator: &AuthenticatorId, token: &[u8]) -> Option<Arc<VerifiedToken>> {
        let kept = self.0.borrow();
        let kept = kept.as_ref().filter(|kept| kept.authenticator == *authenticator)?;
        verify_slices_are_equal(&kept.token, token).ok()?;
        Some(Arc::clone(&kept.verified))
    }

    pub(super) fn keep(&self, authenticator: &AuthenticatorId, token: &[u8], verified: &Arc<VerifiedToken>) {
        let kept = Kept {
            authenticator: authenticator.clone(),
            token: token.into(),
            verified: Arc::clone(verified),
        };
        self.0.replace(Some(kept));
    }
}

/// Never shows what it is.
impl fmt::Debug for LastToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("LastToken").field("is_kept", &self.0.borrow().is_some()).finish()
    }
}
