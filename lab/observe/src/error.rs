//! What can be wrong with an observer that somebody asks for, told before the run begins.

use crate::observer::OBSERVERS_MAX;

/// One `--observe` that cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("observer `{spec}`: {problem}")]
pub struct SpecError {
    /// As it was written, without a password.
    pub spec: String,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("no such kind of observer; write pid:NUMBER, name:NAME, prom:URL, pg:URL, gc:FILE or host:local")]
    UnknownKind,
    #[error("`{0}` is not a process id; write for example pid:4711, or name:NAME")]
    NotAProcessId(String),
    #[error("nothing stands after the colon; write for example {0}")]
    Empty(&'static str),
    #[error("`{url}` is not a URL that can be asked; write for example {example}")]
    NotAUrl { url: String, example: &'static str },
    #[error("there is no process {0}; see `ps -e`, or watch by name with name:NAME")]
    NoSuchProcess(u32),
    #[error("no process is named `{0}`; names are the program's file name, see `ps -e -o comm`")]
    NoProcessNamed(String),
    #[error("{0}; see that the endpoint runs and that `curl` gets its metrics")]
    NoMetrics(String),
    #[error("none of the metrics {0} is there; leave `#…` away to see those that are")]
    NoSuchMetric(String),
    #[error("{0}; see that `psql` connects with the same URL")]
    NoDatabase(String),
    #[error("{0}; start the JVM with -Xlog:gc*:file=FILE (JDK 9 and later) or -Xloggc:FILE (JDK 8) first")]
    NoLog(String),
    #[error(
        "`{0}` cannot be watched from here: only this machine can, with host:local; for others ask their node exporter with \
         prom:URL"
    )]
    OtherHost(String),
    #[error("{0} cannot be read; only Linux tells of itself in /proc")]
    NoHost(&'static str),
    #[error("more than {OBSERVERS_MAX} observers; leave some away, or give one name:NAME for many processes")]
    TooMany,
}

impl Problem {
    pub(crate) fn of(self, spec: &str) -> SpecError {
        SpecError { spec: crate::secret::without_password(spec), problem: self }
    }
}
