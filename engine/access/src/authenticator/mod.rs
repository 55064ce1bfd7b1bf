//! From a request's credentials to who asks. Each way of being known is a file of its own; `identify` decides which one a
//! request takes.

mod certificate;
mod fetching;
mod identify;
mod issuer;
mod key_sets;
mod last_token;
mod roles;
mod tokens;
mod webhook;

pub use self::{
    fetching::MAX_KEY_SET_BYTES,
    identify::{Authenticator, Identified},
    key_sets::{CacheFacts, KeySetError, KeySetId, KeySetStatus},
    last_token::LastToken,
    tokens::AuthStatistics,
    webhook::{WebhookQuestion, WebhookResponse},
};
