//! A worker's part in one run: the plan comes in pieces, its share is made ready and run, reports go out until they have come.

use super::outbox::Outbox;
use super::share::{RunningShare, ShareEnd, ShareEvent, ShareSettings};
use crate::bundle::Bundle;
use crate::error::WorkersError;
use crate::kept::KeptHeader;
use crate::kind::{Kinds, find};
use crate::link::Link;
use crate::message::{Assignment, BEAT, CONTACT_MAX, Joined, Reply, Report, Said, run_subject};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::verdict::finding::{Finding, FindingKind};
use serde_json::Value;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// A piece that has not come is asked for again.
const PIECE_PATIENCE: Duration = Duration::from_secs(2);
/// After its end, reports that do not come are tried for so long; they stay in the file.
const HAND_OVER_PATIENCE: Duration = Duration::from_secs(60);
/// The same of a worker that is to end itself.
const LEAVE_PATIENCE: Duration = Duration::from_secs(3);
/// What a worker finds of itself; everything else is found in the merged figures.
const OWN_FINDINGS: [FindingKind; 5] = [
    FindingKind::GeneratorBound,
    FindingKind::PortsExhausted,
    FindingKind::TargetSharesCpu,
    FindingKind::UsersCompute,
    FindingKind::Clock,
];

#[derive(Debug)]
pub(super) struct Job {
    assignment: Assignment,
    joined: Joined,
    id: String,
    /// The last sign of the coordinator.
    heard: Instant,
    beat: Instant,
    plan: Vec<u8>,
    asked: Instant,
    running: Option<Running>,
    /// Why it ends early.
    reason: String,
    ended: Option<Instant>,
}

#[derive(Debug)]
struct Running {
    share: RunningShare,
    outbox: Outbox,
    _folder: TempDir,
}

/// What became of a job while time passed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    GoesOn,
    /// Its load is stopped.
    LostContact,
    /// Nobody takes what it has measured.
    GivenUp,
}

impl Job {
    pub(super) fn new(assignment: Assignment, joined: Joined, id: String) -> Self {
        let now = Instant::now();
        let (plan, running, ended) = (Vec::new(), None, None);
        Self {
            assignment,
            joined,
            id,
            heard: now,
            beat: now,
            plan,
            asked: now,
            running,
            reason: String::new(),
            ended,
        }
    }

    pub(super) fn run(&self) -> &str {
        &self.assignment.run
    }

    pub(super) fn hear(&mut self, now: Instant) {
        self.heard = now;
    }

    fn reply(&self, link: &Link, what: Reply) {
        link.send(&run_subject(self.run()), &Said { id: self.id.clone(), what });
    }

    /// Asks for the next piece of the plan.
    pub(super) fn ask(&self, link: &Link) {
        self.reply(link, Reply::Want { offset: self.plan.len() as u64 });
    }

    /// Takes a piece; with the last one the share is made ready.
    pub(super) fn piece(
        &mut self,
        offset: u64,
        bytes: &str,
        link: &Link,
        (threads, kinds): (NonZeroUsize, Kinds),
        output: &Path,
        tell: impl Fn(ShareEvent) + Clone + Send + 'static,
    ) -> Result<(), WorkersError> {
        if self.running.is_some() || offset != self.plan.len() as u64 {
            return Ok(());
        }
        let piece = STANDARD.decode(bytes).map_err(|error| WorkersError::Unpack(error.to_string()))?;
        self.plan.extend_from_slice(&piece);
        if (self.plan.len() as u64) < self.assignment.plan_bytes {
            self.asked = Instant::now();
            self.ask(link);
            return Ok(());
        }
        let bundle = Bundle::of_bytes(std::mem::take(&mut self.plan), &self.assignment.plan_hash)?;
        let folder = tempfile::tempdir().map_err(|error| WorkersError::Unpack(error.to_string()))?;
        let (kind, of_kind) = bundle.unpack(folder.path())?;
        let Assignment { run, name, seed, share, .. } = &self.assignment;
        let path = output.join(format!("{run}-{}.worker.jsonl", file_name(name)));
        let outbox = Outbox::open(&self.id, &path, &self.header(&bundle))?;
        let settings = ShareSettings {
            kind: find(kinds, &kind)?,
            folder: folder.path().to_owned(),
            settings: of_kind,
            share: *share,
            seed: *seed,
            threads,
        };
        let share = RunningShare::begin(settings, tell)?;
        self.running = Some(Running { share, outbox, _folder: folder });
        Ok(())
    }

