//! How much a line of the log matters.

/// In the order of their weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

impl Level {
    /// As k6 writes it in `--log-output file=PATH,level=LEVEL`.
    pub(super) fn find(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "trace" | "debug" => Some(Self::Debug),
            "info" => Some(Self::Info),
            "warn" | "warning" => Some(Self::Warning),
            "error" => Some(Self::Error),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }

    /// Four letters and the number of the terminal's colour.
    pub(super) const fn short(self) -> (&'static str, u8) {
        match self {
            Self::Debug => ("DEBU", 37),
            Self::Info => ("INFO", 36),
            Self::Warning => ("WARN", 33),
            Self::Error => ("ERRO", 31),
        }
    }
}
