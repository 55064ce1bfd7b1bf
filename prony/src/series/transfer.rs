//! `prony series export` and `prony series import`: whole files or none.

use anyhow::Context as _;
use prony_model::units::counted;
use prony_series::transfer::{self, TransferError, Transferred};
use prony_series_store::{Durability, Options, Store, part_path};
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, ErrorKind, Write, stdin, stdout};
use std::path::Path;
use std::process::ExitCode;

/// In the place of a file.
const STANDARD: &str = "-";
const BUFFER_BYTES: usize = 1 << 20;

/// Writes a file that is whole, or none.
pub(super) fn export(directory: &Path, file: &Path) -> anyhow::Result<ExitCode> {
    let store = Store::open(directory, Options::new(Durability::Sync))?;
    if file == Path::new(STANDARD) {
        return match transfer::export(&store, &mut BufWriter::with_capacity(BUFFER_BYTES, stdout().lock())) {
            // Whoever reads has seen enough, as `head` does.
            Err(TransferError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
            written => Ok(written.map(|_| ExitCode::SUCCESS)?),
        };
    }
    anyhow::ensure!(!file.exists(), "{} exists; name another file, or remove it", file.display());
    let part = part_path(file);
    let write = || -> anyhow::Result<Transferred> {
        let mut to = BufWriter::with_capacity(BUFFER_BYTES, File::create(&part)?);
        let of = transfer::export(&store, &mut to)?;
        to.flush()?;
        to.get_ref().sync_all()?;
        fs::rename(&part, file)?;
        Ok(of)
    };
    let of = write()
        .inspect_err(|_| drop(fs::remove_file(&part)))
        .with_context(|| format!("cannot write {}", file.display()))?;
    crate::print(&format!("{}: {}\n", file.display(), transferred("exported", of)))?;
    Ok(ExitCode::SUCCESS)
}

/// Makes a directory of a whole file, or none.
pub(super) fn import(directory: &Path, file: &Path) -> anyhow::Result<ExitCode> {
    let is_empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    anyhow::ensure!(
        is_empty,
        "{} is not empty; an import makes a directory of its own, so name one that does not exist",
        directory.display()
    );
    let part = part_path(directory);
    if part.join("lock").exists() {
        // Fails where another import has it open.
        drop(Store::open(&part, Options::new(Durability::Off)));
        fs::remove_dir_all(&part).with_context(|| format!("cannot remove {}", part.display()))?;
    }
    let read = || -> anyhow::Result<Transferred> {
        let store = Store::open(&part, Options::new(Durability::Off))?;
        Ok(if file == Path::new(STANDARD) {
            transfer::import(&store, stdin().lock())?
        } else {
            transfer::import(&store, BufReader::with_capacity(BUFFER_BYTES, File::open(file)?))?
        })
    };
    let of = read()
        .inspect_err(|_| drop(fs::remove_dir_all(&part)))
        .with_context(|| format!("nothing was imported from {}", file.display()))?;
    fs::rename(&part, directory).with_context(|| format!("cannot make {}", directory.display()))?;
    crate::print(&format!("{}: {}\n", directory.display(), transferred("imported", of)))?;
    Ok(ExitCode::SUCCESS)
}

fn transferred(what: &str, of: Transferred) -> String {
    let (rows, types) = (counted(of.rows, "row", "rows"), counted(of.types, "type", "types"));
    format!("{rows} of {types} {} {what}", if of.rows == 1 { "was" } else { "were" })
}
