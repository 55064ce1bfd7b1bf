//! What a worker keeps of its share in a file, and how such files of a run become its result when its coordinator is gone.
//!
//! Lines of JSON: who and what first, with the plan, then each report with its number, in the order in which they were made.

use crate::bundle::Bundle;
use crate::error::WorkersError;
use crate::folder::private_folder;
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
use serde_json::value::{RawValue, to_raw_value};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

pub(crate) const SCHEMA: &str = "prony-worker";

const SUFFIX: &str = ".worker.jsonl";
/// Of a worker's name in the name of its file, which has the run's and a number beside it: file systems take 255 bytes.
const NAME_BYTES_MAX: usize = 180;
/// Files of one run whose names come to the same.
const COPIES_MAX: u32 = 1_000;
/// Of lines that could not be written, such as on a full disk: minutes of what most runs measure.
const UNWRITTEN_BYTES_MAX: usize = 32 << 20;

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
    /// Of whole lines in the file.
    bytes: u64,
    /// Lines that could not be written yet, in their order.
    unwritten: Vec<u8>,
}

impl KeptWriter {
    /// A file of its own in the folder, named after the run and the worker.
    pub(crate) fn create(folder: &Path, header: &KeptHeader) -> Result<Self, WorkersError> {
        fs::create_dir_all(folder).map_err(|cause| WorkersError::Keep { path: folder.to_owned(), cause })?;
        let mut copy = 1;
        loop {
            let path = folder.join(file_name(&header.run, &header.name, copy));
            // The plan may have passwords in it, which nobody else on the machine is to read.
            match File::options().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => {
                    let mut writer = Self::to(&path, file);
                    writer.write(&to_raw_value(header).expect("a header can be written"))?;
                    return Ok(writer);
                }
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && copy < COPIES_MAX => copy += 1,
                Err(cause) => return Err(WorkersError::Keep { path, cause }),
            }
        }
    }

    pub(crate) fn to(path: &Path, file: File) -> Self {
        Self { path: path.to_owned(), file, bytes: 0, unwritten: Vec::new() }
    }

    /// Adds a line, at once, or before the next one where that fails.
    pub(crate) fn write(&mut self, line: &RawValue) -> Result<(), WorkersError> {
        if self.unwritten.len() < UNWRITTEN_BYTES_MAX {
            self.unwritten.extend_from_slice(line.get().as_bytes());
            self.unwritten.push(b'\n');
        }
        if let Err(cause) = self.file.write_all(&self.unwritten) {
            // A part of a line would make those after it unreadable. What cannot be cut cannot be written again either.
            let _ = self.file.set_len(self.bytes).and_then(|()| self.file.seek(SeekFrom::Start(self.bytes)));
            return Err(WorkersError::Keep { path: self.path.clone(), cause });
        }
        self.bytes += self.unwritten.len() as u64;
        self.unwritten.clear();
        Ok(())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn remove(self) {
        // What cannot be removed is in nobody's way.
        let _ = fs::remove_file(&self.path);
    }
}

/// Of a name what every file system takes. Others may come to the same, so each has a number from the second on.
fn file_name(run: &str, name: &str, copy: u32) -> String {
    let letters = name.char_indices().take_while(|(at, c)| at + c.len_utf8() <= NAME_BYTES_MAX);
    let kept: String =
        letters.map(|(_, c)| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    let copy = if copy == 1 { String::new() } else { format!("-{copy}") };
    format!("{run}-{kept}{copy}{SUFFIX}")
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
            match serde_json::from_slice::<Reply>(line) {
                Ok(Reply::Report { number, report }) => reports.push((number, *report)),
                Ok(_) => {}
                Err(_) if index + 1 == rest.len() => {}
                Err(error) => return Err(other(format!("line {}: {error}", index + 2))),
            }
        }
        Ok(Self { path: path.to_owned(), header, reports })
    }

    /// The second with which it took a share over from another; nothing of the own share of a run.
    fn begins(&self) -> Option<u64> {
        let seconds = |(_, report): &(u64, Report)| match report {
            Report::Second { snapshot, .. } => Some(snapshot.second),
            Report::Ended { .. } => None,
        };
        self.header.is_taken_over.then(|| self.reports.iter().find_map(seconds)).flatten()
    }

    /// What no two files of a run have in common.
    fn place(&self) -> (RunShare, bool, Option<u64>) {
        (self.header.share, self.header.is_taken_over, self.begins())
    }

    fn is_not_kept(&self, reason: String) -> WorkersError {
        WorkersError::NotKept { path: self.path.clone(), reason }
    }
}

