//! Prepared statements without rusqlite's row layer: binding, stepping and columns straight from SQLite's C
//! interface, behind types that keep its rules. All unsafe code of the SQLite source is here.

#![expect(unsafe_code, reason = "this module is the boundary to SQLite's C interface")]
#![allow(clippy::cast_possible_wrap, reason = "SQLite allows 32766 parameters and 2000 columns")]

use std::{
    ffi::{CStr, c_int},
    fmt, ptr,
    rc::Rc,
    slice,
};

use rusqlite::{Connection, ffi};

/// A value in SQLite's own terms (<https://sqlite.org/datatype3.html#storage_classes_and_datatypes>). Text is
/// whatever bytes were stored: SQLite does not check that they are UTF-8.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stored<'s> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'s [u8]),
    Blob(&'s [u8]),
}

/// What SQLite reports: an extended result code and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SqliteError {
    pub(crate) extended_code: i32,
    pub(crate) text: String,
}

impl SqliteError {
    /// The primary result code, such as `SQLITE_BUSY`.
    pub(crate) fn code(&self) -> i32 {
        self.extended_code & 0xff
    }
}

impl fmt::Display for SqliteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (SQLite code {})", self.text, self.extended_code)
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> Self {
        match error {
            rusqlite::Error::SqliteFailure(failure, text) => Self {
                extended_code: failure.extended_code,
                text: text.unwrap_or_else(|| failure.to_string()),
            },
            other => Self { extended_code: ffi::SQLITE_ERROR, text: other.to_string() },
        }
    }
}

/// A prepared statement that keeps its connection open.
pub(crate) struct Statement {
    /// Valid until `drop`, and used by one thread only, as `Rc` makes this type `!Send`.
    pointer: ptr::NonNull<ffi::sqlite3_stmt>,
    connection: Rc<Connection>,
    /// That it has given since they were last [taken](Self::take_rows).
    rows: u64,
}

impl fmt::Debug for Statement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Statement").finish_non_exhaustive()
    }
}

