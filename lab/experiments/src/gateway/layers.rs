//! What a gateway may do beside forwarding, one layer at a time and all together: a configuration each.

use std::{fmt::Write as _, path::Path};

use serde::Serialize;

use super::credentials::{AUDIENCE, Credentials, ISSUER};

/// One gateway, by what it does beside parsing, validating and forwarding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// Nothing.
    Proxy,
    Tls,
    Jwt,
    RateLimit,
    Complexity,
    Permissions,
    Cache,
    /// What the study's gateway does: TLS, tokens, rate limits and complexity.
    Study,
    /// All of them, the response cache too.
    All,
}

impl Layer {
    pub const EACH: [Self; 9] = [
        Self::Proxy,
        Self::Tls,
        Self::Jwt,
        Self::RateLimit,
        Self::Complexity,
        Self::Permissions,
        Self::Cache,
        Self::Study,
        Self::All,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Tls => "tls",
            Self::Jwt => "jwt",
            Self::RateLimit => "rate-limit",
            Self::Complexity => "complexity",
            Self::Permissions => "permissions",
            Self::Cache => "cache",
            Self::Study => "study",
            Self::All => "all",
        }
    }

    pub(super) const fn label(self) -> &'static str {
        match self {
            Self::Proxy => "a bare proxy",
            Self::Tls => "with TLS",
            Self::Jwt => "with JWT (RS256)",
            Self::RateLimit => "with a rate limit",
            Self::Complexity => "with depth and complexity",
            Self::Permissions => "with JWT and permissions",
            Self::Cache => "with the response cache",
            Self::Study => "TLS, JWT, limits, complexity",
            Self::All => "all of them",
        }
    }

    const fn is_or(self, others: &[Self]) -> bool {
        let mut index = 0;
        while index < others.len() {
            if others[index] as u8 == self as u8 {
                return true;
            }
            index += 1;
        }
        false
    }

    pub(super) const fn has_tls(self) -> bool {
        self.is_or(&[Self::Tls, Self::Study, Self::All])
    }

    pub(super) const fn has_tokens(self) -> bool {
        self.is_or(&[Self::Jwt, Self::Permissions, Self::Study, Self::All])
    }

    /// The gateway's configuration.
    pub(super) fn configuration(self, backend: &str, credentials: &Credentials) -> String {
        let mut text = String::new();
        let mut section = |lines: &str| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{}\n", lines.trim());
        };
        if self.has_tls() {
            let (certificate, key) = (quoted(&credentials.certificate), quoted(&credentials.certificate_key));
            section(&format!("[tls]\ncertificate = {certificate}\nkey = {key}"));
        }
        if self.is_or(&[Self::Complexity, Self::Study, Self::All]) {
            section("[graphql]\nmax_depth = 5\nmax_complexity = 20000");
        }
        if self.has_tokens() {
            let key = quoted(&credentials.public_key);
            section(&format!(
                "[[auth.jwt]]\nissuer = \"{ISSUER}\"\naudience = \"{AUDIENCE}\"\nalgorithms = [\"RS256\"]\nkey_file = {key}\n\
                 claims = {{ role = \"/role\", scopes = \"/scope\", \"user.id\" = \"/sub\" }}"
            ));
            section(if self.is_or(&[Self::Permissions, Self::All]) {
                PERMISSIONS
            } else {
                "[roles.reader]\nunrestricted = true"
            });
        }
        if self.operation().is_some() && !self.has_tokens() {
            // Rules are for those who are known, if only by their address.
            section("[auth]\nanonymous = \"reader\"\n\n[roles.reader]\nunrestricted = true");
        }
        if let Some(operation) = self.operation() {
            section(&operation);
        }
        section(&format!("[[source]]\nname = \"starwars\"\nupstream = \"http://{backend}/graphql\""));
        text
    }

    /// High enough that nobody is refused: what is measured is the counting.
    fn operation(self) -> Option<String> {
        let by = if self.has_tokens() { "user" } else { "address" };
        let mut lines = Vec::new();
        if self.is_or(&[Self::RateLimit, Self::Study, Self::All]) {
            lines.push(format!("rate_limit = [{{ by = \"{by}\", rate = \"1000000/s\", burst = 100000 }}]"));
        }
        if self.is_or(&[Self::Study, Self::All]) {
            lines.push("scopes = [\"starwars:read\"]".to_owned());
        }
        if self.is_or(&[Self::Cache, Self::All]) {
            lines.push("cache = { ttl = \"60s\", scope = \"shared\" }".to_owned());
        }
        (!lines.is_empty()).then(|| format!("[[operation]]\nmatch = \"Query.*\"\n{}", lines.join("\n")))
    }
}

/// Everything that the study's operations ask for, and nothing else.
const PERMISSIONS: &str = r#"
[roles.reader.sources.starwars]
fields = [
  "Query.films", "Query.people", "Query.planets", "Query.species", "Query.starships", "Query.vehicles",
  "Film.*", "Person.*", "Planet.*", "Species.*", "Starship.*", "Vehicle.*",
]
"#;

/// A path as a text of TOML.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display())
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    fn credentials() -> Credentials {
        Credentials {
            public_key: "/r/key.pem".into(),
            certificate: "/r/certificate.pem".into(),
            certificate_key: "/r/certificate-key.pem".into(),
            tokens: Vec::new(),
        }
    }

    #[test]
    fn a_layer_is_its_configuration() {
        let proxy = Layer::Proxy.configuration("127.0.0.1:1", &credentials());
        expect![[r#"
            [[source]]
            name = "starwars"
            upstream = "http://127.0.0.1:1/graphql"

        "#]]
        .assert_eq(&proxy);
        for layer in Layer::EACH {
            let text = layer.configuration("127.0.0.1:1", &credentials());
            assert_eq!(text.contains("[tls]"), layer.has_tls(), "{layer:?}");
            assert_eq!(text.contains("[[auth.jwt]]"), layer.has_tokens(), "{layer:?}");
            assert_eq!(
                text.contains("[roles.reader"),
                layer.has_tokens() || text.contains("[[operation]]"),
                "{layer:?}"
            );
            assert!(layer == Layer::Proxy || text.len() > proxy.len(), "{layer:?}");
        }
    }
}