/// The result of a run from what its workers kept: its requests, whatever its kind. Shares without a file are missing in it.
pub fn merge(paths: &[PathBuf], kinds: Kinds) -> Result<ResultFile, WorkersError> {
    let kept: Vec<Kept> = paths.iter().map(|path| Kept::read(path)).collect::<Result<_, _>>()?;
    let Some(first) = kept.first() else {
        return Err(WorkersError::NotKept { path: PathBuf::new(), reason: "no file is named".to_owned() });
    };
    for (index, one) in kept.iter().enumerate() {
        let is_twice = kept[..index].iter().any(|before| before.place() == one.place());
        if one.header.run != first.header.run {
            return Err(WorkersError::OtherRun { path: one.path.clone(), first: first.path.clone() });
        }
        if is_twice {
            let reason = format!("it is the share of worker `{}`, which another file has", one.header.name);
            return Err(one.is_not_kept(reason));
        }
    }
    let share = share_of(first, kinds)?;
    merge_all(share.plan(), kept)
}

/// Opened once more, for its plan.
fn share_of(kept: &Kept, kinds: Kinds) -> Result<Box<dyn Share>, WorkersError> {
    let KeptHeader { plan, plan_hash, change, share, .. } = &kept.header;
    let bytes = STANDARD.decode(plan).map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let folder = private_folder().map_err(|error| WorkersError::Unpack(error.to_string()))?;
    let (kind, settings) = Bundle::of_bytes(bytes, plan_hash)?.unpack(folder.path())?;
    let came = Unpacked { folder: folder.path(), settings: &settings, change, share: *share };
    find(kinds, &kind)?.open(&came).map_err(WorkersError::Unpack)
}

/// One that hands over seconds to the collector.
#[derive(Debug)]
struct Place {
    share: RunShare,
    name: Option<String>,
    /// Whose share it has from which second on, where it took one over.
    takes_over: Option<(usize, u64)>,
    /// Others have its share from this second on.
    taken_over_from: Option<u64>,
    /// It has said that it made all of its share.
    has_ended: bool,
}

/// By their numbers in the collector.
struct Places(Vec<Place>);

impl Places {
    /// Of the shares that a run began with, and of those that took one over, in the order in which they did.
    fn of(kept: &[Kept]) -> Result<Self, WorkersError> {
        let place = |share, name, takes_over| Place {
            share,
            name,
            takes_over,
            taken_over_from: None,
            has_ended: false,
        };
        let parts = kept[0].header.share.parts();
        let first = (0..parts).filter_map(|number| RunShare::new(number, parts));
        let mut places = Self(first.map(|share| place(share, None, None)).collect());
        for one in kept {
            let KeptHeader { share, name, .. } = &one.header;
            let holder = match one.begins() {
                None => places.0.iter().position(|place| place.share == *share),
                Some(_) => places.holder_of(*share),
            };
            let Some(holder) = holder else {
                let other = share.parts();
                let reason = format!("its share is one of {other}, and that of others one of {parts}");
                return Err(one.is_not_kept(reason));
            };
            match one.begins() {
                None => places.0[holder].name = Some(name.clone()),
                Some(from) => {
                    places.0[holder].taken_over_from.get_or_insert(from);
                    places.0.push(place(*share, Some(name.clone()), Some((holder, from))));
                }
            }
        }
        Ok(places)
    }

