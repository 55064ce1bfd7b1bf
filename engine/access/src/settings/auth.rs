//! Reading `[auth]`: ways to be known, and what is believed of a request beside its credentials.

use std::collections::BTreeSet;

use http::HeaderName;
use prony_source::config::{Faults, FileEntry, Origin, VariableFault, substitute};
use toml::de::DeValue;

use super::{
    api_keys,
    fields::{Fields, address_fault, dotted, unknown},
    issuers::IssuerReader,
    roles,
    types::{AccessSettings, CertificateName, CertificateSettings, ConfigInputs, Openness, WebhookSettings},
};
use crate::{api_key::ApiKeyRecord, role::RoleId};

/// The text that opens a server to everybody.
const OPEN: &str = "open";

pub(super) struct AuthReader<'r, 'i> {
    pub(super) settings: &'r mut AccessSettings,
    pub(super) inputs: &'r ConfigInputs<'i>,
    /// Names of all variables of the session that credentials give.
    pub(super) variables: &'r mut Vec<String>,
}

impl AuthReader<'_, '_> {
    pub(super) fn read(&mut self, auth: FileEntry<'_, '_>, faults: &mut Faults) {
        match auth.value().get_ref() {
            DeValue::String(text) if text == OPEN => self.settings.openness = Openness::Open,
            DeValue::Table(_) => {
                self.settings.openness = Openness::Closed;
                self.read_table(auth, faults);
            }
            _ => faults
                .push(auth.value_origin(), "`auth` is a table, or \"open\" for everybody on any address"),
        }
    }

    fn read_table(&mut self, auth: FileEntry<'_, '_>, faults: &mut Faults) {
        let mut fields = Fields::of(auth, "[auth]", faults);
        let anonymous = fields.take("anonymous");
        let lets_others_in = anonymous.is_some();
        self.settings.anonymous = anonymous.and_then(|entry| self.role(entry, faults));
        for (text, origin) in fields.texts("trusted_proxies", faults) {
            match text.parse() {
                Ok(range) => self.settings.trusted_proxies.push(range),
                Err(error) => faults.push(origin, format!("`trusted_proxies`: {error}")),
            }
        }
        let hosts = fields.texts("hosts", faults).into_iter();
        self.settings.hosts = hosts.map(|(name, _)| name.to_ascii_lowercase()).collect();
        if let Some(bytes) = fields.number("max_token_bytes", (256, 1 << 20), faults) {
            self.settings.max_token_bytes = bytes as usize;
        }
        if let Some(bytes) = fields.number("token_cache_bytes", (64 << 10, 1 << 40), faults) {
            self.settings.token_cache_bytes = bytes as usize;
        }
        let ways = ["jwt", "api_key", "keys_file", "mtls", "webhook"].map(|key| fields.take(key));
        if ways.iter().all(Option::is_none) && !lets_others_in {
            let message = "lets nobody in: it needs `anonymous`, [[auth.jwt]], [[auth.api_key]], [auth.mtls] or [auth.webhook]";
            fields.missing(message, faults);
        }
        fields.end(faults);
        let [jwt, api_key, keys_file, mtls, webhook] = ways;
        self.issuers(jwt, faults);
        self.api_keys(api_key, keys_file, faults);
        self.settings.certificates = mtls.map(|entry| self.certificates(entry, faults));
        self.settings.webhook = webhook.and_then(|entry| webhook_settings(entry, self.inputs, faults));
    }

