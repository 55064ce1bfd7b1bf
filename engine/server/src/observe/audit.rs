//! The audit log: a line of JSON for each mutation and each refusal.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{
    family::Family,
    line_file::{LineFile, rfc3339_now},
};
use crate::config::OperationLimits;

/// The log; without a file it does nothing.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    file: Option<LineFile>,
    with_values: bool,
}

/// What is written of one operation.
#[derive(Debug, Serialize)]
pub(crate) struct AuditEntry<'a> {
    pub(crate) outcome: AuditOutcome,
    /// Of the user or the API key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<&'a str>,
    /// How they are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) way: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) address: Option<IpAddr>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) operation: Option<&'a str>,
    /// Root fields, by their response keys.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) fields: Vec<AuditField<'a>>,
    /// Why it was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<&'a str>,
}

#[derive(Debug, Serialize)]
pub(crate) struct AuditField<'a> {
    pub(crate) field: &'a str,
    /// That are in the response; none of what was not executed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rows: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) arguments: Option<Map<String, Json>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuditOutcome {
    /// A mutation that was executed.
    Executed,
    /// A mutation of which a field has failed.
    Failed,
    /// Nothing was executed.
    Refused,
}

impl<'a> AuditEntry<'a> {
    /// Of a request of which nothing but the refusal is known.
    pub(crate) fn of_request(reason: &'a str) -> Self {
        Self {
            outcome: AuditOutcome::Refused,
            user: None,
            way: None,
            role: None,
            address: None,
            operation: None,
            fields: Vec::new(),
            reason: Some(reason),
        }
    }
}

#[derive(Serialize)]
struct Written<'e, 'a> {
    time: &'e str,
    #[serde(flatten)]
    entry: &'e AuditEntry<'a>,
}

impl Audit {
    pub(crate) fn start(settings: &OperationLimits) -> Self {
        Self { file: LineFile::start("audit log", &settings.audit_log), with_values: settings.audit_values }
    }

    pub(crate) fn is_on(&self) -> bool {
        self.file.is_some()
    }

    /// Whether entries are to have arguments.
    pub(crate) fn has_values(&self) -> bool {
        self.with_values
    }

    /// Writes an entry some time later, or counts it as lost; never waits.
    pub(crate) fn note(&self, entry: &AuditEntry<'_>) {
        let Some(file) = &self.file else { return };
        let written = Written { time: &rfc3339_now(), entry };
        let mut line = serde_json::to_vec(&written).expect("plain values are JSON");
        line.push(b'\n');
        file.push(line);
    }

    /// Has the file opened anew, for those who have moved it away.
    pub(crate) fn reopen(&self) {
        self.file.iter().for_each(LineFile::reopen);
    }

    /// Writes what waits, and ends.
    pub(crate) fn finish(&self) {
        self.file.iter().for_each(LineFile::finish);
    }

    /// For `/metrics`.
    pub(super) fn counters(&self) -> Vec<Family<f64>> {
        let Some(file) = &self.file else { return Vec::new() };
        let written = ("prony_audit_lines", "Lines of the audit log that were written");
        file.counters(written, "prony_audit_lost", "prony_audit_failed")
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;

    fn entry(user: &str) -> AuditEntry<'_> {
        AuditEntry { outcome: AuditOutcome::Executed, user: Some(user), ..AuditEntry::of_request("none") }
    }

    fn settings(path: &Path) -> OperationLimits {
        OperationLimits { audit_log: path.to_owned(), ..OperationLimits::default() }
    }

    fn counts(audit: &Audit) -> [u64; 3] {
        audit.file.as_ref().expect("it is on").counts()
    }

    #[test]
    fn a_file_that_was_moved_away_is_opened_anew_when_asked() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let (path, moved) = (folder.path().join("audit.jsonl"), folder.path().join("audit.1"));
        let audit = Audit::start(&settings(&path));
        audit.note(&entry("ann"));
        while counts(&audit)[0] < 1 {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::fs::rename(&path, &moved).expect("it is ours");
        audit.reopen();
        audit.note(&entry("bob"));
        audit.finish();
        let users = |path: &Path| -> Vec<String> {
            let text = std::fs::read_to_string(path).expect("it is there");
            let user =
                |line: &str| serde_json::from_str::<Json>(line).expect("a line is JSON")["user"].to_string();
            text.lines().map(user).collect()
        };
        assert_eq!((users(&moved), users(&path)), (vec!["\"ann\"".to_owned()], vec!["\"bob\"".to_owned()]));
        assert_eq!(counts(&audit), [2, 0, 0]);
    }

    #[test]
    fn a_full_disk_is_counted_and_holds_nobody_up() {
        let audit = Audit::start(&settings(Path::new("/dev/full")));
        for _ in 0..100 {
            audit.note(&entry("ann"));
        }
        audit.finish();
        assert_eq!(counts(&audit), [0, 0, 100]);
        let audit = Audit::start(&settings(Path::new("/nowhere/audit.jsonl")));
        audit.note(&entry("ann"));
        audit.finish();
        assert_eq!(counts(&audit), [0, 0, 1]);
    }
}
