//! Reading the configuration again while the server runs: who may do what, by which names the server is asked for, which tables are served,
//! joins, the files of TLS and the Redis of shared limits change, and nothing else.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use prony_access::AccessSettings;

use super::{redis::RedisSettings, restart::RestartOptions, source::SourceSettings};
use crate::{joins::JoinSettings, tls::TlsSettings};

/// What of a configuration counts while the server runs.
#[derive(Debug, Clone)]
pub struct Reloaded {
    pub access: Arc<AccessSettings>,
    /// Names under which the server may be asked for; they stay as they are where there is none.
    pub hosts: Option<Vec<String>>,
    /// TLS and the Redis in which limits are shared; both stay as they are where there is none.
    pub connections: Option<(TlsSettings, RedisSettings)>,
    /// Sources and joins; both stay as they are where there are none.
    pub served: Option<(Vec<SourceSettings>, Vec<JoinSettings>)>,
    /// Options that stay as they are; those that are other are told, where this is known.
    pub restart: Option<RestartOptions>,
}

impl From<Arc<AccessSettings>> for Reloaded {
    fn from(access: Arc<AccessSettings>) -> Self {
        Self { access, hosts: None, connections: None, served: None, restart: None }
    }
}

/// How who may do what is read again.
#[derive(Clone)]
pub struct Reload {
    read: Arc<dyn Fn() -> Result<Reloaded, String> + Send + Sync>,
    stamp: Arc<dyn Fn() -> Option<SystemTime> + Send + Sync>,
    stamp_at_start: Option<SystemTime>,
}

impl Reload {
    /// `read` reads all of the configuration, or says what is wrong with it; `stamp` is when it was last changed, none where it
    /// is not there. Made before it is read for the start, so that a change meanwhile is seen.
    pub fn new<R: Into<Reloaded>>(
        read: impl Fn() -> Result<R, String> + Send + Sync + 'static,
        stamp: impl Fn() -> Option<SystemTime> + Send + Sync + 'static,
    ) -> Self {
        let stamp_at_start = stamp();
        Self { read: Arc::new(move || read().map(Into::into)), stamp: Arc::new(stamp), stamp_at_start }
    }

    pub(crate) fn read(&self) -> Result<Reloaded, String> {
        (self.read)()
    }

    /// When what the server has begun with was last changed.
    pub(crate) fn stamp_at_start(&self) -> Option<SystemTime> {
        self.stamp_at_start
    }

    pub(crate) fn stamp(&self) -> Option<SystemTime> {
        (self.stamp)()
    }
}

impl fmt::Debug for Reload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Reload").finish_non_exhaustive()
    }
}

/// When a file was last changed, none where it is not there: when its inode was. The time of its content may be that of the file which it has
/// replaced, as with all files of an image or a store that are given one time.
pub fn changed_at(path: &Path) -> Option<SystemTime> {
    let metadata = fs::metadata(path).ok()?;
    let seconds = u64::try_from(metadata.ctime()).ok()?;
    let nanoseconds = u32::try_from(metadata.ctime_nsec()).ok()?;
    Some(UNIX_EPOCH + Duration::new(seconds, nanoseconds))
}

#[cfg(test)]
mod tests {
    use std::{fs::File, time::Instant};

    use super::*;

    /// Such a change was never seen.
    #[test]
    fn another_file_of_the_same_time_is_a_change() {
        let folder = tempfile::tempdir().expect("a directory can be made");
        let (path, other) = (folder.path().join("prony.toml"), folder.path().join("next"));
        let write = |path: &Path, text: &str| {
            fs::write(path, text).expect("it can be written");
            let file = File::options().write(true).open(path).expect("it is there");
            file.set_modified(UNIX_EPOCH + Duration::from_secs(1)).expect("it is ours");
        };
        write(&path, "one");
        let first = changed_at(&path).expect("it is there");
        let deadline = Instant::now() + Duration::from_secs(60);
        // The clock of a file system may have large steps.
        while changed_at(&path) == Some(first) {
            assert!(Instant::now() < deadline, "it is seen as the same file");
            write(&other, "two");
            fs::rename(&other, &path).expect("it can be replaced");
        }
        assert_eq!(changed_at(&folder.path().join("nothing")), None);
    }
}