impl Statement {
    /// Compiles one statement that will be used many times.
    pub(crate) fn prepare(connection: &Rc<Connection>, sql: &str) -> Result<Self, SqliteError> {
        let mut pointer = ptr::null_mut();
        let flags = ffi::SQLITE_PREPARE_PERSISTENT;
        let length = c_int::try_from(sql.len()).map_err(|_| SqliteError {
            extended_code: ffi::SQLITE_TOOBIG,
            text: "statement too long".into(),
        })?;
        // SAFETY: the connection is open while its `Rc` lives, `sql` has `length` bytes, `pointer` is ours.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                connection.handle(),
                sql.as_ptr().cast(),
                length,
                flags,
                &raw mut pointer,
                ptr::null_mut(),
            )
        };
        match ptr::NonNull::new(pointer) {
            Some(pointer) if code == ffi::SQLITE_OK => {
                Ok(Self { pointer, connection: Rc::clone(connection), rows: 0 })
            }
            _ => Err(last_error(connection)),
        }
    }

    /// Moves to the next row; false after the last one.
    pub(crate) fn step(&mut self) -> Result<bool, SqliteError> {
        // SAFETY: the statement is valid.
        match unsafe { ffi::sqlite3_step(self.pointer.as_ptr()) } {
            ffi::SQLITE_ROW => {
                self.rows += 1;
                Ok(true)
            }
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(last_error(&self.connection)),
        }
    }

    /// How many rows it has given since this was last asked.
    pub(crate) fn take_rows(&mut self) -> u64 {
        std::mem::take(&mut self.rows)
    }

    /// Ends the execution and its locks; parameters stay bound.
    pub(crate) fn reset(&mut self) {
        // SAFETY: the statement is valid. The code repeats what `step` reported.
        unsafe { ffi::sqlite3_reset(self.pointer.as_ptr()) };
    }

    pub(crate) fn bind(&mut self, number: usize, value: Stored<'_>) -> Result<(), SqliteError> {
        let statement = self.pointer.as_ptr();
        let number = number as c_int;
        // SAFETY: the statement is valid; SQLITE_TRANSIENT makes SQLite copy the bytes before it returns; the
        // pointer of an empty slice is not null, so that it stays an empty text or blob.
        let code = unsafe {
            match value {
                Stored::Null => ffi::sqlite3_bind_null(statement, number),
                Stored::Integer(value) => ffi::sqlite3_bind_int64(statement, number, value),
                Stored::Real(value) => ffi::sqlite3_bind_double(statement, number, value),
                Stored::Text(text) => ffi::sqlite3_bind_text64(
                    statement,
                    number,
                    text.as_ptr().cast(),
                    text.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                    ffi::SQLITE_UTF8 as u8,
                ),
                Stored::Blob(blob) => ffi::sqlite3_bind_blob64(
                    statement,
                    number,
                    blob.as_ptr().cast(),
                    blob.len() as u64,
                    ffi::SQLITE_TRANSIENT(),
                ),
            }
        };
        self.check(code)
    }

    /// Binds a column of another statement's current row, whatever it is.
    pub(crate) fn bind_column(
        &mut self,
        number: usize,
        source: &Statement,
        column: usize,
    ) -> Result<(), SqliteError> {
        // SAFETY: both statements are valid; an unprotected value may be passed to `sqlite3_bind_value`, which
        // copies it.
        let code = unsafe {
            let value = ffi::sqlite3_column_value(source.pointer.as_ptr(), column as c_int);
            ffi::sqlite3_bind_value(self.pointer.as_ptr(), number as c_int, value)
        };
        self.check(code)
    }

    /// A column of the current row. It borrows the statement: the next step ends its life.
    pub(crate) fn column(&self, index: usize) -> Stored<'_> {
        // SAFETY: the statement is valid, and SQLite answers NULL for columns that are not there. The value is read
        // in place: connections are opened without mutexes and used by one thread, so that it is protected
        // (https://sqlite.org/c3ref/value.html), and asking it takes a third of the time of the column functions.
        // Text and blobs live until the next step or reset; the type is read first, so that none is converted.
        unsafe {
            let value = ffi::sqlite3_column_value(self.pointer.as_ptr(), index as c_int);
            match ffi::sqlite3_value_type(value) {
                ffi::SQLITE_INTEGER => Stored::Integer(ffi::sqlite3_value_int64(value)),
                ffi::SQLITE_FLOAT => Stored::Real(ffi::sqlite3_value_double(value)),
                ffi::SQLITE_TEXT => {
                    let start = ffi::sqlite3_value_text(value);
                    Stored::Text(bytes(start, ffi::sqlite3_value_bytes(value)))
                }
                ffi::SQLITE_BLOB => {
                    let start = ffi::sqlite3_value_blob(value);
                    Stored::Blob(bytes(start.cast(), ffi::sqlite3_value_bytes(value)))
                }
                _ => Stored::Null,
            }
        }
    }

    pub(crate) fn is_null(&self, index: usize) -> bool {
        // SAFETY: as in `column`.
        unsafe { ffi::sqlite3_column_type(self.pointer.as_ptr(), index as c_int) == ffi::SQLITE_NULL }
    }

    fn check(&self, code: c_int) -> Result<(), SqliteError> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(last_error(&self.connection)) }
    }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the statement is valid and never used again; its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.pointer.as_ptr()) };
    }
}

/// # Safety
/// `start` is null or points to `length` bytes that live as long as the caller says.
unsafe fn bytes<'s>(start: *const u8, length: c_int) -> &'s [u8] {
    if start.is_null() || length <= 0 {
        return &[];
    }
    // SAFETY: promised by the caller.
    unsafe { slice::from_raw_parts(start, length as usize) }
}

fn last_error(connection: &Connection) -> SqliteError {
    // SAFETY: the connection is open; the message is valid until the next call on this thread's connection.
    unsafe {
        let handle = connection.handle();
        let text = ffi::sqlite3_errmsg(handle);
        SqliteError {
            extended_code: ffi::sqlite3_extended_errcode(handle),
            text: if text.is_null() {
                String::new()
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            },
        }
    }
}
