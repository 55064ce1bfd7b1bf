//! Who asks and what they may, as pure decisions: credentials to identities, roles to permissions. It opens no sockets, reads no
//! clock and starts no threads: the server brings bytes and the time (Unix seconds), and fetches what is asked for.

mod admission;
mod api_key;
mod authenticator;
mod calendar;
mod call_pattern;
mod credentials;
mod explain;
mod identity;
mod interceptors;
mod jwt;
mod limits;
mod network;
mod operation;
mod refusal;
mod role;
mod settings;
mod shared_admission;
mod standing;
#[cfg(test)]
mod tests;

pub use self::{
    admission::{Asker, OperationRefusal, Operations, PlaceRequest, RuleId, Times},
    api_key::{ApiKeyRecord, KEY_RANDOM_BYTES, NewKey, new_key},
    authenticator::{
        AuthStatistics, Authenticator, CacheFacts, Identified, KeySetError, KeySetId, KeySetStatus,
        LastToken, MAX_KEY_SET_BYTES, WebhookQuestion, WebhookResponse,
    },
    call_pattern::{BadCallPattern, CallPattern},
    credentials::{CertificateNames, Credentials, brings_credential},
    explain::explain,
    identity::{Identity, Scopes, Way},
    interceptors::{InterceptorSettings, InterceptorsByTable, ModulePath, TableInterceptors},
    jwt::{Algorithm, FetchedKeySet},
    limits::{
        BadRate, LimitCounts, LimitState, LimiterStatistics, QuotaCount, Rate, RateLimit, SharedBound,
        SharedCounts, SharedSettings, StoreCall, StoreReply, Verdict, WhenUnreachable, Window,
    },
    network::{IpRange, NotARange, client_address, client_network},
    operation::{
        CacheScope, KeyedConcurrency, KeyedQuota, KeyedRateLimit, LimitBy, OperationMatch, OperationRule,
        ResponseCacheRule,
    },
    refusal::{AuthRefusal, RefusalKind},
    role::{Role, RoleId},
    settings::{
        AccessSettings, ConfigInputs, NotARoleName, Openness, WebhookSettings, check_role_name, unix_time,
    },
    shared_admission::{Progress, SharedAdmission},
    standing::{Standing, Standings},
};
