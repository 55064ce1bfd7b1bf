//! Settings of access as they are once they are read and checked.

use std::{fmt, io, path::Path, sync::Arc};

use prony_graphql::selection::Value;
use prony_source::permissions::SessionNames;

use crate::{
    api_key::ApiKeyRecord,
    interceptors::InterceptorSettings,
    jwt::{Algorithm, ClaimRules, VerificationKey},
    network::IpRange,
    operation::OperationRule,
    role::{Role, RoleId},
};

/// What settings are read with beside the configuration's text.
pub struct ConfigInputs<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The bytes of a file, whose path is as it is written: relative to the configuration's folder.
    pub file: &'a dyn Fn(&Path) -> io::Result<Vec<u8>>,
}

/// Who is let in without credentials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Openness {
    /// Nothing is said of it: everybody on a loopback address, and no other address is served.
    LoopbackOnly,
    /// `auth = "open"`: everybody, on any address.
    Open,
    /// `[auth]`: nobody, but for the anonymous role where there is one.
    Closed,
}

/// Who may ask, and what each role may do.
#[derive(Debug)]
pub struct AccessSettings {
    /// By [`RoleId`].
    pub roles: Vec<Role>,
    /// All variables of the session that permissions use.
    pub names: SessionNames,
    pub openness: Openness,
    /// The role of requests without credentials.
    pub anonymous: Option<RoleId>,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpRange>,
    /// Names beside the loopback ones under which a server on a loopback address may be addressed.
    pub hosts: Vec<String>,
    pub webhook: Option<WebhookSettings>,
    /// What is asked of operations beside permissions.
    pub operations: Vec<OperationRule>,
    /// What is called around fields.
    pub interceptors: InterceptorSettings,
    /// All of `names`, where sources want to know some of them.
    pub source_names: Option<Arc<[Box<str>]>>,
    /// Of those that sources want to know, the indexes.
    pub source_variables: Vec<usize>,
    /// Names of variables that credentials give; none where a webhook may give any.
    pub(crate) given_variables: Option<Vec<String>>,
    pub(crate) certificates: Option<CertificateSettings>,
    pub(crate) issuers: Vec<IssuerSettings>,
    pub(crate) api_keys: Vec<ApiKeyRecord>,
    pub(crate) max_token_bytes: usize,
    pub(crate) token_cache_bytes: usize,
}

/// A service that says who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookSettings {
    /// An `http` or `https` URL.
    pub address: String,
    /// Headers of the request that it is sent, in small letters.
    pub forward: Vec<String>,
    pub timeout_ms: u64,
    /// The longest time for which what it says is kept, whatever it says of that itself.
    pub max_cache_s: u64,
    /// Requests to it at a time.
    pub max_in_flight: usize,
}

/// One issuer of tokens.
#[derive(Debug)]
pub(crate) struct IssuerSettings {
    /// `iss` of its tokens; tokens of an issuer that is not named go to the one without a name.
    pub(crate) issuer: Option<String>,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) keys: IssuerKeys,
    pub(crate) rules: ClaimRules,
    pub(crate) claims: ClaimNames,
    /// The role of tokens that name none.
    pub(crate) role: Option<RoleId>,
    /// A cookie in which its tokens may come.
    pub(crate) cookie: Option<String>,
}

impl IssuerSettings {
    /// Whether the same tokens are taken for the same, the role of those that name none aside: it is known by another number elsewhere.
    pub(crate) fn is_but_for_role(&self, other: &Self) -> bool {
        let Self { issuer, algorithms, keys, rules, claims, role: _, cookie } = self;
        *issuer == other.issuer
            && *algorithms == other.algorithms
            && *keys == other.keys
            && *rules == other.rules
            && *claims == other.claims
            && *cookie == other.cookie
    }
}

#[derive(PartialEq)]
pub(crate) enum IssuerKeys {
    Given(Vec<Arc<VerificationKey>>),
    Fetched(KeySetSettings),
}

/// A key set at an address; times in seconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KeySetSettings {
    pub(crate) address: String,
    pub(crate) timeout_ms: u64,
    /// For how long keys are kept where the response does not say.
    pub(crate) refresh_s: i64,
    pub(crate) min_refresh_s: i64,
    pub(crate) max_refresh_s: i64,
    /// An unknown key makes it be fetched at most once in this time.
    pub(crate) unknown_key_s: i64,
}

/// JSON pointers into a token's claims (RFC 6901).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClaimNames {
    pub(crate) role: Option<String>,
    pub(crate) allowed_roles: Option<String>,
    pub(crate) scopes: Option<String>,
    /// Variables of the session.
    pub(crate) session: Vec<(String, String)>,
}

/// What the names of a client's certificate say.
#[derive(Debug, Clone)]
pub(crate) struct CertificateSettings {
    /// The role of clients that bring a certificate and nothing else.
    pub(crate) role: Option<RoleId>,
    /// Variables of the session.
    pub(crate) session: Vec<(String, CertificateName)>,
}

/// Names in a certificate: the first of a kind as a text, or all of it as a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CertificateName {
    Subject,
    CommonName,
    Dns,
    Email,
    Uri,
    AllDns,
    AllEmails,
    AllUris,
}

/// The variable of the session that is the name of the role.
pub(crate) const ROLE_VARIABLE: &str = "role";

const DEFAULT_TOKEN_BYTES: usize = 8 << 10;
/// Some 40,000 tokens with a few claims each.
const DEFAULT_CACHE_BYTES: usize = 32 << 20;

/// A condition that holds for all rows.
pub(crate) fn always() -> Value {
    Value::Object(Vec::new())
}

impl Default for AccessSettings {
    /// As without `[auth]`.
    fn default() -> Self {
        Self {
            roles: Vec::new(),
            names: SessionNames::default(),
            openness: Openness::LoopbackOnly,
            anonymous: None,
            trusted_proxies: Vec::new(),
            hosts: Vec::new(),
            webhook: None,
            operations: Vec::new(),
            interceptors: InterceptorSettings::default(),
            source_names: None,
            source_variables: Vec::new(),
            given_variables: None,
            certificates: None,
            issuers: Vec::new(),
            api_keys: Vec::new(),
            max_token_bytes: DEFAULT_TOKEN_BYTES,
            token_cache_bytes: DEFAULT_CACHE_BYTES,
        }
    }
}

impl fmt::Debug for ConfigInputs<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ConfigInputs").finish_non_exhaustive()
    }
}

/// Never shows a key.
impl fmt::Debug for IssuerKeys {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Given(keys) => formatter.debug_list().entries(keys).finish(),
            Self::Fetched(settings) => settings.fmt(formatter),
        }
    }
}