    fn role(&self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<RoleId> {
        let name = entry.text(faults)?;
        roles::find(&self.settings.roles, &name, entry.value_origin(), faults)
    }

    fn issuers(&mut self, jwt: Option<FileEntry<'_, '_>>, faults: &mut Faults) {
        let items = jwt.map_or_else(Vec::new, |jwt| jwt.items(faults));
        let mut names = BTreeSet::new();
        for item in items {
            let roles = &self.settings.roles;
            let issuer = IssuerReader { roles, inputs: self.inputs, faults }.read(item);
            if !names.insert(issuer.issuer.clone()) {
                let message = match &issuer.issuer {
                    Some(name) => format!("issuer `{name}` stands twice"),
                    None => "one [[auth.jwt]] at most can be without `issuer`".to_owned(),
                };
                faults.push(item.value_origin(), message);
            }
            self.variables.extend(issuer.claims.session.iter().map(|(name, _)| name.clone()));
            self.settings.issuers.push(issuer);
        }
    }

    fn api_keys(
        &mut self,
        list: Option<FileEntry<'_, '_>>,
        file: Option<FileEntry<'_, '_>>,
        faults: &mut Faults,
    ) {
        let roles = &self.settings.roles;
        let mut records = list.map_or_else(Vec::new, |list| api_keys::read(list, roles, faults));
        if let Some(file) = file {
            records.extend(api_keys::read_file(file, roles, self.inputs, faults));
        }
        check_unique(&records, faults);
        for (record, _) in records {
            self.variables.extend(record.session.iter().map(|(name, _)| name.clone()));
            self.settings.api_keys.push(record);
        }
    }

    fn certificates(&mut self, entry: FileEntry<'_, '_>, faults: &mut Faults) -> CertificateSettings {
        let mut fields = Fields::of(entry, "[auth.mtls]", faults);
        let role = fields.take("role").and_then(|entry| self.role(entry, faults));
        let names = fields.take("claims").map_or_else(Vec::new, |entry| dotted(entry, faults));
        fields.end(faults);
        let session = names.into_iter().filter_map(|(variable, entry)| {
            let name = certificate_name(entry, faults)?;
            self.variables.push(variable.clone());
            Some((variable, name))
        });
        CertificateSettings { role, session: session.collect() }
    }
}

fn certificate_name(entry: FileEntry<'_, '_>, faults: &mut Faults) -> Option<CertificateName> {
    let text = entry.text(faults)?;
    let found = CERTIFICATE_NAMES.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let known = CERTIFICATE_NAMES.iter().map(|(name, _)| *name);
        unknown("name of a certificate", &text, known, entry.value_origin(), faults);
    }
    found.map(|(_, name)| *name)
}

const CERTIFICATE_NAMES: [(&str, CertificateName); 8] = [
    ("subject", CertificateName::Subject),
    ("common_name", CertificateName::CommonName),
    ("dns", CertificateName::Dns),
    ("email", CertificateName::Email),
    ("uri", CertificateName::Uri),
    ("dns_names", CertificateName::AllDns),
    ("emails", CertificateName::AllEmails),
    ("uris", CertificateName::AllUris),
];

fn check_unique(records: &[(ApiKeyRecord, Origin)], faults: &mut Faults) {
    let (mut names, mut prefixes) = (BTreeSet::new(), BTreeSet::new());
    for (record, origin) in records {
        if !names.insert(&record.name) {
            faults.push(origin.clone(), format!("an API key is named `{}` already", record.name));
        }
        if !prefixes.insert(&record.prefix) {
            faults.push(origin.clone(), format!("an API key has the prefix `{}` already", record.prefix));
        }
    }
}

fn webhook_settings(
    entry: FileEntry<'_, '_>,
    inputs: &ConfigInputs<'_>,
    faults: &mut Faults,
) -> Option<WebhookSettings> {
    const MAX_CACHE_S: u64 = 3_600;
    const TIMEOUT_MS: u64 = 2_000;
    const MAX_IN_FLIGHT: u64 = 128;
    let mut fields = Fields::of(entry, "[auth.webhook]", faults);
    let address = fields.take("address");
    if address.is_none() {
        fields.missing("needs its `address`", faults);
    }
    let forward = fields.texts("forward", faults);
    if forward.is_empty() {
        fields.missing("needs `forward`: the headers by which it knows who asks", faults);
    }
    let timeout_ms = fields.number("timeout_ms", (1, 60_000), faults).unwrap_or(TIMEOUT_MS);
    let max_cache_s = fields.number("max_cache_s", (0, 86_400), faults).unwrap_or(MAX_CACHE_S);
    // Each has a thread that waits.
    let max_in_flight = fields.number("max_in_flight", (1, 500), faults).unwrap_or(MAX_IN_FLIGHT) as usize;
    fields.end(faults);
    let forward = forward.into_iter().filter_map(|(name, origin)| {
        let header = name.parse::<HeaderName>();
        let header =
            header.map_err(|_| faults.push(origin, format!("`{name}` is no name of a header"))).ok()?;
        Some(header.as_str().to_owned())
    });
    let forward = forward.collect();
    let address = address.and_then(|entry| {
        let text = entry.text(faults)?;
        let filled = substitute(&text, inputs.variable).map_err(|fault| match fault {
            // The rest of the text may be a password.
            VariableFault::Unclosed(_) => "`address`: a `${` lacks its closing brace".to_owned(),
            VariableFault::Missing(_) | VariableFault::Unreadable(..) => fault.to_string(),
        });
        let checked = filled.and_then(|address| match address_fault(&address) {
            Some(fault) => Err(format!("`address` {fault}")),
            None => Ok(address),
        });
        checked.map_err(|message| faults.push(entry.value_origin(), message)).ok()
    });
    Some(WebhookSettings { address: address?, forward, timeout_ms, max_cache_s, max_in_flight })
}