    /// Whose users a share's are among: the last that had them. A part of a share has more parts than it, or as many where one
    /// alone took it over.
    fn holder_of(&self, share: RunShare) -> Option<usize> {
        let holds = |(_, place): &(usize, &Place)| {
            let (number, parts) = (place.share.number(), place.share.parts());
            share.parts().is_multiple_of(parts) && share.number() % parts == number
        };
        let holding = self.0.iter().enumerate().filter(holds);
        holding.max_by_key(|(index, place)| (place.share.parts(), *index)).map(|(index, _)| index)
    }

    /// Where the seconds of a file go.
    fn of_file(&self, one: &Kept) -> Option<usize> {
        let from = one.begins();
        self.0.iter().position(|place| {
            place.share == one.header.share && place.takes_over.map(|(_, from)| from) == from
        })
    }

    /// Tells the collector who takes over from whom and who is missing: also a part of a share whose taker left no file.
    fn tell(&self, plan: &Plan, collector: &mut Collector<'_>) {
        for place in &self.0 {
            if let Some((lost, from)) = place.takes_over {
                let added = collector.add();
                collector.take_over(lost as u32, &[added], from);
            }
        }
        for (index, place) in self.0.iter().enumerate() {
            if place.name.is_none() {
                collector.end(index as u32, true);
            }
            if let Some(from) = place.taken_over_from
                && !self.is_covered(plan, index)
            {
                let absent = collector.add();
                collector.take_over(index as u32, &[absent], from);
                collector.end(absent, true);
            }
        }
    }

    /// Others have all of its users.
    fn is_covered(&self, plan: &Plan, lost: usize) -> bool {
        let users = |share: RunShare| share.users(0, plan.users());
        let is_taker = |place: &&Place| place.takes_over.is_some_and(|(of, _)| of == lost);
        let taken = self.0.iter().filter(is_taker).map(|place| users(place.share));
        taken.sum::<u32>() >= users(self.0[lost].share)
    }

    /// What it is called, or which share it had where it left no file.
    fn name_of(&self, index: usize) -> String {
        let Place { share, name, .. } = &self.0[index];
        name.clone().unwrap_or_else(|| format!("share {} of {}", share.number() + 1, share.parts()))
    }

    /// Each share was made to its end, by itself or by others.
    fn are_whole(&self, plan: &Plan) -> bool {
        let is_made = |(index, place): (usize, &Place)| {
            place.has_ended || place.taken_over_from.is_some() && self.is_covered(plan, index)
        };
        self.0.iter().enumerate().all(is_made)
    }
}

fn merge_all(plan: &Plan, mut kept: Vec<Kept>) -> Result<ResultFile, WorkersError> {
    // A taker that was given up before it began has made nothing.
    kept.retain(|one| !one.header.is_taken_over || one.begins().is_some());
    kept.sort_by_key(|one| (one.begins(), one.header.share.parts(), one.header.share.number()));
    let Some(first) = kept.first().filter(|one| !one.header.is_taken_over) else {
        let path = kept.first().map_or_else(PathBuf::new, |one| one.path.clone());
        let reason =
            "its worker took the share over from another; name the files of the others too".to_owned();
        return Err(WorkersError::NotKept { path, reason });
    };
    let (windows, header) = (plan.windows(), first.header.clone());
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
    let mut places = Places::of(&kept)?;
    places.tell(plan, &mut collector);
    let (mut workers, mut last) = (Vec::new(), Nanos::ZERO);
    for one in kept {
        let index = places.of_file(&one).expect("each file was given its place");
        let member = take_all(plan, found, one, (index, &mut places), (&mut collector, &mut last))?;
        workers.push(member.figures(plan));
    }
    collector.close();
    collector.set_workers(workers);
    let state = if places.are_whole(plan) { RunState::Completed } else { RunState::Stopped };
    Ok(collector.result(state, last))
}

