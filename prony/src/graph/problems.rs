//! Faulty lines of an import: counted, the first of them kept for the terminal, and all of them put aside where that
//! was asked for, so that they can be mended and imported by themselves.

use super::header::Header;
use super::records::Record;
use anyhow::Context as _;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// Faulty lines of one file that are shown.
const SHOWN_MAX: u64 = 20;

/// Why a record is not imported.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) column: Option<usize>,
    pub(crate) what: String,
}

impl Fault {
    pub(crate) fn at(column: usize, what: impl Into<String>) -> Self {
        Self { column: Some(column), what: what.into() }
    }

    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self { column: None, what: what.into() }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Problems {
    /// Where faulty lines go.
    aside: Option<PathBuf>,
    /// Of the files that lines of the files so far are put into.
    names_aside: Vec<OsString>,
    count: u64,
    shown: Vec<String>,
    file: FileProblems,
}

/// Of the file that is being read.
#[derive(Debug, Default)]
struct FileProblems {
    path: PathBuf,
    names: Vec<String>,
    header: Vec<u8>,
    count: u64,
    /// Of the file that its faulty lines are put into.
    name_aside: OsString,
    aside: Option<BufWriter<File>>,
}

impl Problems {
    /// `aside` is a directory that faulty lines are put into, each file under its own name; of two files with one name, the second with `2-`
    /// before it.
    pub(crate) fn new(aside: Option<PathBuf>) -> Self {
        Self { aside, ..Self::default() }
    }

    /// # Errors
    /// The faulty lines of the file before it cannot be written.
    pub(crate) fn begin_file(&mut self, path: &Path, header: &Header, raw: &[u8]) -> anyhow::Result<()> {
        self.end_file()?;
        let mut name_aside = path.file_name().unwrap_or(path.as_os_str()).to_owned();
        while self.names_aside.contains(&name_aside) {
            let before = std::mem::replace(&mut name_aside, OsString::from("2-"));
            name_aside.push(before);
        }
        self.names_aside.push(name_aside.clone());
        self.file = FileProblems {
            path: path.to_owned(),
            names: header.names.clone(),
            header: raw.to_owned(),
            name_aside,
            ..FileProblems::default()
        };
        Ok(())
    }

    pub(crate) fn add(&mut self, record: &Record<'_>, fault: &Fault) -> anyhow::Result<()> {
        self.count += 1;
        self.file.count += 1;
        if self.file.count <= SHOWN_MAX {
            let column = fault.column.map_or(String::new(), |column| {
                format!(" column {} ({}):", column + 1, super::cells::shown(&self.file.names[column]))
            });
            self.shown.push(format!("{}:{}:{column} {}", self.file.path.display(), record.line, fault.what));
        }
        let Some(directory) = &self.aside else { return Ok(()) };
        self.file.put_aside(directory, record.raw).with_context(|| {
            format!("cannot put faulty lines of {} into {}", self.file.path.display(), directory.display())
        })
    }

    fn end_file(&mut self) -> anyhow::Result<()> {
        if let Some(more) = self.file.count.checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
            self.shown.push(format!("{}: {more} more faulty lines", self.file.path.display()));
        }
        self.file.count = 0;
        if let Some(mut aside) = self.file.aside.take() {
            aside.flush().context("cannot write the faulty lines")?;
        }
        Ok(())
    }

    /// How many lines were faulty, and what is said of them. Lines that were put aside are in their files now.
    pub(crate) fn finish(mut self) -> anyhow::Result<(u64, Vec<String>)> {
        self.end_file()?;
        Ok((self.count, self.shown))
    }
}

impl FileProblems {
    fn put_aside(&mut self, directory: &Path, raw: &[u8]) -> io::Result<()> {
        if self.aside.is_none() {
            fs::create_dir_all(directory)?;
            let path = directory.join(&self.name_aside);
            let created = File::create_new(&path).map_err(|cause| match cause.kind() {
                kind @ io::ErrorKind::AlreadyExists => {
                    let what = format!("{} exists; name another directory, or remove it", path.display());
                    io::Error::new(kind, what)
                }
                _ => cause,
            });
            let mut file = BufWriter::new(created?);
            write_line(&mut file, &self.header)?;
            self.aside = Some(file);
        }
        let aside = self.aside.as_mut().expect("it was opened above");
        write_line(aside, raw)
    }
}

fn write_line(to: &mut impl io::Write, raw: &[u8]) -> io::Result<()> {
    to.write_all(raw)?;
    // A record's `\n` after its `\r` belongs to the next one, and the last line may have no end.
    if raw.ends_with(b"\n") { Ok(()) } else { to.write_all(b"\n") }
}