    fn header(&self, bundle: &Bundle) -> KeptHeader {
        let Assignment { run, share, name, seed, plan_hash, .. } = &self.assignment;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        KeptHeader {
            run: run.clone(),
            share: *share,
            name: name.clone(),
            seed: *seed,
            started_at_unix_ms: since.as_millis() as u64,
            worker: Some(self.joined.clone()),
            plan_hash: plan_hash.clone(),
            plan: STANDARD.encode(bundle.bytes()),
            ..KeptHeader::default()
        }
    }

    pub(super) fn start(&mut self, at: Instant) {
        if let Some(running) = &mut self.running {
            running.share.start(at);
        }
    }

    /// Ends the load; what was measured is reported. The first reason counts.
    pub(super) fn stop(&mut self, reason: &str) {
        if self.reason.is_empty() && self.ended.is_none() {
            reason.clone_into(&mut self.reason);
        }
        if let Some(running) = &mut self.running {
            running.share.stop();
        }
    }

    // ---- reports

    pub(super) fn second(
        &mut self,
        snapshot: IntervalSnapshot,
        counted: Option<Value>,
        link: &Link,
    ) -> Result<(), WorkersError> {
        self.report(Report::Second { snapshot, counted }, link)
    }

    pub(super) fn done(&mut self, end: ShareEnd, link: &Link) -> Result<(), WorkersError> {
        self.ended = Some(Instant::now());
        let ShareEnd { result, counted } = end;
        let ended = result.windows.last().map_or(0, |whole| whole.window.to_ns.0);
        let is_own = |finding: &Finding| OWN_FINDINGS.contains(&finding.kind);
        let report = Report::Ended {
            state: result.state,
            ended_ns: ended,
            reason: self.reason.clone(),
            lab: result.lab,
            findings: result.findings.into_iter().filter(is_own).collect(),
            counted,
        };
        self.report(report, link)
    }

    fn report(&mut self, report: Report, link: &Link) -> Result<(), WorkersError> {
        let subject = run_subject(self.run());
        let Some(running) = &mut self.running else { return Ok(()) };
        let written = running.outbox.push(report);
        let (message, kept) = match written {
            Ok(message) => (Some(message), Ok(())),
            // It was numbered all the same, and is sent again with the others.
            Err(error) => (None, Err(error)),
        };
        if let Some(message) = message {
            link.send_bytes(&subject, message);
        }
        kept
    }

    pub(super) fn acknowledge(&mut self, up_to: u64) {
        if let Some(running) = &mut self.running {
            running.outbox.acknowledge(up_to);
        }
    }

    pub(super) fn resend(&mut self, link: &Link) {
        let subject = run_subject(self.run());
        let Some(running) = &mut self.running else { return };
        for message in running.outbox.again(Instant::now()) {
            link.send_bytes(&subject, message);
        }
    }

    // ---- time

    /// `is_leaving`: the worker ends itself as soon as it can.
    pub(super) fn tick(&mut self, link: &Link, is_leaving: bool) -> Progress {
        let now = Instant::now();
        if now.saturating_duration_since(self.beat) >= BEAT {
            self.beat = now;
            self.reply(link, Reply::Beat);
        }
        let silence = now.saturating_duration_since(self.heard);
        let Some(running) = &mut self.running else {
            return self.tick_fetching(link, now, silence, is_leaving);
        };
        let due = running.outbox.due(now);
        let is_handed_over = running.outbox.is_empty();
        let subject = run_subject(&self.assignment.run);
        for message in due {
            link.send_bytes(&subject, message);
        }
        if let Some(ended) = self.ended {
            let waited = now.saturating_duration_since(ended);
            let patience = if is_leaving { LEAVE_PATIENCE } else { HAND_OVER_PATIENCE };
            let is_given_up = silence > patience || is_leaving && (is_handed_over || waited > patience);
            return if is_given_up { Progress::GivenUp } else { Progress::GoesOn };
        }
        if silence > CONTACT_MAX && self.reason.is_empty() {
            self.stop(&format!("it heard nothing of the coordinator for {} s", CONTACT_MAX.as_secs()));
            return Progress::LostContact;
        }
        Progress::GoesOn
    }

    fn tick_fetching(&mut self, link: &Link, now: Instant, silence: Duration, is_leaving: bool) -> Progress {
        if is_leaving || silence > CONTACT_MAX {
            return Progress::GivenUp;
        }
        if now.saturating_duration_since(self.asked) > PIECE_PATIENCE {
            self.asked = now;
            self.ask(link);
        }
        Progress::GoesOn
    }

    /// Nothing more is expected; returns the file where something has not been handed over.
    pub(super) fn leave(self) -> Option<PathBuf> {
        let Running { share, outbox, .. } = self.running?;
        drop(share);
        if self.ended.is_some() && outbox.is_empty() {
            outbox.forget();
            return None;
        }
        Some(outbox.path().to_owned())
    }
}

/// What every file system takes of a name.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect()
}
