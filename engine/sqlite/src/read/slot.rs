//! A place for one session, opened when first needed and again when the file under it is another one.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use prony_graphql::error::{ErrorCode, GraphqlError};
use rusqlite::ffi;

use crate::{
    error,
    file::{
        open::{Identity, Opener},
        raw::SqliteError,
    },
    read::session::{Session, Unfinished},
};

/// How long a session is used before the file is looked at again: one system call, which a short statement
/// would feel.
const CHECK_EVERY: Duration = Duration::from_millis(500);

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// On a core's own thread: never waits for locks.
    Inline,
    /// On a thread that may block.
    Blocking,
    /// Writes; the file is looked at before each use.
    Writer,
}

#[derive(Debug)]
pub(crate) struct Slot {
    opener: Arc<Opener>,
    role: Role,
    session: Option<Session>,
    checked: Option<Instant>,
}

impl Slot {
    pub(crate) fn new(opener: Arc<Opener>, role: Role) -> Self {
        Self { opener, role, session: None, checked: None }
    }

    /// The session, on the file that is there now.
    pub(crate) fn session(&mut self) -> Result<&mut Session, Unfinished> {
        if self.is_due() {
            self.check_file().map_err(Unfinished::Failed)?;
        }
        if self.session.is_none() {
            self.session = Some(self.open()?);
        }
        Ok(self.session.as_mut().expect("opened where it was missing"))
    }

    /// Has the file looked at before the next use.
    pub(crate) fn distrust(&mut self) {
        self.checked = None;
    }

    /// Starts anew, after an error that leaves the connection in doubt.
    pub(crate) fn discard(&mut self) {
        self.session = None;
    }

    fn is_due(&self) -> bool {
        self.role == Role::Writer || self.checked.is_none_or(|checked| checked.elapsed() >= CHECK_EVERY)
    }

    fn check_file(&mut self) -> Result<(), GraphqlError> {
        self.checked = Some(Instant::now());
        let Some(found) = Identity::of(&self.opener.path) else {
            self.session = None;
            self.checked = None;
            return Err(GraphqlError::new(
                ErrorCode::SourceUnavailable,
                "the database file is gone: put it back or restart with another",
            )
            .with_detail(format!("no file `{}`", self.opener.path.display())));
        };
        if self.session.as_ref().is_some_and(|session| session.identity() != Some(found)) {
            tracing::warn!(path = %self.opener.path.display(), "the database file was replaced: opening the new one");
            self.session = None;
        }
        Ok(())
    }

    /// A lock of another program can be met here too: what is set up reads the file.
    fn open(&self) -> Result<Session, Unfinished> {
        let connection = match self.role {
            Role::Inline => self.opener.reader(Duration::ZERO),
            Role::Blocking => self.opener.reader(self.opener.busy_timeout),
            Role::Writer => self.opener.writer(),
        };
        connection.and_then(|connection| Session::new(connection, &self.opener)).map_err(|source| {
            let error = SqliteError::from(source);
            if self.role == Role::Inline && error.code() == ffi::SQLITE_BUSY {
                Unfinished::Later
            } else {
                Unfinished::Failed(error::of_sqlite(&error))
            }
        })
    }
}
