//! What a worker keeps of its share in a file, and how such files of a run become its result when its coordinator is gone.
//!
//! Lines of JSON: who and what first, with the plan, then each report with its number, in the order in which they were made.

use crate::bundle::Bundle;
use crate::error::WorkersError;
use crate::gather::interval;
use crate::kind::{Kinds, Share, Unpacked, find};
use crate::message::{Joined, Reply, Report};
use crate::roster::{Member, Taken};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::Collector;
use prony_model::measurement::snapshot::RequestNames;
use prony_model::program::RunShare;
use prony_model::program::table::Tables;
use prony_model::result::{Origin, RunState};
use prony_model::verdict::findings::TargetPlace;
use prony_model::{Nanos, Plan, ResultFile};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) const SCHEMA: &str = "prony-worker";

/// The first line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KeptHeader {
    /// Always [`SCHEMA`].
    pub(crate) schema: String,
    pub(crate) run: String,
    pub(crate) share: RunShare,
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) started_at_unix_ms: u64,
    pub(crate) worker: Option<Joined>,
    pub(crate) plan_hash: String,
    /// The plan with its files, in base64.
    pub(crate) plan: String,
}

impl Default for KeptHeader {
    fn default() -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            run: String::new(),
            share: RunShare::WHOLE,
            name: String::new(),
            seed: 0,
            started_at_unix_ms: 0,
            worker: None,
            plan_hash: String::new(),
            plan: String::new(),
        }
    }
}

/// The file while it grows; each line is handed to the system at once.
#[derive(Debug)]
pub(crate) struct KeptWriter {
    path: PathBuf,
    file: File,
}

impl KeptWriter {
    pub(crate) fn create(path: &Path, header: &KeptHeader) -> Result<Self, WorkersError> {
        let failed = |cause| WorkersError::Keep { path: path.to_owned(), cause };
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
        let file = File::create(path).map_err(failed)?;
        let mut writer = Self { path: path.to_owned(), file };
        writer.write(header)?;
        Ok(writer)
    }

    pub(crate) fn write(&mut self, line: &impl Serialize) -> Result<(), WorkersError> {
        let mut text = serde_json::to_vec(line).expect("lines can be written");
        text.push(b'\n');
        self.file.write_all(&text).map_err(|cause| WorkersError::Keep { path: self.path.clone(), cause })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn remove(self) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_file(&self.path);
    }
}

/// A file as it was read. A last line that was cut off in the middle is left out.
struct Kept {
    path: PathBuf,
    header: KeptHeader,
    reports: Vec<(u64, Report)>,
}

impl Kept {
    fn read(path: &Path) -> Result<Self, WorkersError> {
        let other = |reason: String| WorkersError::NotKept { path: path.to_owned(), reason };
        let file = File::open(path).map_err(|error| other(error.to_string()))?;
        let lines: io::Result<Vec<_>> = BufReader::new(file).split(b'\n').collect();
        let lines = lines.map_err(|error| other(error.to_string()))?;
        let (first, rest) = lines.split_first().ok_or_else(|| other("it is empty".to_owned()))?;
        let header: KeptHeader = serde_json::from_slice(first).map_err(|error| other(error.to_string()))?;
        if header.schema != SCHEMA {
            return Err(other(format!("its schema is `{}`", header.schema)));
        }
        let mut reports = Vec::new();
        for (index, line) in rest.iter().enumerate() {
            match serde_json::from_slice(line) {
                Ok(Reply::Report { number, report }) => reports.push((number, *report)),
                Ok(_) => {}
                Err(_) if index + 1 == rest.len() => {}
                Err(error) => return Err(other(format!("line {}: {error}", index + 2))),
            }
        }
        Ok(Self { path: path.to_owned(), header, reports })
    }
}

