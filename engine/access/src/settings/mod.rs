//! `[auth]` and `[roles.…]` of the configuration: read whole, so that all mistakes are reported at once, each with its place.

mod api_keys;
mod auth;
mod condition;
mod fields;
mod interceptors;
mod issuers;
mod operations;
mod permission;
mod read;
mod roles;
mod shared;
mod time;
mod types;
mod union;

pub(crate) use self::types::{
    CertificateName, CertificateSettings, IssuerKeys, IssuerSettings, KeySetSettings, ROLE_VARIABLE, always,
};
pub use self::{
    roles::{NotARoleName, check_role_name},
    time::unix_time,
    types::{AccessSettings, ConfigInputs, Openness, WebhookSettings},
};
