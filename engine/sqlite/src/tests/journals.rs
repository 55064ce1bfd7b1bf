//! What becomes of a file's journal, and which files are read alone because they cannot be written where they lie.

use std::{fs, os::unix::fs::PermissionsExt as _, thread, time::Duration};

use prony_sql::settings::{JournalMode, RelationalSettings};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use crate::{
    file::open::{Writing, open},
    tests::harness::Made,
};

const THINGS: &str = "CREATE TABLE things (id INTEGER PRIMARY KEY); INSERT INTO things VALUES (1)";

fn journal(made: &Made) -> String {
    made.connection().pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap()
}

/// Works on a thread that obeys permissions, also where the tests are root's.
fn obeying_permissions<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let on_thread = || {
        let mut sets = capabilities(None).unwrap();
        sets.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, sets).unwrap();
        work()
    };
    thread::scope(|scope| scope.spawn(on_thread).join().unwrap())
}

/// Why a file with these permissions, in a folder with those, is not written; none where it is. It is read in any case.
fn reason(journal: &str, file: u32, folder: u32) -> Option<String> {
    let made = Made::new(THINGS);
    made.connection().pragma_update(None, "journal_mode", journal).unwrap();
    let set_bits = |path, bits| fs::set_permissions(path, fs::Permissions::from_mode(bits)).unwrap();
    set_bits(made.path(), file);
    set_bits(made.directory.path().to_owned(), folder);
    let (reason, count) = obeying_permissions(|| {
        let opened = open(&made.path(), Duration::ZERO, Writing::Yes(JournalMode::Wal)).unwrap();
        let count =
            opened.connection.query_row("SELECT count(*) FROM things", [], |row| row.get::<_, i64>(0));
        (opened.read_only, count.unwrap())
    });
    set_bits(made.directory.path().to_owned(), 0o755);
    assert_eq!(count, 1, "{journal}, {file:o} in {folder:o}");
    reason
}

#[test]
fn a_file_that_cannot_be_written_is_read_and_the_reason_said() {
    for (mode, file, folder, expected) in [
        ("delete", 0o644, 0o755, None),
        ("wal", 0o644, 0o755, None),
        ("delete", 0o444, 0o755, Some("the file is read-only")),
        ("wal", 0o444, 0o755, Some("the file is read-only")),
        ("delete", 0o444, 0o555, Some("the file is read-only")),
        ("delete", 0o644, 0o555, Some("the file's directory is read-only")),
        // Of a WAL there is an index beside the file, which has to be made before anything is read.
        ("wal", 0o644, 0o555, Some("the file cannot be opened for writing")),
        ("wal", 0o444, 0o555, Some("the file cannot be opened for writing")),
    ] {
        assert_eq!(reason(mode, file, folder).as_deref(), expected, "{mode}, {file:o} in {folder:o}");
    }
}

#[test]
fn a_file_that_is_written_is_switched_to_wal() {
    let made = Made::new(THINGS);
    assert_eq!(journal(&made), "delete");
    made.serve(&RelationalSettings::default());
    assert_eq!(journal(&made), "wal");
}

#[test]
fn a_file_that_keeps_its_journal_is_written_in_it() {
    let made = Made::new(THINGS);
    let served =
        made.serve(&RelationalSettings { journal: JournalMode::Keep, ..RelationalSettings::default() });
    assert_eq!(served.answer("{ things { id } }", "{}"), r#"{"data":{"things":[{"id":1}]}}"#);
    assert_eq!(
        served.answer("mutation { createThing(id: 2) { id } }", "{}"),
        r#"{"data":{"createThing":{"id":2}}}"#
    );
    assert_eq!(served.answer("{ things { id } }", "{}"), r#"{"data":{"things":[{"id":1},{"id":2}]}}"#);
    assert_eq!(journal(&made), "delete");
}

#[test]
fn a_file_that_is_only_looked_at_has_its_mutations_and_is_left_as_it_is() {
    let made = Made::new(THINGS);
    let before = fs::read(made.path()).unwrap();
    let served = made.serve(&RelationalSettings { only_looks: true, ..RelationalSettings::default() });
    assert!(served.sdl().contains("createThing"), "{}", served.sdl());
    let refused = served.answer("mutation { createThing(id: 2) { id } }", "{}");
    assert!(refused.contains("for reading only: it is only looked at"), "{refused}");
    assert_eq!(fs::read(made.path()).unwrap(), before);
}
