//! The counts of quotas in a file, from one start to the next. It is replaced as a whole, so that a stop in the middle of writing
//! leaves the one before; one that cannot be read is reported, and counts begin anew.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use prony_access::{LimitCounts, QuotaCount};
use serde::{Deserialize, Serialize};

use crate::{clock::unix_now, config::OperationLimits};

/// What the file holds; each count has its key as hexadecimal digits, what is used, and when its window ends (Unix seconds).
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuotaFile {
    version: u32,
    counts: Vec<(String, u64, i64)>,
}

const VERSION: u32 = 1;

/// Takes up what was written down at the last stop.
pub(crate) fn restore(counts: &LimitCounts, settings: &OperationLimits) {
    let path = &settings.quota_file;
    if path.as_os_str().is_empty() {
        return;
    }
    let path_shown = path.display();
    match read(path) {
        Ok(Some(written)) => {
            counts.restore_quotas(&written, unix_now());
            tracing::info!(path = %path_shown, counts = written.len(), "counts of quotas were taken up");
        }
        Ok(None) => tracing::info!(path = %path_shown, "there is no file of quotas yet; counts begin anew"),
        Err(error) => {
            tracing::error!(path = %path_shown, %error, "the file of quotas cannot be read; counts begin anew");
        }
    }
}

/// Writes counts down again and again where they have changed; never returns.
pub(crate) async fn keep(counts: Arc<LimitCounts>, settings: OperationLimits) {
    let OperationLimits { quota_file, quota_interval, .. } = &settings;
    if quota_file.as_os_str().is_empty() {
        return std::future::pending().await;
    }
    let mut written = counts.quota_changes();
    loop {
        tokio::time::sleep(*quota_interval).await;
        let changes = counts.quota_changes();
        if changes == written {
            continue;
        }
        written = changes;
        let (counts, settings) = (Arc::clone(&counts), settings.clone());
        // A panic there has been reported by its thread.
        let _ = tokio::task::spawn_blocking(move || save(&counts, &settings)).await;
    }
}

/// Writes counts down.
pub(crate) fn save(counts: &LimitCounts, settings: &OperationLimits) {
    let path = &settings.quota_file;
    if path.as_os_str().is_empty() {
        return;
    }
    if let Err(error) = write_now(path, || counts.quota_counts(unix_now())) {
        tracing::error!(path = %path.display(), %error, "counts of quotas cannot be written down");
    }
}

/// None where there is no file.
fn read(path: &Path) -> io::Result<Option<Vec<QuotaCount>>> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let file: QuotaFile = serde_json::from_slice(&text)?;
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if file.version != VERSION {
        return Err(wrong(format!("its version is {}, and this program knows {VERSION}", file.version)));
    }
    let count = |(key, used, ends_at): (String, u64, i64)| {
        let is_key = key.len() == 32 && key.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = u128::from_str_radix(&key, 16).ok().filter(|_| is_key);
        let digits = digits.ok_or_else(|| wrong(format!("`{key}` is no key")))?;
        Ok(QuotaCount { key: digits.to_be_bytes(), used, ends_at })
    };
    file.counts.into_iter().map(count).collect::<io::Result<_>>().map(Some)
}

/// Writes what has been counted by then. One writes at a time: a stop may come while a slow disk still takes what was written before it.
fn write_now(path: &Path, counts: impl FnOnce() -> Vec<QuotaCount>) -> io::Result<()> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
    write(path, &counts())
}

/// The file is there whole, before or after a loss of power.
fn write(path: &Path, counts: &[QuotaCount]) -> io::Result<()> {
    let count =
        |count: &QuotaCount| (format!("{:032x}", u128::from_be_bytes(count.key)), count.used, count.ends_at);
    let file = QuotaFile { version: VERSION, counts: counts.iter().map(count).collect() };
    let beside = beside(path);
    let mut new = File::create(&beside)?;
    new.write_all(&serde_json::to_vec(&file)?)?;
    new.sync_all()?;
    fs::rename(&beside, path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let path = folder.path().join("quotas.json");
        assert!(read(&path).expect("a missing file is none").is_none());
        let counts = [
            QuotaCount { key: [0; 16], used: 0, ends_at: -1 },
            QuotaCount { key: [0xfe; 16], used: u64::MAX, ends_at: i64::MAX },
        ];
        write(&path, &counts).expect("it can be written");
        assert_eq!(read(&path).expect("it can be read").as_deref(), Some(&counts[..]));
        write(&path, &counts[1..]).expect("it can be replaced");
        assert_eq!(read(&path).expect("it can be read").as_deref(), Some(&counts[1..]));
        assert_eq!(fs::read_dir(folder.path()).expect("it is a directory").count(), 1);
    }

    /// The file was that of both, of which the longer one's end stood behind the other, and none of it was taken up.
    #[test]
    fn who_writes_at_the_same_time_writes_one_after_the_other() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let path = folder.path().join("quotas.json");
        let counts = |used| vec![QuotaCount { key: [1; 16], used, ends_at: 9 }; (used % 40) as usize];
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for used in 0..80 {
                        write_now(&path, || counts(used)).expect("it can be written");
                    }
                });
            }
        });
        assert_eq!(read(&path).expect("it can be read"), Some(counts(79)));
    }

    #[test]
    fn a_file_that_is_torn_or_strange_is_refused_as_a_whole() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let path = folder.path().join("quotas.json");
        write(&path, &[QuotaCount { key: [7; 16], used: 3, ends_at: 9 }]).expect("it can be written");
        let whole = fs::read(&path).expect("it can be read");
        for end in 0..whole.len() {
            fs::write(&path, &whole[..end]).expect("it can be written");
            read(&path).expect_err("a part of it is no file");
        }
        let key = "07".repeat(16);
        for text in [
            format!(r#"{{"version":2,"counts":[["{key}",3,9]]}}"#),
            format!(r#"{{"version":1,"counts":[["{}",3,9]]}}"#, &key[1..]),
            format!(r#"{{"version":1,"counts":[["{key}",-3,9]]}}"#),
            r#"{"version":1,"counts":[["+1111111111111111111111111111111",3,9]]}"#.to_owned(),
            "\0".repeat(100),
        ] {
            fs::write(&path, &text).expect("it can be written");
            read(&path).expect_err(&text);
        }
    }
}
