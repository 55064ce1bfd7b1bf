//! Adds a backup to a chain: the frames since the last one, or a whole copy where these are not all in the log any more.

use crate::backup::{backup, open};
use crate::chain::error::ChainError;
use crate::chain::files::{FrameFile, frame_checksum, measure};
use crate::chain::manifest::{ChainLink, ChainLinkKind, Manifest};
use crate::format::{CHAIN_MANIFEST as MANIFEST, INCREMENT, LOG, STORE};
use prony_log::backup::OpenLogs;
use prony_log::disk::{self, sync_directory};
use prony_log::error::OpenError;
use prony_log::frame_reader::Frame;
use prony_log::frames::now_ms;
use prony_log::lock::lock;
use std::fs;
use std::io;
use std::path::Path;

/// What a backup has added to a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// Nothing: nothing was written since the last one. Here is the frame that comes next.
    Nothing { next: u64 },
    Link {
        link: ChainLink,
        bytes: u64,
        /// The frames that the log does not have any more, where it is a whole copy for that reason: the graph cannot be restored as it was after
        /// one of these.
        gap: Option<(u64, u64)>,
    },
}

/// Adds to a chain of backups what was written to a graph since the last of them. The graph may be open elsewhere. The first is a whole copy.
///
/// # Errors
/// The chain is as it was.
pub fn take_backup(directory: &Path, chain: &Path) -> Result<Taken, ChainError> {
    let manifest = Manifest::read(chain)?;
    if manifest.is_none() {
        check_empty(chain)?;
    }
    // Held until it is done: nobody else adds to the same meanwhile.
    let _lock = lock(chain, STORE)?;
    // As it is now that nobody changes it.
    let manifest = Manifest::read(chain)?;
    let source = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned()).display().to_string();
    let source = source.escape_debug().to_string();
    let mut manifest = manifest.unwrap_or_else(|| Manifest { source: source.clone(), links: Vec::new() });
    let is_same_source = manifest.source == source;
    let place = Place { directory, chain, is_same_source, number: manifest.links.len() as u64 + 1 };
    remove_unnamed(chain, &manifest)?;
    let (link, gap) = match manifest.links.last() {
        None => (place.base()?, None),
        Some(last) => match place.increment(last)? {
            Increment::Nothing => return Ok(Taken::Nothing { next: last.next }),
            Increment::Link(link) => (link, None),
            Increment::Gone { first } => {
                if !place.is_same_source {
                    let what = format!(
                        "frame {} is not in its log any more, and the chain is of {}: whether it is the same graph cannot be told",
                        last.next - 1,
                        manifest.source
                    );
                    return Err(place.foreign(what));
                }
                let base = place.base()?;
                if base.next < last.next {
                    return Err(place.behind(last, base.next));
                }
                let gap = (first > last.next).then(|| (last.next, first - 1));
                (base, gap)
            }
        },
    };
    manifest.links.push(link.clone());
    if let Err(error) = manifest.write(chain) {
        if !is_named(chain, &link.name) {
            place.remove(&link.name);
        }
        return Err(error.into());
    }
    let bytes = link.bytes();
    Ok(Taken::Link { link, bytes, gap })
}

/// Whether the manifest that is there names a backup: it may have taken the place of the one before it though its name could not be synced.
/// Also where that cannot be told.
fn is_named(chain: &Path, name: &str) -> bool {
    let is_in = |manifest: &Manifest| manifest.links.iter().any(|link| link.name == name);
    match Manifest::read(chain) {
        Ok(manifest) => manifest.as_ref().is_some_and(is_in),
        Err(_) => true,
    }
}

/// Where no manifest is, there may be what a first backup has left that was cut off. A whole copy is not removed for that: it may be that only the
/// manifest was lost.
fn check_empty(chain: &Path) -> Result<(), ChainError> {
    let entries = match fs::read_dir(chain) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(OpenError::Read { path: chain.to_owned(), cause }.into()),
    };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !is_left(name)).collect();
    names.sort();
    if !names.iter().all(|name| is_base(name)) {
        return Err(ChainError::NoChain { path: chain.to_owned() });
    }
    let first = names.into_iter().next();
    first.map_or(Ok(()), |name| Err(ChainError::Unnamed { chain: chain.to_owned(), name }))
}

