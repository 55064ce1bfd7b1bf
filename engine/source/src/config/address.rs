//! Addresses of sources: how they are written, and how they are shown.

use std::fmt;

/// How the address of a source of one kind is written.
#[derive(Debug, Clone, Copy)]
pub struct AddressForm {
    /// What it begins with; each kind has beginnings of its own.
    pub prefixes: &'static [&'static str],
    /// For messages: `graph:DIRECTORY`.
    pub short: &'static str,
    /// For help, with all parts that people should know.
    pub whole: &'static str,
}

impl AddressForm {
    /// Whether the address is of this form.
    pub fn fits(&self, address: &str) -> bool {
        self.prefixes.iter().any(|prefix| address.starts_with(prefix))
    }
}

/// The address of a source, with variables of the environment filled in.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl(pub String);

/// Never shows a password.
impl fmt::Debug for SourceUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.without_secrets())
    }
}

impl SourceUrl {
    /// The address without a password and without parameters.
    pub fn without_secrets(&self) -> String {
        let (plain, behind) = self.0.split_once('?').unwrap_or((self.0.as_str(), ""));
        let Some(start) = plain.find("://").map(|scheme| scheme + 3) else {
            return without_keyword(plain).to_owned();
        };
        match (plain.rfind('@'), plain[start..].split_once(':')) {
            (Some(at), _) if start <= at => {
                let user = plain[start..at].split(':').next().unwrap_or_default();
                format!("{}{user}{}", &plain[..start], &plain[at..])
            }
            // A password with a `?` in it.
            (None, Some((user, rest)))
                if behind.contains('@') && !user.starts_with('[') && !is_port(rest) =>
            {
                format!("{}{user}", &plain[..start])
            }
            _ => plain.to_owned(),
        }
    }
}

/// Whether what follows a colon is a port, and a path behind it.
fn is_port(text: &str) -> bool {
    let digits = text.split([',', '/']).next().unwrap_or_default();
    text.contains('/') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Of `host=… password=…`, as PostgreSQL's own programs take it, what stands before the password.
fn without_keyword(text: &str) -> &str {
    match text.split_once("password") {
        Some((before, behind)) if behind.trim_start().starts_with('=') => before.trim_end(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        for (url, shown) in [
            ("postgres://ann:secret@host:5432/shop?sslpassword=x", "postgres://ann@host:5432/shop"),
            ("postgres://ann:p@ss@host/shop", "postgres://ann@host/shop"),
            ("postgres://host/shop", "postgres://host/shop"),
            ("sqlite:shop@home.db", "sqlite:shop@home.db"),
            ("sqlite:password.db", "sqlite:password.db"),
            ("postgres://ann:sec?ret@host/shop", "postgres://ann"),
            ("postgres://ann:12?34@host/shop", "postgres://ann"),
            ("postgres://ann:s/ec?ret@host/shop", "postgres://ann"),
            ("postgres://one:1,two:2/shop?user=a@b", "postgres://one:1,two:2/shop"),
            ("postgres://[::1]:5432/shop?user=a@b", "postgres://[::1]:5432/shop"),
            ("host=db.example password = secret dbname=shop", "host=db.example"),
        ] {
            assert_eq!(SourceUrl(url.to_owned()).without_secrets(), shown);
        }
    }
}
