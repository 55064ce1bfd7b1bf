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
        let plain = self.0.split('?').next().unwrap_or_default();
        match (plain.find("://"), plain.rfind('@')) {
            (Some(scheme), Some(at)) if scheme + 3 <= at => {
                let user = plain[scheme + 3..at].split(':').next().unwrap_or_default();
                format!("{}{user}{}", &plain[..scheme + 3], &plain[at..])
            }
            _ => plain.to_owned(),
        }
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
        ] {
            assert_eq!(SourceUrl(url.to_owned()).without_secrets(), shown);
        }
    }
}