/// Hands over all that a file has; returns whose it is. `last`: when anybody measured something last.
fn take_all(
    plan: &Plan,
    found: Option<&Tables>,
    one: Kept,
    (index, places): (usize, &mut Places),
    (collector, last): (&mut Collector<'_>, &mut Nanos),
) -> Result<Member, WorkersError> {
    let (windows, now) = (plan.windows(), Instant::now());
    let not_kept = |reason: String| WorkersError::NotKept { path: one.path.clone(), reason };
    let KeptHeader { name, share, worker, .. } = one.header;
    let joined = worker.ok_or_else(|| not_kept("it does not say whose it is".to_owned()))?;
    let mut member = Member::new((0, String::new()), name, joined, share, now);
    let Place { takes_over, taken_over_from, .. } = places.0[index];
    member.taken_over_from = taken_over_from;
    if let Some((lost, from)) = takes_over {
        (member.takes_over, member.from_second) = (Some(places.name_of(lost)), from);
    }
    for (at, report) in one.reports {
        match member.take(at, report, now) {
            Taken::Nothing => {}
            // Others have made it.
            Taken::Second { snapshot, .. } if taken_over_from.is_some_and(|from| from <= snapshot.second) => {
            }
            Taken::Second { snapshot, .. } => {
                *last = (*last).max(Nanos::from_secs(snapshot.second + 1));
                let names = RequestNames { plan, found };
                collector.take(interval(names, &windows, index, *snapshot).map_err(not_kept)?);
            }
            Taken::Ended { ended, is_early, .. } => {
                *last = (*last).max(ended);
                places.0[index].has_ended = !is_early;
            }
        }
    }
    let has_ended = places.0[index].has_ended;
    if !has_ended {
        member.lose(*last, "what it kept ends there");
    }
    collector.end(index as u32, !has_ended);
    Ok(member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::joined;
    use crate::kind::PLANS;
    use prony_load::read_plan;
    use prony_model::measurement::snapshot::IntervalSnapshot;
    use prony_model::measurement::tally::{Tally, TallyShape};
    use prony_model::result::LabFigures;
    use prony_model::{Outcome, Record, WindowKind};
    use std::collections::BTreeMap;
    use std::ops::Range;
    use std::os::unix::fs::PermissionsExt as _;
    use tempfile::TempDir;

    static KINDS: Kinds = &[&PLANS];
    const SECONDS: u64 = 12;
    const COMPLETED: Option<RunState> = Some(RunState::Completed);

    /// Files of one run of six users, each of whom makes one request a second.
    struct Run {
        folder: TempDir,
        plan: Plan,
        bundle: Bundle,
    }

    /// A share by its number, of how many, and whether it was taken over.
    type Of = (u32, u32, bool);

    impl Run {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("größe.toml");
            let text = format!(
                "target = \"http://test\"\nusers = 6\nduration = \"{SECONDS}s\"\nrequests = [{{ path = \"/\" }}]\n"
            );
            fs::write(&path, text).unwrap();
            let (plan, bundle) = (read_plan(&path).unwrap(), Bundle::of_plan(&path).unwrap());
            Self { folder, plan, bundle }
        }

        fn keep(
            &self,
            name: &str,
            (number, parts, is_taken_over): Of,
            seconds: Range<u64>,
            ends: Option<RunState>,
        ) -> PathBuf {
            let share = RunShare::new(number, parts).unwrap();
            let header = KeptHeader {
                run: "r".to_owned(),
                share,
                name: name.to_owned(),
                is_taken_over,
                change: PlanChange::of(&self.plan),
                worker: Some(joined(name, &BTreeMap::new(), 1)),
                plan_hash: self.bundle.hash().to_owned(),
                plan: STANDARD.encode(self.bundle.bytes()),
                ..KeptHeader::default()
            };
            let mut writer = KeptWriter::create(self.folder.path(), &header).unwrap();
            let path = writer.path().to_owned();
            let ended = |state| Report::Ended {
                state,
                ended_ns: Nanos::from_secs(SECONDS).0,
                reason: String::new(),
                lab: LabFigures::default(),
                findings: Vec::new(),
                counted: None,
            };
            let seconds = seconds.map(|second| self.second(share, second));
            for (number, report) in (0..).zip(seconds.chain(ends.map(ended))) {
                let reply = Reply::Report { number, report: Box::new(report) };
                writer.write(&to_raw_value(&reply).unwrap()).unwrap();
            }
            path
        }

        fn second(&self, share: RunShare, second: u64) -> Report {
            let windows = self.plan.windows();
            let mut tally = Tally::new(&windows, TallyShape::of(&self.plan));
            for user in (0..6).filter(|user| share.users(*user, 1) == 1) {
                let scheduled = Nanos::from_secs(second).plus(Nanos::from_millis(u64::from(user)));
                let record = Record {
                    request: 0,
                    scheduled,
                    started: scheduled,
                    first_byte: None,
                    ended: scheduled.plus(Nanos::from_millis(3)),
                    outcome: Outcome::Success,
                    status: None,
                    bytes_sent: 1,
                    bytes_received: 1,
                };
                tally.record(&windows, &record);
            }
            let names = RequestNames { plan: &self.plan, found: None };
            Report::Second { snapshot: IntervalSnapshot::of(second, &tally, names), counted: None }
        }
    }

    /// Requests of each second, and how many shares it lacks.
    fn seconds(result: &ResultFile) -> Vec<(u64, u32)> {
        result.series.iter().map(|row| (row.successes, row.workers_missing)).collect()
    }

    fn whole(result: &ResultFile) -> u64 {
        result.window(WindowKind::Whole).unwrap().all.successes
    }

    /// `b` is lost and comes back for a while; both others take it over from second 4 on. Then `c` dies with what it has taken over,
    /// and `a` alone takes all of it over from second 9 on.
    fn respread(run: &Run) -> Vec<PathBuf> {
        let torn = run.keep("c", (2, 3, false), 0..7, None);
        let text = fs::read_to_string(&torn).unwrap();
        fs::write(&torn, format!("{text}{{\"report\":{{\"number\":7,\"rep")).unwrap();
        vec![
            run.keep("a for c for b", (4, 6, true), 9..SECONDS, COMPLETED),
            run.keep("c for b", (4, 6, true), 4..7, None),
            run.keep("a for c", (2, 3, true), 9..SECONDS, COMPLETED),
            // It was asked to take over, and another one was asked instead.
            run.keep("c for a", (0, 3, true), 0..0, None),
            torn,
            run.keep("a for b", (1, 6, true), 4..SECONDS, COMPLETED),
            run.keep("b", (1, 3, false), 0..6, Some(RunState::Stopped)),
            run.keep("a", (0, 3, false), 0..SECONDS, COMPLETED),
        ]
    }

    #[test]
    fn shares_that_were_taken_over_count_once_whatever_the_order_of_files() {
        let run = Run::new();
        let mut files = respread(&run);
        let expected: Vec<_> =
            (0..SECONDS).map(|second| if second == 7 || second == 8 { (3, 2) } else { (6, 0) }).collect();
        for _ in 0..files.len() {
            files.rotate_left(1);
            let result = merge(&files, KINDS).unwrap();
            assert_eq!(seconds(&result), expected);
            assert_eq!((whole(&result), result.state), (10 * 6 + 2 * 3, RunState::Completed));
            let of = |name: &str| result.workers.iter().find(|worker| worker.name == name).unwrap();
            assert_eq!(of("a for c for b").takes_over.as_deref(), Some("c for b"));
            assert_eq!((of("b").taken_over_from, of("c for b").taken_over_from), (Some(4), Some(9)));
            assert_eq!((of("a for c").from_second, result.workers.len()), (9, 7));
        }
    }

    /// Of two workers the one that is left takes over the very same share.
    #[test]
    fn one_alone_takes_over_a_whole_share() {
        let run = Run::new();
        let mut files = vec![
            run.keep("a", (0, 2, false), 0..SECONDS, COMPLETED),
            run.keep("a for b", (1, 2, true), 5..SECONDS, COMPLETED),
            run.keep("b", (1, 2, false), 0..8, None),
        ];
        let result = merge(&files, KINDS).unwrap();
        assert_eq!((seconds(&result), result.state), (vec![(6, 0); 12], RunState::Completed));
        files.push(files[1].clone());
        let twice = merge(&files, KINDS).unwrap_err().to_string();
        assert!(twice.ends_with("it is the share of worker `a for b`, which another file has"), "{twice}");
        let alone = merge(&files[1..2], KINDS).unwrap_err().to_string();
        assert!(alone.ends_with("name the files of the others too"), "{alone}");
        // Its machine is gone with what it had measured.
        let result = merge(&files[..2], KINDS).unwrap();
        let expected: Vec<_> = (0..SECONDS).map(|second| if second < 5 { (3, 1) } else { (6, 0) }).collect();
        assert_eq!(seconds(&result), expected);
        assert_eq!(result.workers[1].takes_over.as_deref(), Some("share 2 of 2"));
    }

    #[test]
    fn a_part_whose_taker_left_no_file_is_missing() {
        let run = Run::new();
        let files: Vec<_> = respread(&run).into_iter().skip(2).collect();
        let result = merge(&files, KINDS).unwrap();
        // Of the share of `b` one of two users, and in between that of `c`.
        let lacking = |second| match second {
            0..4 => (6, 0),
            7 | 8 => (3, 2),
            _ => (5, 1),
        };
        assert_eq!(seconds(&result), (0..SECONDS).map(lacking).collect::<Vec<_>>());
        assert_eq!(result.state, RunState::Stopped);
    }

    #[test]
    fn a_line_that_could_not_be_written_is_written_before_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept");
        let line = |number: u32| to_raw_value(&number).unwrap();
        let mut writer = KeptWriter::to(&path, File::create(&path).unwrap());
        writer.write(&line(1)).unwrap();
        // Nothing can be written to it, as where the disk is full.
        writer.file = File::open(&path).unwrap();
        assert!(writer.write(&line(2)).is_err() && writer.write(&line(3)).is_err());
        writer.file = File::options().append(true).open(&path).unwrap();
        writer.write(&line(4)).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n2\n3\n4\n");
    }

    /// Two workers of one machine, or of one folder that machines share.
    #[test]
    fn each_name_has_a_file_of_its_own_that_nobody_else_reads() {
        let run = Run::new();
        let long = "größe".repeat(99);
        let names = ["a b", "a/b", "a_b", "..", &long];
        let files = names.map(|name| run.keep(name, (0, 1, false), 0..1, COMPLETED));
        for (name, path) in names.iter().zip(&files) {
            assert_eq!(Kept::read(path).unwrap().header.name, *name);
            assert_eq!(path.parent(), Some(run.folder.path()), "{name}");
            assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o077, 0, "{name}");
        }
        let ends = ["r-a_b.worker.jsonl", "r-a_b-2.worker.jsonl", "r-a_b-3.worker.jsonl"];
        assert!(files.iter().zip(ends).all(|(path, end)| path.ends_with(end)), "{files:?}");
    }

    #[test]
    fn a_share_of_another_number_of_workers_is_refused() {
        let run = Run::new();
        let files =
            [run.keep("a", (0, 3, false), 0..1, COMPLETED), run.keep("ß", (1, 6, false), 0..1, COMPLETED)];
        let refused = merge(&files, KINDS).unwrap_err().to_string();
        assert!(refused.ends_with("its share is one of 6, and that of others one of 3"), "{refused}");
    }
}