/// The result of a run from what its workers kept: its requests, whatever its kind. Shares without a file are missing in it.
pub fn merge(paths: &[PathBuf], kinds: Kinds) -> Result<ResultFile, WorkersError> {
    let kept: Vec<Kept> = paths.iter().map(|path| Kept::read(path)).collect::<Result<_, _>>()?;
    let Some(first) = kept.first() else {
        return Err(WorkersError::NotKept { path: PathBuf::new(), reason: "no file is named".to_owned() });
    };
    for (index, one) in kept.iter().enumerate() {
        let is_twice = kept[..index].iter().any(|before| before.header.share == one.header.share);
        if one.header.run != first.header.run {
            return Err(WorkersError::OtherRun { path: one.path.clone(), first: first.path.clone() });
        }
        if is_twice {
            let reason = format!("it is the share of worker `{}`, which another file has", one.header.name);
            return Err(WorkersError::NotKept { path: one.path.clone(), reason });
        }
    }
    let share = share_of(first, kinds)?;
    merge_all(share.plan(), kept)
}

/// Opened once more, for its plan.
fn share_of(kept: &Kept, kinds: Kinds) -> Result<Box<dyn Share>, WorkersError> {
    let KeptHeader { plan, plan_hash, seed, share, .. } = &kept.header;
    let bytes = STANDARD.decode(plan).map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let (kind, settings) = Bundle::of_bytes(bytes, plan_hash)?.unpack(folder.path())?;
    let came = Unpacked { folder: folder.path(), settings: &settings, seed: *seed, share: *share };
    find(kinds, &kind)?.open(&came).map_err(WorkersError::Unpack)
}

fn merge_all(plan: &Plan, mut kept: Vec<Kept>) -> Result<ResultFile, WorkersError> {
    kept.sort_by_key(|kept| kept.header.share.number());
    let (windows, header) = (plan.windows(), kept[0].header.clone());
    let parts = header.share.parts();
    let origin = Origin {
        prony_version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: Vec::new(),
        started_at_unix_ms: header.started_at_unix_ms,
        machine: prony_load::describe_machine(),
    };
    // What a plan does not name beforehand has the names under which it comes.
    let tables = plan.requests().is_empty().then(Tables::default);
    let found = tables.as_ref();
    let mut collector = Collector::new(plan, found, &windows, origin, TargetPlace::OtherMachine, parts);
    let (mut workers, mut last, mut is_whole) = (Vec::new(), Nanos::ZERO, kept.len() as u32 == parts);
    let numbers: Vec<u32> = kept.iter().map(|kept| kept.header.share.number()).collect();
    for number in (0..parts).filter(|number| !numbers.contains(number)) {
        collector.end(number, true);
    }
    for Kept { path, header, reports } in kept {
        let now = Instant::now();
        let joined = header.worker.clone().ok_or_else(|| WorkersError::NotKept {
            path: path.clone(),
            reason: "it does not say whose it is".to_owned(),
        })?;
        let number = header.share.number();
        let mut member = Member::new(String::new(), header.name, joined, header.share, now);
        let mut has_ended = false;
        for (at, report) in reports {
            match member.take(at, report, now) {
                Taken::Nothing => {}
                Taken::Second { snapshot, .. } => {
                    last = last.max(Nanos::from_secs(snapshot.second + 1));
                    let names = RequestNames { plan, found };
                    let interval = interval(names, &windows, number as usize, *snapshot);
                    collector.take(
                        interval.map_err(|reason| WorkersError::NotKept { path: path.clone(), reason })?,
                    );
                }
                Taken::Ended { ended, is_early, .. } => {
                    last = last.max(ended);
                    has_ended = !is_early;
                }
            }
        }
        is_whole &= has_ended;
        if !has_ended {
            member.lose(last, "what it kept ends there");
        }
        collector.end(number, !has_ended);
        workers.push(member.figures(plan));
    }
    collector.close();
    collector.set_workers(workers);
    let state = if is_whole { RunState::Completed } else { RunState::Stopped };
    Ok(collector.result(state, last))
}
