//! The manifest of a chain: a text of lines of words, the last of which is a checksum of the others.
//!
//! ```text
//! prony-graph-chain 1
//! source /data/graphs/rage
//! base base-000000000001 next 8 crc32c 9ae0daaf time 1764000000000 most 1764000000000 made 1764000001000
//! file base-000000000001/log-000000000001 bytes 512 crc32c 1d0fa1b2
//! increment increment-000000000002 from 8 next 20 crc32c 77aa0011 time 1764000100000 most 1764000100000 made 1764000101000
//! file increment-000000000002 bytes 4096 crc32c 5c2e11ab
//! end crc32c 0f1e2d3c
//! ```

use crate::chain::error::ChainError;
use crate::format::CHAIN_MANIFEST as MANIFEST;
use prony_log::disk::{self, DiskFile, sync_directory};
use prony_log::error::OpenError;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

const PART: &str = "backup-manifest.part";
const FIRST_LINE: &str = "prony-graph-chain 1";

/// One backup of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainLink {
    pub kind: ChainLinkKind,
    /// Of its directory or file within the chain.
    pub name: String,
    /// The first frame that is in it by itself; of a whole copy the one that comes next.
    pub from: u64,
    /// Of the frame that comes next.
    pub next: u64,
    /// Of the last frame, with its number and time: what tells one graph's frames from another's. None where the copy has no frame.
    pub(crate) last_frame: Option<u32>,
    /// When its last frame was written, in milliseconds since 1970; of a copy without any, when it was made.
    pub time_ms: u64,
    /// The latest time of one of its frames: not that of the last where the clock was set back.
    pub most_ms: u64,
    /// When it was made.
    pub made_ms: u64,
    pub(crate) files: Vec<ChainFile>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChainLinkKind {
    /// A whole copy.
    Base,
    /// The frames since the link before it.
    Increment,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChainFile {
    /// Within the chain.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) checksum: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// The directory whose graph it is, in one line.
    pub(crate) source: String,
    pub(crate) links: Vec<ChainLink>,
}

impl ChainLink {
    pub(crate) fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

impl Manifest {
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{FIRST_LINE}\nsource {}\n", self.source);
        for link in &self.links {
            // Writing to a text cannot fail.
            let _ = match link.kind {
                ChainLinkKind::Base => write!(text, "base {}", link.name),
                ChainLinkKind::Increment => write!(text, "increment {} from {}", link.name, link.from),
            };
            let _ = write!(text, " next {}", link.next);
            if let Some(checksum) = link.last_frame {
                let _ = write!(text, " crc32c {checksum:08x}");
            }
            let _ = writeln!(text, " time {} most {} made {}", link.time_ms, link.most_ms, link.made_ms);
            for file in &link.files {
                let _ =
                    writeln!(text, "file {} bytes {} crc32c {:08x}", file.name, file.bytes, file.checksum);
            }
        }
        let checksum = crc32c::crc32c(text.as_bytes());
        let _ = writeln!(text, "end crc32c {checksum:08x}");
        text
    }

    /// The line in which something is wrong, and what.
    pub(crate) fn parse(text: &str) -> Result<Self, (usize, String)> {
        let count = text.lines().count();
        let body = text.lines().last().and_then(|last| text.strip_suffix(&format!("{last}\n")));
        let end = format!("end crc32c {:08x}", crc32c::crc32c(body.unwrap_or_default().as_bytes()));
        let mut lines = text.lines().enumerate();
        if lines.next().map(|(_, line)| line) != Some(FIRST_LINE) {
            return Err((
                1,
                format!(
                    "it does not begin with `{FIRST_LINE}`, so it was written by a later version, or is damaged"
                ),
            ));
        }
        if body.is_none() || text.lines().last() != Some(&end) {
            return Err((
                count,
                "the checksum does not fit: it is damaged, or was changed by hand".to_owned(),
            ));
        }
        let mut manifest = Self { source: String::new(), links: Vec::new() };
        for (index, line) in lines.take(count - 2) {
            manifest.take(line).ok_or_else(|| (index + 1, format!("`{line}` is not understood")))?;
        }
        Ok(manifest)
    }

    fn take(&mut self, line: &str) -> Option<()> {
        if let Some(source) = line.strip_prefix("source ") {
            source.clone_into(&mut self.source);
            return Some(());
        }
        let mut words = line.split(' ');
        let (first, name) = (words.next()?, words.next()?);
        let mut fields = Fields::default();
        while let Some(field) = words.next() {
            fields.0.push((field, words.next()?));
        }
        if first == "file" {
            let file = ChainFile {
                name: name.to_owned(),
                bytes: fields.number("bytes")?,
                checksum: fields.checksum()?,
            };
            self.links.last_mut()?.files.push(file);
            return Some(());
        }
        let kind = match first {
            "base" => ChainLinkKind::Base,
            "increment" => ChainLinkKind::Increment,
            _ => return None,
        };
        let next = fields.number("next")?;
        self.links.push(ChainLink {
            kind,
            name: name.to_owned(),
            from: if kind == ChainLinkKind::Base { next } else { fields.number("from")? },
            next,
            last_frame: fields.checksum(),
            time_ms: fields.number("time")?,
            most_ms: fields.number("most")?,
            made_ms: fields.number("made")?,
            files: Vec::new(),
        });
        Some(())
    }

    /// None where the directory has none.
    pub(crate) fn read(chain: &Path) -> Result<Option<Self>, ChainError> {
        let path = chain.join(MANIFEST);
        let text = match fs::read(&path) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(cause) => return Err(OpenError::Read { path, cause }.into()),
        };
        Self::parse(&text).map(Some).map_err(|(line, what)| ChainError::Manifest { path, line, what })
    }

    /// Takes the place of the one before, at one stroke.
    pub(crate) fn write(&self, chain: &Path) -> Result<(), OpenError> {
        let (part, path) = (chain.join(PART), chain.join(MANIFEST));
        let write = || {
            let file = DiskFile::create(part.clone())?;
            file.write_all_at(self.text().as_bytes(), 0)?;
            file.sync_all()?;
            disk::rename(&part, &path)?;
            sync_directory(chain)
        };
        write().map_err(|cause| {
            // What is there of it is nothing.
            let _ = disk::remove(&part);
            OpenError::Write { path: path.clone(), cause }
        })
    }
}

