//! The data set as a SQLite file, kept between runs. A file is complete or it is not there: it is written
//! under another name and renamed at the end.

use std::{
    fs,
    path::{Path, PathBuf},
};

use prony_load::StopFlag;
use rusqlite::{Connection, OpenFlags, params_from_iter, types::ToSqlOutput};

use super::{
    DatasetError, io_error,
    rows::{DatasetPlan, DatasetTable, Value, for_each_row},
};

const SCHEMA: &str = "
    CREATE TABLE venues (
        id integer PRIMARY KEY, name varchar(128) NOT NULL, postal_code varchar(32) NOT NULL);
    CREATE TABLE members (
        id integer PRIMARY KEY, first_name varchar(128) NOT NULL, last_name varchar(128) NOT NULL,
        email varchar(128) NOT NULL);
    CREATE TABLE meetups (
        id integer PRIMARY KEY, title varchar(128) NOT NULL, start_at timestamp NOT NULL,
        venue_id integer NOT NULL REFERENCES venues (id));
    CREATE TABLE meetups_members (
        meetup_id integer NOT NULL REFERENCES meetups (id), member_id integer NOT NULL REFERENCES members (id),
        PRIMARY KEY (meetup_id, member_id));
";

const INDEXES: &str = "
    CREATE INDEX meetups_venue_id ON meetups (venue_id);
    CREATE INDEX meetups_members_member_id ON meetups_members (member_id);
    ANALYZE;
";

/// Marks the file as complete. A table would be served; this is seen by nobody else.
const MARK: &str = "application_id";

/// Why a file is not whole.
enum Unfinished {
    Failed(rusqlite::Error),
    Stopped,
}

impl From<rusqlite::Error> for Unfinished {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error)
    }
}

/// The file with this data set below `directory`, made now if it is not there yet, and whether it was made.
pub fn provide(
    plan: DatasetPlan,
    directory: &Path,
    stop: &StopFlag,
) -> Result<(PathBuf, bool), DatasetError> {
    let path = directory.join(format!("meetup-{}-{}.sqlite", plan.seed, plan.rows));
    if is_current(&path, plan) {
        return Ok((path, false));
    }
    fs::create_dir_all(directory).map_err(io_error(format!("make directory {}", directory.display())))?;
    let unfinished = tempfile::Builder::new()
        .prefix(".unfinished-")
        .tempdir_in(directory)
        .map_err(io_error(format!("write to {}", directory.display())))?;
    let draft = unfinished.path().join("draft.sqlite");
    write(plan, &draft, stop).map_err(|why| match why {
        Unfinished::Failed(source) => DatasetError::Sqlite { path: path.clone(), source },
        Unfinished::Stopped => DatasetError::Stopped,
    })?;
    fs::rename(&draft, &path).map_err(io_error(format!("rename the finished file to {}", path.display())))?;
    Ok((path, true))
}

fn mark(plan: DatasetPlan) -> i32 {
    // Any number that another version, seed or count would not give again.
    let hash = plan
        .fingerprint()
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    i32::from_ne_bytes(hash.to_ne_bytes())
}

fn is_current(path: &Path, plan: DatasetPlan) -> bool {
    let read = || -> rusqlite::Result<i32> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.pragma_query_value(None, MARK, |row| row.get(0))
    };
    read().is_ok_and(|found| found == mark(plan))
}

fn write(plan: DatasetPlan, path: &Path, stop: &StopFlag) -> Result<(), Unfinished> {
    let mut connection = Connection::open(path)?;
    // Until it is renamed nobody relies on the file, so a crash may spoil it.
    connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let transaction = connection.transaction()?;
    transaction.execute_batch(SCHEMA)?;
    for table in DatasetTable::ALL {
        let marks = vec!["?"; table.columns().len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", table.name(), table.columns().join(", "));
        let mut statement = transaction.prepare(&sql)?;
        for_each_row(plan, table, |row| {
            if stop.is_stopped() {
                return Err(Unfinished::Stopped);
            }
            statement.execute(params_from_iter(row))?;
            Ok(())
        })?;
    }
    transaction.execute_batch(INDEXES)?;
    transaction.pragma_update(None, MARK, mark(plan))?;
    transaction.commit()?;
    // The server reads it while it writes, which takes the write-ahead log.
    connection.pragma_update(None, "journal_mode", "WAL")?;
    Ok(())
}

impl rusqlite::ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        match self {
            Self::Integer(number) => number.to_sql(),
            Self::Text(text) => text.to_sql(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: DatasetPlan = DatasetPlan { seed: 7, rows: 50 };

    fn count(path: &Path, sql: &str) -> i64 {
        Connection::open(path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn the_file_is_made_once() {
        let directory = tempfile::tempdir().unwrap();
        let (path, made) = provide(PLAN, directory.path(), &StopFlag::default()).unwrap();
        assert!(made);
        assert_eq!(provide(PLAN, directory.path(), &StopFlag::default()).unwrap(), (path.clone(), false));
        for table in DatasetTable::ALL {
            assert_eq!(count(&path, &format!("SELECT count(*) FROM {}", table.name())), 50);
        }
        assert_eq!(count(&path, "SELECT count(*) FROM pragma_foreign_key_check"), 0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no half file is left");
    }

    #[test]
    fn other_or_broken_files_are_made_again() {
        let directory = tempfile::tempdir().unwrap();
        let (path, _) = provide(PLAN, directory.path(), &StopFlag::default()).unwrap();
        fs::write(&path, "not a database").unwrap();
        assert!(provide(PLAN, directory.path(), &StopFlag::default()).unwrap().1);
        Connection::open(&path).unwrap().pragma_update(None, MARK, 1).unwrap();
        assert!(provide(PLAN, directory.path(), &StopFlag::default()).unwrap().1);
        assert!(provide(DatasetPlan { seed: 8, ..PLAN }, directory.path(), &StopFlag::default()).unwrap().1);
    }

    #[test]
    fn a_stop_leaves_no_file() {
        let directory = tempfile::tempdir().unwrap();
        let stop = StopFlag::default();
        stop.stop();
        let error = provide(PLAN, directory.path(), &stop).unwrap_err();
        assert!(matches!(error, DatasetError::Stopped), "{error}");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0, "no half file is left");
    }
}
