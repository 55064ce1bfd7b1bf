//! What became of the lines of a bulk creation.

use std::io::Write as _;

use prony_graphql::json::write_string;

/// Faults that are listed; the others are only counted.
const ERRORS_MAX: usize = 100;

#[derive(Debug, Default)]
pub(super) struct BulkReport {
    /// As durable as the store keeps them.
    pub(super) created: u64,
    pub(super) failed: u64,
    /// The last line that was worked on.
    last_line: u64,
    errors: Vec<(u64, String)>,
}

impl BulkReport {
    pub(super) fn fail(&mut self, line: u64, what: String) {
        self.failed += 1;
        if self.errors.len() < ERRORS_MAX {
            self.errors.push((line, what));
        }
    }

    /// So many of the lines up to this one were made.
    pub(super) const fn made(&mut self, created: u64, last_line: u64) {
        self.created += created;
        self.last_line = last_line;
    }

    /// How far it is, without the faults.
    pub(super) fn progress(&self) -> Vec<u8> {
        let Self { created, failed, last_line, .. } = self;
        format!("{{\"created\": {created}, \"failed\": {failed}, \"last_line\": {last_line}}}").into_bytes()
    }

    /// `stopped` says why what follows the last line was not made.
    pub(super) fn json(&self, stopped: Option<&str>) -> Vec<u8> {
        let mut out = Vec::new();
        let Self { created, failed, last_line, errors } = self;
        let _ = write!(
            out,
            "{{\"created\": {created}, \"failed\": {failed}, \"last_line\": {last_line}, \"errors\": ["
        );
        for (place, (line, what)) in errors.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            let _ = write!(out, "{separator}{{\"line\": {line}, \"error\": ");
            write_string(&mut out, what);
            out.push(b'}');
        }
        out.push(b']');
        if let Some(why) = stopped {
            out.extend_from_slice(b", \"stopped\": ");
            write_string(&mut out, why);
        }
        out.push(b'}');
        out
    }
}
