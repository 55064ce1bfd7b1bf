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
    pub(super) last_line: u64,
    errors: Vec<(u64, String)>,
}

impl BulkReport {
    /// What became of the line behind the last one.
    pub(super) fn count(&mut self, line: u64, made: Result<(), String>) {
        self.last_line = line;
        match made {
            Ok(()) => self.created += 1,
            Err(what) => self.fail(line, what),
        }
    }

    fn fail(&mut self, line: u64, what: String) {
        self.failed += 1;
        if self.errors.len() < ERRORS_MAX {
            self.errors.push((line, what));
        }
    }

    /// What became of the lines behind the last one.
    pub(super) fn add(&mut self, next: Self) {
        self.created += next.created;
        self.failed += next.failed;
        self.last_line = next.last_line;
        let room = ERRORS_MAX.saturating_sub(self.errors.len());
        self.errors.extend(next.errors.into_iter().take(room));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_one_behind_the_other_are_one_report() {
        let mut whole = BulkReport::default();
        let fault = |line: u64| line.is_multiple_of(2).then_some(()).ok_or_else(|| format!("fault {line}"));
        for first in [1, 151] {
            let mut part = BulkReport::default();
            (first..first + 150).for_each(|line| part.count(line, fault(line)));
            whole.add(part);
        }
        assert_eq!(whole.progress(), br#"{"created": 150, "failed": 150, "last_line": 300}"#);
        let lines: Vec<u64> = whole.errors.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, (1..=199).step_by(2).collect::<Vec<_>>());
    }
}
