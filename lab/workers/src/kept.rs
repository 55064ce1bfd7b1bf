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
use prony_model::plan::PlanChange;
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
    /// It is that of a worker that was lost, or a part of it.
    #[serde(default)]
    pub(crate) is_taken_over: bool,
    /// What the run changes of the plan.
    pub(crate) change: PlanChange,
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
            is_taken_over: false,
            change: PlanChange::default(),
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
    let KeptHeader { plan, plan_hash, change, share, .. } = &kept.header;
    let bytes = STANDARD.decode(plan).map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let folder = tempfile::tempdir().map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let (kind, settings) = Bundle::of_bytes(bytes, plan_hash)?.unpack(folder.path())?;
    let came = Unpacked { folder: folder.path(), settings: &settings, change, share: *share };
    find(kinds, &kind)?.open(&came).map_err(WorkersError::Unpack)
}

/// Where the shares of a run are among those of its collector, and from which second on others have them.
struct Places {
    shares: Vec<RunShare>,
    taken_over_from: Vec<Option<u64>>,
}

impl Places {
    /// The shares that a run began with.
    fn of(parts: u32) -> Self {
        let shares: Vec<_> = (0..parts).filter_map(|number| RunShare::new(number, parts)).collect();
        Self { taken_over_from: vec![None; shares.len()], shares }
    }

    /// Those whose users are among a share's: the smallest is that which it takes over.
    fn lost_for(&self, share: RunShare) -> Option<usize> {
        let holds = |other: &RunShare| {
            other.parts() < share.parts() && share.number() % other.parts() == other.number()
        };
        let holding = self.shares.iter().enumerate().filter(|(_, other)| holds(other));
        holding.max_by_key(|(_, other)| other.parts()).map(|(index, _)| index)
    }

    fn of_share(&self, share: RunShare) -> Option<usize> {
        self.shares.iter().position(|known| *known == share)
    }
}

/// Tells the collector which shares are missing and which others have taken over.
fn place_all(kept: &[Kept], parts: u32, collector: &mut Collector<'_>) -> Places {
    let mut places = Places::of(parts);
    for Kept { header, reports, .. } in kept.iter().filter(|kept| kept.header.is_taken_over) {
        let first = reports.iter().find_map(|(_, report)| match report {
            Report::Second { snapshot, .. } => Some(snapshot.second),
            Report::Ended { .. } => None,
        });
        let added = collector.add();
        if let (Some(lost), Some(first)) = (places.lost_for(header.share), first) {
            collector.take_over(lost as u32, &[added], first);
            places.taken_over_from[lost] = Some(first);
        }
        places.shares.push(header.share);
        places.taken_over_from.push(None);
    }
    for (index, share) in places.shares.iter().enumerate() {
        if !kept.iter().any(|kept| kept.header.share == *share) {
            collector.end(index as u32, true);
        }
    }
    places
}

fn merge_all(plan: &Plan, mut kept: Vec<Kept>) -> Result<ResultFile, WorkersError> {
    kept.sort_by_key(|kept| {
        (kept.header.is_taken_over, kept.header.share.parts(), kept.header.share.number())
    });
    let (windows, header) = (plan.windows(), kept[0].header.clone());
    if header.is_taken_over {
        let reason =
            "its worker took the share over from another; name the files of the others too".to_owned();
        return Err(WorkersError::NotKept { path: kept[0].path.clone(), reason });
    }
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
    let places = place_all(&kept, parts, &mut collector);
    let (mut workers, mut last) = (Vec::new(), Nanos::ZERO);
    let mut has_ended = vec![false; places.shares.len()];
    for Kept { path, header, reports } in kept {
        let now = Instant::now();
        let not_kept = |reason: String| WorkersError::NotKept { path: path.clone(), reason };
        let joined =
            header.worker.clone().ok_or_else(|| not_kept("it does not say whose it is".to_owned()))?;
        let index = places.of_share(header.share).ok_or_else(|| {
            not_kept(format!(
                "its share is one of {}, and that of others one of {parts}",
                header.share.parts()
            ))
        })?;
        let taken_over_from = places.taken_over_from[index];
        let mut member = Member::new((0, String::new()), header.name, joined, header.share, now);
        member.taken_over_from = taken_over_from;
        for (at, report) in reports {
            match member.take(at, report, now) {
                Taken::Nothing => {}
                Taken::Second { snapshot, .. }
                    if taken_over_from.is_some_and(|from| from <= snapshot.second) => {}
                Taken::Second { snapshot, .. } => {
                    last = last.max(Nanos::from_secs(snapshot.second + 1));
                    let names = RequestNames { plan, found };
                    collector.take(interval(names, &windows, index, *snapshot).map_err(not_kept)?);
                }
                Taken::Ended { ended, is_early, .. } => {
                    last = last.max(ended);
                    has_ended[index] = !is_early;
                }
            }
        }
        if !has_ended[index] {
            member.lose(last, "what it kept ends there");
        }
        collector.end(index as u32, !has_ended[index]);
        workers.push(member.figures(plan));
    }
    collector.close();
    collector.set_workers(workers);
    let is_made = |(ended, taken): (&bool, &Option<u64>)| *ended || taken.is_some();
    let is_whole = has_ended.iter().zip(&places.taken_over_from).all(is_made);
    let state = if is_whole { RunState::Completed } else { RunState::Stopped };
    Ok(collector.result(state, last))
}
