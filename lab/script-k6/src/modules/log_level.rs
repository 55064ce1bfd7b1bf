//! How much a line of the log matters.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

impl Level {
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
