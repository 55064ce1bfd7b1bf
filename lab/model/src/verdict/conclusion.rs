//! What something that was measured comes to, and the exit code that says it. [`super::rule`] decides which.

use serde::{Deserialize, Serialize};

/// What a run, a search, a comparison or an experiment comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    Passed,
    Failed,
    /// What was measured cannot be believed, or is too little: neither passed nor failed.
    Void,
}

impl Conclusion {
    /// 2 is left to what could not run, 97 to 110 to k6 scripts.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Passed => 0,
            Self::Failed => 1,
            Self::Void => 3,
        }
    }

    /// What its exit code says, for people.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Passed => "nothing that was asked failed, and that can be believed",
            Self::Failed => "something failed, and that can be believed",
            Self::Void => "what was measured cannot be believed, or is too little",
        }
    }

    /// With `--strict`, what cannot be believed has failed.
    #[must_use]
    pub const fn strict(self) -> Self {
        match self {
            Self::Passed => Self::Passed,
            Self::Failed | Self::Void => Self::Failed,
        }
    }

    /// For people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "FAILED",
            Self::Void => "VOID",
        }
    }
}

/// What a run, a search or a comparison comes to, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunVerdict {
    pub conclusion: Conclusion,
    /// Empty where it passed.
    pub reasons: Vec<String>,
}
