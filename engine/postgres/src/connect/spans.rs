//! Spans of what a connection is asked, for requests that are traced.

use prony_source::trace::OpenSpan;
use prony_sql::spans::{begin_command, begin_statements, operation};

use crate::{connect::config::Target, error::Failure};

/// `db.system.name`.
const SYSTEM: &str = "postgresql";

#[inline]
pub(super) fn of_statement(target: &Target, sql: &str) -> Option<OpenSpan> {
    let span = begin_statements(SYSTEM, || std::iter::once(sql))?;
    Some(with_place(span, target))
}

/// Commands are told by their first word: those that begin a transaction may have values of the session.
#[inline]
pub(super) fn of_commands(target: &Target, commands: &str) -> Option<OpenSpan> {
    let word = || match operation(commands) {
        // A transaction that knows who asks ends whatever was there before it begins.
        Some("ROLLBACK") if commands.contains(';') => "BEGIN",
        Some(word) => word,
        None => "SQL",
    };
    let span = begin_command(SYSTEM, word)?;
    Some(with_place(span, target))
}

/// Where the database is: `host:port/database`, as logs have it.
fn with_place(mut span: OpenSpan, target: &Target) -> OpenSpan {
    let (place, database) = target.description.rsplit_once('/').unwrap_or((&target.description, ""));
    let (address, port) = match place.rsplit_once(':') {
        Some((address, port)) => (address, port.parse::<u16>().ok()),
        None => (place, None),
    };
    span.set("db.namespace", database.to_owned());
    match port {
        Some(port) => {
            span.set("server.address", address.to_owned());
            span.set("server.port", u64::from(port));
        }
        None => span.set("server.address", place.to_owned()),
    }
    span
}

pub(super) fn end_span(span: Option<OpenSpan>, failure: Option<&Failure>) {
    let Some(mut span) = span else { return };
    if let Some(failure) = failure {
        span.fail(failure.code().as_str());
    }
    span.end();
}
