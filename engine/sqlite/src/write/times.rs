//! When the statements of a mutation have run, for a request that is traced or whose statements may be slow: the thread that writes notes it, and
//! the request's core makes spans of it, or tells the log.

use std::{sync::Arc, time::Instant};

use prony_source::trace::{SpanKind, record_span};
use prony_sql::spans::{POOL_WAIT, record_command, record_statements};

use crate::statement::program::{MutationProgram, SYSTEM};

/// Of one request.
#[derive(Debug, Default)]
pub(super) struct WriteTimes {
    /// Of each mutation that has run, from its begin to its end.
    pub(super) statements: Vec<(Instant, Instant)>,
    /// Of the commit, which other requests may share.
    pub(super) commit: Option<(Instant, Instant)>,
}

impl WriteTimes {
    /// Makes spans for the request that this thread is at, which was handed over at `begun`.
    pub(super) fn record(&self, begun: Instant, programs: &[Arc<MutationProgram>]) {
        if let Some((first, _)) = self.statements.first() {
            record_span(POOL_WAIT, SpanKind::Internal, (begun, *first), |_| {});
        }
        for (times, program) in self.statements.iter().zip(programs) {
            let texts = program.statements.texts.iter().map(|text| &*text.sql);
            record_statements(SYSTEM, *times, texts);
        }
        if let Some(times) = self.commit {
            record_command(SYSTEM, "COMMIT", times);
        }
    }
}
