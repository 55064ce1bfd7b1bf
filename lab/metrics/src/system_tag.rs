//! The tags that k6 sets by itself, and which of them a run wants (option `systemTags`).

/// A tag that is set by the tool, in k6's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SystemTag {
    Proto,
    Subproto,
    Status,
    Method,
    Url,
    Name,
    Group,
    Check,
    Error,
    ErrorCode,
    TlsVersion,
    Scenario,
    Service,
    ExpectedResponse,
    Iter,
    Vu,
    OcspStatus,
    Ip,
}

impl SystemTag {
    pub const ALL: [Self; 18] = [
        Self::Proto,
        Self::Subproto,
        Self::Status,
        Self::Method,
        Self::Url,
        Self::Name,
        Self::Group,
        Self::Check,
        Self::Error,
        Self::ErrorCode,
        Self::TlsVersion,
        Self::Scenario,
        Self::Service,
        Self::ExpectedResponse,
        Self::Iter,
        Self::Vu,
        Self::OcspStatus,
        Self::Ip,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proto => "proto",
            Self::Subproto => "subproto",
            Self::Status => "status",
            Self::Method => "method",
            Self::Url => "url",
            Self::Name => "name",
            Self::Group => "group",
            Self::Check => "check",
            Self::Error => "error",
            Self::ErrorCode => "error_code",
            Self::TlsVersion => "tls_version",
            Self::Scenario => "scenario",
            Self::Service => "service",
            Self::ExpectedResponse => "expected_response",
            Self::Iter => "iter",
            Self::Vu => "vu",
            Self::OcspStatus => "ocsp_status",
            Self::Ip => "ip",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tag| tag.as_str() == name)
    }

    /// True where the value goes to a sample's metadata: it would make a series of its own for each iteration.
    pub const fn is_metadata(self) -> bool {
        matches!(self, Self::Iter | Self::Vu)
    }
}

/// A set of system tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SystemTags(u32);

impl SystemTags {
    pub const NONE: Self = Self(0);

    pub fn from_tags(tags: impl IntoIterator<Item = SystemTag>) -> Self {
        Self(tags.into_iter().fold(0, |bits, tag| bits | 1 << tag as u32))
    }

    /// As option `systemTags` lists them; names that are no system tags are passed over, as in k6.
    pub fn from_names<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self::from_tags(names.into_iter().filter_map(|name| SystemTag::from_name(name.trim())))
    }

    pub const fn has(self, tag: SystemTag) -> bool {
        self.0 & (1 << tag as u32) != 0
    }

    pub fn iter(self) -> impl Iterator<Item = SystemTag> {
        SystemTag::ALL.into_iter().filter(move |&tag| self.has(tag))
    }
}

impl Default for SystemTags {
    /// All but `iter`, `vu`, `ocsp_status` and `ip`.
    fn default() -> Self {
        let is_on = |tag: &SystemTag| (*tag as u32) < SystemTag::Iter as u32;
        Self::from_tags(SystemTag::ALL.into_iter().filter(is_on))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_k6() {
        let names: Vec<&str> = SystemTags::default().iter().map(SystemTag::as_str).collect();
        let expected = "proto subproto status method url name group check error error_code tls_version scenario \
                        service expected_response";
        assert_eq!(names.join(" "), expected);
    }

    #[test]
    fn a_list_of_names_is_read_and_strangers_are_passed_over() {
        let tags = SystemTags::from_names(["status", " url", "colour"]);
        assert_eq!(tags, SystemTags::from_tags([SystemTag::Url, SystemTag::Status]));
        assert!(!tags.has(SystemTag::Method));
    }
}
