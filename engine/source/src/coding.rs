//! Content codings (RFC 9110, section 8.4.1): in which a body is, and which a client takes.

/// What was done to a body before it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContentCoding {
    #[default]
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

impl ContentCoding {
    const ALL: [Self; 4] = [Self::Identity, Self::Gzip, Self::Brotli, Self::Zstd];

    /// As `Content-Encoding` and `Accept-Encoding` name it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The one that a value of `Content-Encoding` names; none of another, and of several.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let value = value.trim_ascii();
        let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
        let known = Self::ALL.into_iter().find(|coding| is(coding.name()));
        // RFC 9110, section 8.4.1.3.
        known.or_else(|| is("x-gzip").then_some(Self::Gzip))
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// Codings in which a client takes a body, beside none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AcceptedCodings(u8);

impl AcceptedCodings {
    /// Items of a header that are looked at.
    const ITEMS_MAX: usize = 16;

    /// Those of the values of `Accept-Encoding` (RFC 9110, section 12.5.3); none without one.
    pub fn of<'v>(values: impl Iterator<Item = &'v [u8]>) -> Self {
        let (mut named, mut accepted, mut takes_others) = (0, 0, false);
        let items = values.flat_map(|value| value.split(|byte| *byte == b','));
        for item in items.take(Self::ITEMS_MAX) {
            let mut parts = item.split(|byte| *byte == b';').map(<[u8]>::trim_ascii);
            let name = parts.next().unwrap_or_default();
            let is_accepted = !parts.any(is_refusal);
            if name == b"*" {
                takes_others = is_accepted;
            } else if let Some(coding) = ContentCoding::parse(name) {
                named |= coding.bit();
                accepted |= if is_accepted { coding.bit() } else { 0 };
            }
        }
        Self(if takes_others { accepted | !named } else { accepted })
    }

    pub const fn include(self, coding: ContentCoding) -> bool {
        matches!(coding, ContentCoding::Identity) || self.0 & coding.bit() != 0
    }
}

/// Whether a parameter is a weight of zero, or one that cannot be read.
fn is_refusal(parameter: &[u8]) -> bool {
    let Some(weight) = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q=")) else {
        return false;
    };
    let weight = std::str::from_utf8(weight).ok().and_then(|text| text.parse::<f32>().ok());
    weight.is_none_or(|weight| weight.is_nan() || weight <= 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_coding_is_named() {
        for (value, expected) in [
            ("gzip", Some(ContentCoding::Gzip)),
            ("x-gzip", Some(ContentCoding::Gzip)),
            (" BR ", Some(ContentCoding::Brotli)),
            ("zstd", Some(ContentCoding::Zstd)),
            ("identity", Some(ContentCoding::Identity)),
            ("gzip, br", None),
            ("deflate", None),
            ("", None),
        ] {
            assert_eq!(ContentCoding::parse(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn clients_take_what_they_name() {
        for (values, expected) in [
            (&[][..], ""),
            (&[""], ""),
            (&["identity"], ""),
            (&["gzip"], "gzip"),
            (&["gzip, deflate, br, zstd"], "gzip br zstd"),
            (&["GZip;q=1.0 , BR; q=0.001"], "gzip br"),
            (&["gzip;q=0, br;q=0.0, zstd"], "zstd"),
            (&["gzip", "br"], "gzip br"),
            (&["*"], "gzip br zstd"),
            (&["*;q=0.5, gzip;q=0"], "br zstd"),
            (&["gzip, *;q=0"], "gzip"),
            (&["gzip;q=much, br;q=NaN, zstd;q=-1"], ""),
            (&["gzip;level=9"], "gzip"),
            (&["\u{1f600}, gzip"], "gzip"),
        ] {
            let accepted = AcceptedCodings::of(values.iter().map(|value| value.as_bytes()));
            assert!(accepted.include(ContentCoding::Identity), "{values:?}");
            let codings = [ContentCoding::Gzip, ContentCoding::Brotli, ContentCoding::Zstd];
            let names = codings.into_iter().filter(|coding| accepted.include(*coding));
            assert_eq!(names.map(ContentCoding::name).collect::<Vec<_>>().join(" "), expected, "{values:?}");
        }
    }
}
