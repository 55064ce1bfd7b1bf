//! Files that plans read while they run: rows, lines and whole texts, each file opened once for all users.

use crate::run::locks::lock;
use crate::run::turns::Turns;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A file that is sent or searched as a whole.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// Names are those of plans: relative ones belong to the plan's folder, or else to the working folder. Where the files came from
/// another machine, it is said where each is.
#[derive(Debug)]
pub(crate) struct Files {
    folder: PathBuf,
    places: Places,
    turns: Turns,
    texts: Mutex<FxHashMap<String, Arc<str>>>,
    bytes: Mutex<FxHashMap<String, Arc<[u8]>>>,
    /// By the place of the function that reads them, and by name.
    lines: Mutex<FxHashMap<(u32, String), Lines>>,
    /// By alias.
    rows: Mutex<FxHashMap<String, Rows>>,
}

/// Where files are that are not where their names say.
pub(crate) type Places = BTreeMap<String, PathBuf>;

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    /// Lines that were given, and that were read: those of other machines are passed over.
    given: u64,
    read: u64,
}

/// All rows, and how many were given.
#[derive(Debug)]
struct Rows {
    rows: Vec<Vec<String>>,
    given: u64,
}

impl Files {
    pub(crate) fn new(folder: PathBuf, places: Places, turns: Turns) -> Self {
        Self {
            folder,
            places,
            turns,
            texts: Mutex::default(),
            bytes: Mutex::default(),
            lines: Mutex::default(),
            rows: Mutex::default(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let name = name.trim();
        if let Some(place) = self.places.get(name) {
            return place.clone();
        }
        let beside = self.folder.join(name);
        if beside.exists() || !Path::new(name).exists() { beside } else { name.into() }
    }

    pub(crate) fn bytes(&self, name: &str) -> Result<Arc<[u8]>, String> {
        if let Some(bytes) = lock(&self.bytes).get(name) {
            return Ok(Arc::clone(bytes));
        }
        let path = self.path(name);
        let unreadable = |cause: std::io::Error| format!("cannot read {}: {cause}", path.display());
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(TEXT_BYTES_MAX + 1).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        if bytes.len() as u64 > TEXT_BYTES_MAX {
            return Err(format!("{} has more than the limit of {TEXT_BYTES_MAX} bytes", path.display()));
        }
        let bytes: Arc<[u8]> = bytes.into();
        lock(&self.bytes).insert(name.to_owned(), Arc::clone(&bytes));
        Ok(bytes)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Arc<str>, String> {
        if let Some(text) = lock(&self.texts).get(name) {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = String::from_utf8_lossy(&self.bytes(name)?).into();
        lock(&self.texts).insert(name.to_owned(), Arc::clone(&text));
        Ok(text)
    }

    /// The next line of what one function of a plan reads, from the beginning again after the last one.
    pub(crate) fn next_line(&self, name: &str, site: u32) -> Result<String, String> {
        let mut all = lock(&self.lines);
        let key = (site, name.to_owned());
        let open = |path: &Path| {
            File::open(path)
                .map(BufReader::new)
                .map_err(|cause| format!("cannot read {}: {cause}", path.display()))
        };
        if !all.contains_key(&key) {
            let path = self.path(name);
            let reader = open(&path)?;
            all.insert(key.clone(), Lines { path, reader, given: 0, read: 0 });
        }
        let Some(lines) = all.get_mut(&key) else { return Ok(String::new()) };
        let mut line = String::new();
        let unreadable = |cause: std::io::Error| format!("cannot read {name}: {cause}");
        let position = self.turns.position(lines.given);
        lines.given += 1;
        while lines.read <= position {
            lines.read += 1;
            line.clear();
            if lines.reader.read_line(&mut line).map_err(unreadable)? == 0 {
                lines.reader = open(&lines.path)?;
                lines.reader.read_line(&mut line).map_err(unreadable)?;
            }
        }
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
        Ok(line)
    }

    /// Gives a file of rows another name, with rows of its own; the first call of a run counts, as in JMeter.
    pub(crate) fn open_rows(&self, name: &str, alias: &str) -> Result<(), String> {
        if !lock(&self.rows).contains_key(alias) {
            let rows = self.read_rows(name)?;
            lock(&self.rows).entry(alias.to_owned()).or_insert(rows);
        }
        Ok(())
    }

    pub(crate) fn next_row(&self, name: &str) -> Result<Vec<String>, String> {
        if !lock(&self.rows).contains_key(name) {
            let rows = self.read_rows(name)?;
            lock(&self.rows).entry(name.to_owned()).or_insert(rows);
        }
        let mut all = lock(&self.rows);
        let Some(rows) = all.get_mut(name) else { return Ok(Vec::new()) };
        let position = self.turns.position(rows.given);
        rows.given += 1;
        let row = rows.rows.get((position % rows.rows.len().max(1) as u64) as usize).cloned();
        row.ok_or_else(|| format!("{name} has no rows"))
    }

    fn read_rows(&self, name: &str) -> Result<Rows, String> {
        let text = self.text(name)?;
        // As in JMeter quotes mean nothing here, and what is behind an empty line is a comment.
        let rows = text.lines().take_while(|line| !line.is_empty());
        let rows = rows.map(|line| line.split(',').map(str::to_owned).collect()).collect();
        Ok(Rows { rows, given: 0 })
    }
}