#[derive(Default)]
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl Fields<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(of, _)| *of == name).map(|(_, value)| *value)
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }

    fn checksum(&self) -> Option<u32> {
        u32::from_str_radix(self.get("crc32c")?, 16).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Manifest {
        let file = |name: &str| ChainFile { name: name.to_owned(), bytes: 512, checksum: 0x0a };
        let link = |kind, name: &str, from, next, last_frame| ChainLink {
            kind,
            name: name.to_owned(),
            from,
            next,
            last_frame,
            time_ms: 1_764_000_000_000,
            most_ms: 1_764_000_000_500,
            made_ms: 1_764_000_001_000,
            files: vec![file(&format!("{name}/log-000000000001")), file(name)],
        };
        let links = vec![
            link(ChainLinkKind::Base, "base-000000000001", 8, 8, None),
            link(ChainLinkKind::Increment, "increment-000000000002", 8, 20, Some(7)),
        ];
        Manifest { source: "/data/größer/a b".to_owned(), links }
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Manifest::parse(&example().text()), Ok(example()));
        let empty = Manifest { source: String::new(), links: Vec::new() };
        assert_eq!(Manifest::parse(&empty.text()), Ok(empty));
    }

    #[test]
    fn any_byte_that_has_changed_is_seen() {
        let text = example().text().into_bytes();
        for place in 0..text.len() {
            let mut changed = text.clone();
            changed[place] ^= 1;
            let changed = String::from_utf8_lossy(&changed).into_owned();
            assert!(Manifest::parse(&changed).is_err(), "byte {place}:\n{changed}");
        }
        for end in 0..text.len() {
            assert!(Manifest::parse(&String::from_utf8_lossy(&text[..end])).is_err(), "up to {end}");
        }
    }
}