/// What the first backup has left where it was cut off.
fn is_left(name: &str) -> bool {
    name == "lock" || name.starts_with(MANIFEST) || is_base_part(name)
}

fn is_base(name: &str) -> bool {
    let digits = name.strip_prefix(BASE);
    digits.is_some_and(|digits| digits.len() == 12 && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

fn is_base_part(name: &str) -> bool {
    name.strip_suffix(".part").is_some_and(is_base)
}

const BASE: &str = "base-";

/// What a backup that was cut off has left.
fn remove_unnamed(chain: &Path, manifest: &Manifest) -> Result<(), ChainError> {
    let read = |cause| OpenError::Read { path: chain.to_owned(), cause };
    for entry in fs::read_dir(chain).map_err(read)? {
        let entry = entry.map_err(read)?;
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        let is_named = manifest.links.iter().any(|link| link.name == name);
        let is_of_chain = is_base(&name) || is_base_part(&name) || INCREMENT.number_of(&name).is_some();
        if is_of_chain && !is_named {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { disk::remove(&path) };
            removed.map_err(|cause| OpenError::Write { path, cause })?;
        }
    }
    Ok(())
}

enum Increment {
    Nothing,
    Link(ChainLink),
    /// The log begins with this frame, and those before it are not in the chain.
    Gone {
        first: u64,
    },
}

/// From where to where.
struct Place<'a> {
    directory: &'a Path,
    chain: &'a Path,
    /// Whether the chain is of the graph in this directory, as far as its path tells.
    is_same_source: bool,
    /// Of the link that is made.
    number: u64,
}

/// What frames say together.
#[derive(Default)]
struct Frames {
    first: Option<u64>,
    last: Option<(u64, u32, u64)>,
    most_ms: u64,
}

impl Frames {
    fn add(&mut self, frame: &Frame<'_>) {
        let time = frame.time_ms.unwrap_or_default();
        self.first.get_or_insert(frame.sequence);
        self.last = Some((frame.sequence, frame_checksum(frame), time));
        self.most_ms = self.most_ms.max(time);
    }
}

impl Place<'_> {
    fn base(&self) -> Result<ChainLink, ChainError> {
        let name = format!("{BASE}{:012}", self.number);
        let path = self.chain.join(&name);
        let made_ms = now_ms();
        if let Err(error) = backup(self.directory, &path) {
            // Also a whole one whose name could not be synced.
            self.remove(&name);
            return Err(error.into());
        }
        let made = self.read_base(&name, made_ms);
        if made.is_err() {
            self.remove(&name);
        }
        made
    }

    fn read_base(&self, name: &str, made_ms: u64) -> Result<ChainLink, ChainError> {
        let path = self.chain.join(name);
        let mut frames = Frames::default();
        let logs = OpenLogs::open(&path, LOG, 1)?;
        let next = logs.each_frame::<ChainError>(&mut |_, frame| {
            frames.add(frame);
            Ok(())
        })?;
        let read = |cause| OpenError::Read { path: path.clone(), cause };
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(read)? {
            let of = entry.map_err(read)?.file_name().to_string_lossy().into_owned();
            if of != "lock" {
                names.push(format!("{name}/{of}"));
            }
        }
        names.sort();
        let files = names.into_iter().map(|name| measure(self.chain, name));
        let next = next.unwrap_or(1);
        Ok(ChainLink {
            kind: ChainLinkKind::Base,
            name: name.to_owned(),
            from: next,
            next,
            last_frame: frames.last.map(|(_, checksum, _)| checksum),
            time_ms: frames.last.map_or(made_ms, |(.., time)| time),
            most_ms: frames.last.map_or(made_ms, |_| frames.most_ms),
            made_ms,
            files: files.collect::<Result<_, _>>()?,
        })
    }

    /// The frames from the end of the last backup on.
    fn increment(&self, last: &ChainLink) -> Result<Increment, ChainError> {
        let name = INCREMENT.path(Path::new(""), self.number).display().to_string();
        let made = self.write_increment(&name, last);
        if !matches!(made, Ok(Increment::Link(_))) {
            self.remove(&name);
        }
        made
    }

    fn write_increment(&self, name: &str, last: &ChainLink) -> Result<Increment, ChainError> {
        let path = self.chain.join(name);
        let write = |cause| OpenError::Write { path: path.clone(), cause };
        let (_, logs) = open(self.directory)?;
        let mut file = FrameFile::create(&path, INCREMENT, self.number).map_err(write)?;
        let (mut frames, mut first, mut joins) = (Frames::default(), None, None);
        let mut are_timed = true;
        let next = logs.each_frame::<ChainError>(&mut |_, frame| {
            first.get_or_insert(frame.sequence);
            if frame.sequence + 1 == last.next {
                joins = Some(frame_checksum(frame));
            }
            if frame.sequence < last.next {
                return Ok(());
            }
            are_timed &= frame.time_ms.is_some();
            frames.add(frame);
            file.add(frame).map_err(write)?;
            Ok(())
        })?;
        let next = next.unwrap_or(1);
        if next < last.next {
            return Err(self.behind(last, next));
        }
        match (joins, last.last_frame) {
            (Some(found), Some(known)) if found != known => {
                let what = format!(
                    "its frame {} is another one, as after a restoration to an earlier moment",
                    last.next - 1
                );
                return Err(self.foreign(what));
            }
            (Some(_), Some(_)) if are_timed => {}
            // A log that was begun anew just there.
            _ if are_timed && self.is_same_source && first.unwrap_or(next) <= last.next => {}
            _ => return Ok(Increment::Gone { first: first.unwrap_or(next) }),
        }
        let Some((sequence, checksum, time_ms)) = frames.last else { return Ok(Increment::Nothing) };
        file.close().map_err(write)?;
        sync_directory(self.chain).map_err(write)?;
        let made = measure(self.chain, name.to_owned())?;
        self.read_back(name, last.next, sequence)?;
        Ok(Increment::Link(ChainLink {
            kind: ChainLinkKind::Increment,
            name: name.to_owned(),
            from: last.next,
            next: sequence + 1,
            last_frame: Some(checksum),
            time_ms,
            most_ms: frames.most_ms,
            made_ms: now_ms(),
            files: vec![made],
        }))
    }

    /// Every frame is good and in its place.
    fn read_back(&self, name: &str, first: u64, last: u64) -> Result<(), ChainError> {
        let path = self.chain.join(name);
        let mut frames = prony_log::frame_reader::Frames::open(&path, INCREMENT, self.number)?;
        let mut wanted = first;
        while let Some(frame) = frames.next_frame()? {
            if frame.sequence != wanted {
                break;
            }
            wanted += 1;
        }
        if wanted == last + 1 {
            return Ok(());
        }
        let (what, hint) = (format!("frame {wanted} cannot be read again"), "try again".to_owned());
        Err(ChainError::Damaged { path, offset: 0, what, hint })
    }

    fn behind(&self, last: &ChainLink, next: u64) -> ChainError {
        self.foreign(format!(
            "it ends before frame {next}, and the chain has all before frame {}, as after a restoration to an earlier moment",
            last.next
        ))
    }

    fn foreign(&self, what: String) -> ChainError {
        ChainError::Foreign { directory: self.directory.to_owned(), chain: self.chain.to_owned(), what }
    }

    /// What is there of a backup that is not made.
    fn remove(&self, name: &str) {
        let path = self.chain.join(name);
        // The next one removes what cannot be removed now.
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { disk::remove(&path) };
    }
}
