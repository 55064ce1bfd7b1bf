//! Messages of the sizes that a sweep goes through: made, or read from files; and the files in which scripts find them.

use crate::kind::Payload;
use prony_model::sweep::PayloadSize;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io, iter};

/// One body; beyond it sizes are no messages.
const BYTES_MAX: u64 = 256 << 20;
/// Below the folder of a sweep.
const FOLDER: &str = "payloads";
/// JSON with nothing in it: what a made message has beside its text.
const FRAME: (&str, &str) = ("{\"payload\":\"", "\"}");
const FILLING: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

/// A message that cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum PayloadError {
    #[error("`{0}` is no size of a message; write bytes such as 50 or 10240, or @FILE")]
    NoSize(String),
    #[error("a message of {bytes} bytes is more than {BYTES_MAX}, the most that is sent")]
    TooLarge { bytes: u64 },
    #[error("cannot read the message {}: {cause}", path.display())]
    Unreadable { path: PathBuf, cause: io::Error },
    #[error("the message {} is no text in UTF-8, which bodies of plans and scripts are", path.display())]
    NoText { path: PathBuf },
    #[error("cannot write the message {}: {cause}", path.display())]
    Unwritable { path: PathBuf, cause: io::Error },
}

/// `1024` makes JSON of so many bytes, `@order.json` reads a file. The same size always gives the same text.
pub fn payload(text: &str) -> Result<(PayloadSize, String), PayloadError> {
    if let Some(path) = text.strip_prefix('@') {
        let path = PathBuf::from(path);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) => return Err(PayloadError::Unreadable { path, cause }),
        };
        let size = bytes.len() as u64;
        if size > BYTES_MAX {
            return Err(PayloadError::TooLarge { bytes: size });
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let message = String::from_utf8(bytes).map_err(|_| PayloadError::NoText { path })?;
        return Ok((PayloadSize { name, bytes: size }, message));
    }
    let bytes: u64 = text.parse().map_err(|_| PayloadError::NoSize(text.to_owned()))?;
    if bytes > BYTES_MAX {
        return Err(PayloadError::TooLarge { bytes });
    }
    Ok((PayloadSize { name: format!("{bytes}B"), bytes }, made(bytes as usize)))
}

/// An object with one text; where there is no room for that, a number.
fn made(bytes: usize) -> String {
    let frame = FRAME.0.len() + FRAME.1.len();
    let Some(length) = bytes.checked_sub(frame) else { return "1".repeat(bytes) };
    let filling: String = FILLING.iter().cycle().take(length).map(|byte| char::from(*byte)).collect();
    format!("{}{filling}{}", FRAME.0, FRAME.1)
}

/// All messages of a sweep, each in a file.
#[derive(Debug)]
pub(super) struct Files {
    folder: PathBuf,
    /// There was no such folder before.
    is_new: bool,
    payloads: Vec<(PayloadSize, Payload)>,
}

impl Files {
    /// Writes them below the folder of a sweep, which is made where it is not there.
    pub(super) fn write(folder: &Path, payloads: &[(PayloadSize, String)]) -> Result<Self, PayloadError> {
        let is_new = !folder.exists();
        let below = folder.join(FOLDER);
        let unwritable = |path: &Path, cause| PayloadError::Unwritable { path: path.to_owned(), cause };
        let mut files = Self { folder: folder.to_owned(), is_new, payloads: Vec::new() };
        let mut names = BTreeSet::new();
        fs::create_dir_all(folder).map_err(|cause| unwritable(folder, cause))?;
        for (size, text) in payloads {
            fs::create_dir_all(&below).map_err(|cause| unwritable(&below, cause))?;
            let file = below.join(free_name(&size.name, &mut names));
            fs::write(&file, text).map_err(|cause| unwritable(&file, cause))?;
            // Scripts may look for files from another folder.
            let file = fs::canonicalize(&file).unwrap_or(file);
            files.payloads.push((size.clone(), Payload { text: text.clone(), file }));
        }
        Ok(files)
    }

    pub(super) fn of(&self, size: &PayloadSize) -> Option<&Payload> {
        self.payloads.iter().find(|(known, _)| known == size).map(|(_, payload)| payload)
    }

    /// Of a sweep that did not begin, unless its folder is that of an earlier one. Best effort: nothing depends on it.
    pub(super) fn remove_where_new(&self) {
        if !self.is_new {
            return;
        }
        for (_, payload) in &self.payloads {
            let _ = fs::remove_file(&payload.file);
        }
        let _ = fs::remove_dir(self.folder.join(FOLDER));
        let _ = fs::remove_dir(&self.folder);
    }
}

/// What the file of a message is called, such as `1024B.json`; with a number where another message has that name.
fn free_name(message: &str, taken: &mut BTreeSet<String>) -> String {
    let name = if message.contains('.') { message.to_owned() } else { format!("{message}.json") };
    let further = (2_u64..).map(|number| format!("{number}-{name}"));
    iter::once(name.clone()).chain(further).find(|name| taken.insert(name.clone())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_their_size_and_are_json() {
        for bytes in [1, 2, 13, 14, 15, 50, 10_240] {
            let (size, text) = payload(&bytes.to_string()).unwrap();
            assert_eq!((size.bytes, text.len()), (bytes, bytes as usize));
            assert_eq!(size.name, format!("{bytes}B"));
            assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
        }
        assert_eq!(payload("0").unwrap().1, "");
        for text in ["", "-1", "1k", "50B"] {
            assert!(matches!(payload(text), Err(PayloadError::NoSize(_))), "{text}");
        }
        assert!(matches!(payload("99999999999"), Err(PayloadError::TooLarge { .. })));
    }

    #[test]
    fn messages_are_read_from_files_and_written_for_scripts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("größe.xml");
        fs::write(&path, "<ä/>").unwrap();
        let (size, text) = payload(&format!("@{}", path.display())).unwrap();
        assert_eq!((size.name.as_str(), size.bytes, text.as_str()), ("größe.xml", 5, "<ä/>"));
        fs::write(&path, [0xff]).unwrap();
        assert!(matches!(payload(&format!("@{}", path.display())), Err(PayloadError::NoText { .. })));
        let sweep = folder.path().join("new");
        let files = Files::write(&sweep, &[(size.clone(), text)]).unwrap();
        assert_eq!(fs::read_to_string(&files.of(&size).unwrap().file).unwrap(), "<ä/>");
        files.remove_where_new();
        assert!(!sweep.exists());
        let files = Files::write(folder.path(), &[]).unwrap();
        files.remove_where_new();
        assert!(path.exists());
    }

    /// `--payload 100,@100B.json`.
    #[test]
    fn messages_do_not_share_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let (made, made_text) = payload("100").unwrap();
        let read = PayloadSize { name: "100B.json".to_owned(), bytes: 2 };
        let all = [(made.clone(), made_text.clone()), (read.clone(), "{}".to_owned())];
        let files = Files::write(folder.path(), &all).unwrap();
        let text = |size| fs::read_to_string(&files.of(size).unwrap().file).unwrap();
        assert_eq!((text(&made), text(&read)), (made_text, "{}".to_owned()));
    }
}
