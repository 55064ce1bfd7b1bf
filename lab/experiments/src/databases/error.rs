//! Why a database is not there, and what to do about it.

use std::io;

/// Of any database.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    #[error(
        "`{program}` is not in {searched}; install it (Debian, Ubuntu: `apt-get install {package}`) or give the address of a \
         running one with {flag}"
    )]
    NotInstalled { program: &'static str, searched: String, package: &'static str, flag: &'static str },
    #[error(
        "there is no questdb-*.jar in {searched}; fetch it (`mvn dependency:get -Dartifact=org.questdb:questdb:9.3.1 -Dtransitive=false`) or \
         give the address of a running one (questdb://HOST:PORT?http=HOST:PORT), or its file, with {flag}"
    )]
    NoQuestDb { searched: String, flag: &'static str },
    #[error("cannot {action}: {cause}")]
    Io { action: String, cause: io::Error },
    #[error("`{program}` ended with {status} before it was ready; its log ends with: {log}")]
    Ended { program: &'static str, status: std::process::ExitStatus, log: String },
    #[error("`{program}` was not ready within {seconds} s; its log ends with: {log}")]
    NotReady { program: &'static str, seconds: u64, log: String },
    #[error("{what} cannot be used: {why}")]
    Refused { what: String, why: String },
}

impl DatabaseError {
    pub(super) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let action = action.into();
        move |cause| Self::Io { action, cause }
    }
}
