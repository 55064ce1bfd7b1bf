//! Reading `[[auth.jwt]]`: who issues tokens, which keys verify them, and what their claims mean.

use std::{path::Path, sync::Arc};

use prony_source::config::{Faults, FileEntry, Origin, VariableFault, substitute};

use super::{
    fields::{Fields, address_fault, dotted, unknown},
    roles,
    types::{ClaimNames, ConfigInputs, IssuerKeys, IssuerSettings, KeySetSettings},
};
use crate::{
    jwt::{Algorithm, ClaimRules, KeyFault, KeyOrigin, VerificationKey, key_set},
    role::Role,
};

/// Where scopes stand by RFC 9068 and RFC 8693.
const SCOPES: &str = "/scope";
const DEFAULT_LEEWAY_S: u64 = 30;
const DEFAULT_REFRESH_S: u64 = 600;
const MIN_REFRESH_S: u64 = 60;
const DAY_S: u64 = 86_400;
const UNKNOWN_KEY_S: u64 = 30;
const TIMEOUT_MS: u64 = 5_000;

pub(super) struct IssuerReader<'r> {
    pub(super) roles: &'r [Role],
    pub(super) inputs: &'r ConfigInputs<'r>,
    pub(super) faults: &'r mut Faults,
}

impl IssuerReader<'_> {
    pub(super) fn read(&mut self, entry: FileEntry<'_, '_>) -> IssuerSettings {
        let mut fields = Fields::of(entry, "[[auth.jwt]]", self.faults);
        let issuer = fields.text("issuer", self.faults);
        let audience = fields.texts("audience", self.faults).into_iter().map(|(name, _)| name).collect();
        let algorithms = self.algorithms(&mut fields);
        let keys = self.keys(&mut fields, &algorithms).unwrap_or_else(|| IssuerKeys::Given(Vec::new()));
        let leeway_s =
            fields.number("leeway_s", (0, 600), self.faults).unwrap_or(DEFAULT_LEEWAY_S).cast_signed();
        let require_expiry = fields.boolean("require_expiry", true, self.faults);
        let role = fields.take("role").and_then(|entry| {
            let name = entry.text(self.faults)?;
            roles::find(self.roles, &name, entry.value_origin(), self.faults)
        });
        let claims = fields.take("claims").map_or_else(ClaimNames::default, |entry| self.claims(entry));
        let cookie = fields.text("cookie", self.faults);
        if role.is_none() && claims.role.is_none() && claims.allowed_roles.is_none() {
            let message = "gives no role: write claims = { role = \"/…\" }, or `role` for all its tokens";
            fields.missing(message, self.faults);
        }
        let scopes = claims.scopes.or_else(|| Some(SCOPES.to_owned()));
        let claims = ClaimNames { scopes, ..claims };
        fields.end(self.faults);
        let rules = ClaimRules { audience, leeway_s, require_expiry };
        IssuerSettings { issuer, algorithms, keys, rules, claims, role, cookie }
    }

    fn algorithms(&mut self, fields: &mut Fields<'_, '_>) -> Vec<Algorithm> {
        let written = fields.texts("algorithms", self.faults);
        if written.is_empty() {
            let message =
                "needs `algorithms`, such as [\"RS256\"]: a token must not choose how it is checked";
            fields.missing(message, self.faults);
        }
        let mut algorithms = Vec::new();
        for (name, origin) in written {
            match name.parse() {
                Ok(algorithm) if algorithms.contains(&algorithm) => {
                    self.faults.push(origin, format!("`{name}` stands twice"));
                }
                Ok(algorithm) => algorithms.push(algorithm),
                Err(_) if name.eq_ignore_ascii_case("none") => {
                    self.faults.push(origin, "tokens without a signature are never accepted");
                }
                Err(_) => {
                    let known = Algorithm::ALL.into_iter().map(Algorithm::name);
                    unknown("algorithm", &name, known, origin, self.faults);
                }
            }
        }
        algorithms
    }

    /// The keys from the one of `jwks`, `key_file` and `secret` that is given.
    fn keys(&mut self, fields: &mut Fields<'_, '_>, algorithms: &[Algorithm]) -> Option<IssuerKeys> {
        let given = ["jwks", "key_file", "secret"].map(|key| fields.take(key));
        let fetching = self.fetching(fields);
        let mut given = given.into_iter().flatten();
        let (only, more) = (given.next(), given.next());
        if let Some(more) = more {
            self.faults.push(more.key_origin(), "one of `jwks`, `key_file` and `secret` is enough");
        }
        let Some(entry) = only else {
            fields.missing("needs its keys: `jwks`, `key_file` or `secret`", self.faults);
            return None;
        };
        let text = entry.text(self.faults)?;
        let origin = entry.value_origin();
        let is_address = text.starts_with("https://") || text.starts_with("http://");
        let read = match entry.name() {
            "secret" => self.secret(&text, algorithms),
            "jwks" if is_address => {
                if let Some(fault) = address_fault(&text) {
                    self.faults.push(origin, format!("`jwks` {fault}"));
                    return None;
                }
                self.kinds(algorithms, |algorithm| !algorithm.is_symmetric(), "public keys", &origin);
                return Some(IssuerKeys::Fetched(KeySetSettings { address: text, ..fetching }));
            }
            _ => self.key_file(&text, algorithms),
        };
        match read {
            Ok(keys) => {
                self.check_kinds(entry, algorithms, &keys);
                Some(IssuerKeys::Given(keys))
            }
            Err(message) => {
                self.faults.push(origin, message);
                None
            }
        }
    }

    fn fetching(&mut self, fields: &mut Fields<'_, '_>) -> KeySetSettings {
        let mut number =
            |key, bounds, default| fields.number(key, bounds, self.faults).unwrap_or(default).cast_signed();
        KeySetSettings {
            address: String::new(),
            refresh_s: number("refresh_s", (1, 7 * DAY_S), DEFAULT_REFRESH_S),
            min_refresh_s: number("min_refresh_s", (1, DAY_S), MIN_REFRESH_S),
            max_refresh_s: number("max_refresh_s", (1, 7 * DAY_S), DAY_S),
            unknown_key_s: number("unknown_key_s", (1, DAY_S), UNKNOWN_KEY_S),
            timeout_ms: number("timeout_ms", (1, 60_000), TIMEOUT_MS).cast_unsigned(),
        }
    }

    fn secret(&mut self, text: &str, algorithms: &[Algorithm]) -> Result<Vec<Arc<VerificationKey>>, String> {
        let secret = substitute(text, self.inputs.variable).map_err(|fault| match fault {
            // The rest of the text may be the secret.
            VariableFault::Unclosed(_) => "`secret`: a `${` lacks its closing brace".to_owned(),
            VariableFault::Missing(_) | VariableFault::Unreadable(..) => fault.to_string(),
        })?;
        if algorithms.iter().all(|algorithm| !algorithm.is_symmetric()) && !algorithms.is_empty() {
            return Err(
                "`secret` is for HS256, HS384 and HS512; other algorithms need a public key".to_owned()
            );
        }
        let key = VerificationKey::secret(None, secret.as_bytes(), algorithms);
        key.map(|key| vec![Arc::new(key)]).map_err(|fault| fault.to_string())
    }

    /// A public key in PEM, a JWK or a set of them.
    fn key_file(
        &mut self,
        path: &str,
        algorithms: &[Algorithm],
    ) -> Result<Vec<Arc<VerificationKey>>, String> {
        let bytes = (self.inputs.file)(Path::new(path))
            .map_err(|error| format!("`{path}` cannot be read: {error}"))?;
        let read = match str::from_utf8(&bytes) {
            Ok(text) if text.contains("-----BEGIN") => {
                VerificationKey::pem(text, algorithms).map(|key| vec![Arc::new(key)])
            }
            Ok(_) => key_set(&bytes, algorithms, KeyOrigin::File).map(|(keys, _)| keys),
            Err(_) => Err(KeyFault::Unreadable),
        };
        read.map_err(|fault| format!("`{path}`: {fault}"))
    }

    /// Each algorithm must have a key: one that has none is a key of the wrong kind.
    fn check_kinds(
        &mut self,
        entry: FileEntry<'_, '_>,
        algorithms: &[Algorithm],
        keys: &[Arc<VerificationKey>],
    ) {
        let has_key = |algorithm: Algorithm| keys.iter().any(|key| key.is_for(algorithm));
        let what = if entry.name() == "secret" { "a secret" } else { "these keys" };
        self.kinds(algorithms, has_key, what, &entry.value_origin());
    }

    fn kinds(
        &mut self,
        algorithms: &[Algorithm],
        fits: impl Fn(Algorithm) -> bool,
        what: &str,
        origin: &Origin,
    ) {
        for algorithm in algorithms.iter().filter(|algorithm| !fits(**algorithm)) {
            let message = format!("{} cannot be checked with {what}", algorithm.name());
            self.faults.push(origin.clone(), message);
        }
    }

    fn claims(&mut self, entry: FileEntry<'_, '_>) -> ClaimNames {
        let mut claims = ClaimNames::default();
        for (name, entry) in dotted(entry, self.faults) {
            let Some(pointer) = entry.text(self.faults) else { continue };
            if !is_pointer(&pointer) {
                let message = format!("`{name}`: write a JSON pointer such as \"/sub\" (RFC 6901)");
                self.faults.push(entry.value_origin(), message);
            }
            match name.as_str() {
                "role" => claims.role = Some(pointer),
                "allowed_roles" => claims.allowed_roles = Some(pointer),
                "scopes" => claims.scopes = Some(pointer),
                _ => claims.session.push((name, pointer)),
            }
        }
        claims
    }
}

/// Whether a text is a JSON pointer to something inside (RFC 6901, section 3).
pub(super) fn is_pointer(text: &str) -> bool {
    let escapes_end_well =
        text.split('~').skip(1).all(|after| after.starts_with('0') || after.starts_with('1'));
    text.starts_with('/') && escapes_end_well
}
