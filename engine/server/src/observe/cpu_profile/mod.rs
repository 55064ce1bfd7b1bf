//! Where the process spends its processor time: samples of all threads, taken by the clock of used processor time (SIGPROF), in the form that
//! `go tool pprof` reads. Names of functions are put in by that tool, from the program's file.
//!
//! Within the signal the crate walks a stack by the tables for unwinding that a release build has, takes no lock that it would wait for, and allocates
//! nothing. libgcc's unwinder may do both, and frame pointers are in no build.

mod message;

use std::{
    fs,
    io::{self, Write as _},
};

use flate2::{Compression, write::GzEncoder};
use pprof::{ProfilerGuard, ProfilerGuardBuilder};
use prost::Message as _;

use self::message::{Stack, Times, profile};

/// No round number, so that what happens each 10 ms is met now and then.
const HERTZ: i32 = 99;

/// A profile that is being taken: the only one of the process. Dropped, it ends.
pub(crate) struct CpuProfile(ProfilerGuard<'static>);

/// Why there is none.
#[derive(Debug)]
pub(crate) enum ProfileFault {
    /// Another one is being taken.
    Busy,
    Failed(String),
}

impl CpuProfile {
    pub(crate) fn begin() -> Result<Self, ProfileFault> {
        match ProfilerGuardBuilder::default().frequency(HERTZ).build() {
            Ok(guard) => Ok(Self(guard)),
            Err(pprof::Error::Running) => Err(ProfileFault::Busy),
            Err(error) => Err(ProfileFault::Failed(error.to_string())),
        }
    }

    /// What was seen, packed by gzip.
    pub(crate) fn end(self) -> Result<Vec<u8>, ProfileFault> {
        let report = self.0.report().build_unresolved();
        let report = report.map_err(|error| ProfileFault::Failed(error.to_string()))?;
        let stacks = report.data.iter().map(|(seen, count)| Stack {
            addresses: seen.frames.iter().map(|frame| frame.ip as u64).collect(),
            thread: String::from_utf8_lossy(&seen.thread_name[..seen.thread_name_length]).into_owned(),
            count: *count as i64,
        });
        let times =
            Times { began: report.timing.start_time, lasted: report.timing.duration, hertz: HERTZ.into() };
        packed(stacks, times).map_err(|error| ProfileFault::Failed(error.to_string()))
    }
}

fn packed(stacks: impl Iterator<Item = Stack>, times: Times) -> io::Result<Vec<u8>> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&profile(stacks, &maps, times).encode_to_vec())?;
    encoder.finish()
}
