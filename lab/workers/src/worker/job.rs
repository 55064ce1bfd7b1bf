//! One share of a worker's: the plan comes in pieces, the share is made ready and run, reports go out until they have come.

use super::outbox::{Address, Outbox};
use super::share::{RunningShare, ShareEnd, ShareEvent, ShareSettings};
use crate::bundle::Bundle;
use crate::error::WorkersError;
use crate::folder::private_folder;
use crate::kept::KeptHeader;
use crate::kind::{Kinds, find};
use crate::link::Link;
use crate::message::{
    Assignment, CONTACT_MAX, HAND_OVER_PATIENCE, Joined, Reply, Report, Said, coordinator_subject,
};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_load::{RunStart, SharedRows};
use prony_model::verdict::finding::{Finding, FindingKind};
use serde_json::value::{RawValue, to_raw_value};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// A piece that has not come is asked for again.
const PIECE_PATIENCE: Duration = Duration::from_secs(2);
/// As [`HAND_OVER_PATIENCE`], of a worker that is to end itself.
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
    address: Address,
    joined: Joined,
    plan: Vec<u8>,
    asked: Instant,
    running: Option<Running>,
    /// All its programs are made.
    is_ready: bool,
    /// Why it ends early.
    reason: String,
    ended: Option<Instant>,
}

/// What a share is made ready with.
#[derive(Debug)]
pub(super) struct Means<'a> {
    pub(super) threads: NonZeroUsize,
    pub(super) kinds: Kinds,
    pub(super) output: &'a Path,
    /// Of the run.
    pub(super) rows: SharedRows,
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
    pub(super) fn new(assignment: Assignment, address: Address, joined: Joined) -> Self {
        let (plan, running, is_ready, ended) = (Vec::new(), None, false, None);
        Self {
            assignment,
            address,
            joined,
            plan,
            asked: Instant::now(),
            running,
            is_ready,
            reason: String::new(),
            ended,
        }
    }

    pub(super) const fn part(&self) -> u32 {
        self.address.part
    }

    pub(super) const fn ready(&mut self) {
        self.is_ready = true;
    }

    pub(super) const fn is_ready(&self) -> bool {
        self.is_ready
    }

    fn subject(&self) -> String {
        coordinator_subject(&self.address.coordinator)
    }

    fn reply(&self, link: &Link, what: Reply) {
        let Address { id, part, .. } = &self.address;
        link.send(&self.subject(), &Said { id: id.clone(), part: *part, what });
    }

    /// Asks for the next piece of the plan.
    pub(super) fn ask(&self, link: &Link) {
        self.reply(link, Reply::Want { offset: self.plan.len() as u64 });
    }

    /// The plan, where it came with an earlier share.
    pub(super) fn is_plan_of(&self, bundle: &Bundle) -> bool {
        bundle.hash() == self.assignment.plan_hash
    }

    /// Takes a piece; returns the plan once it is whole.
    pub(super) fn piece(
        &mut self,
        offset: u64,
        bytes: &str,
        link: &Link,
    ) -> Result<Option<Bundle>, WorkersError> {
        if self.running.is_some() || offset != self.plan.len() as u64 {
            return Ok(None);
        }
        let piece = STANDARD.decode(bytes).map_err(|error| WorkersError::Unpack(error.to_string()))?;
        self.plan.extend_from_slice(&piece);
        if (self.plan.len() as u64) < self.assignment.plan_bytes {
            self.asked = Instant::now();
            self.ask(link);
            return Ok(None);
        }
        Bundle::of_bytes(std::mem::take(&mut self.plan), &self.assignment.plan_hash).map(Some)
    }

    /// Makes the share ready on a thread of its own.
    pub(super) fn prepare(
        &mut self,
        bundle: &Bundle,
        means: &Means<'_>,
        tell: impl Fn(ShareEvent) + Clone + Send + 'static,
    ) -> Result<(), WorkersError> {
        let folder = private_folder().map_err(|error| WorkersError::Unpack(error.to_string()))?;
        let (kind, of_kind) = bundle.unpack(folder.path())?;
        let Assignment { change, share, .. } = &self.assignment;
        let outbox = Outbox::open(&self.address, means.output, &self.header(bundle))?;
        let settings = ShareSettings {
            kind: find(means.kinds, &kind)?,
            folder: folder.path().to_owned(),
            settings: of_kind,
            share: *share,
            change: change.clone(),
            threads: means.threads,
            rows: means.rows.clone(),
        };
        let share = RunningShare::begin(settings, tell)?;
        self.running = Some(Running { share, outbox, _folder: folder });
        Ok(())
    }

    fn header(&self, bundle: &Bundle) -> KeptHeader {
        let Assignment { run, share, name, change, is_taken_over, plan_hash, .. } = &self.assignment;
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        KeptHeader {
            run: run.clone(),
            share: *share,
            name: name.clone(),
            is_taken_over: *is_taken_over,
            change: change.clone(),
            started_at_unix_ms: since.as_millis() as u64,
            worker: Some(self.joined.clone()),
            plan_hash: plan_hash.clone(),
            plan: STANDARD.encode(bundle.bytes()),
            ..KeptHeader::default()
        }
    }

    pub(super) fn start(&mut self, at: RunStart) {
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

    // ---- reports; `link`: nothing while the server is not reached

    pub(super) fn done(&mut self, end: ShareEnd, link: Option<&Link>) -> Result<(), WorkersError> {
        self.ended = Some(Instant::now());
        let ShareEnd { result, counted } = end;
        let ended = result.windows.last().map_or(0, |whole| whole.window.to_ns.0);
        let is_own = |finding: &Finding| OWN_FINDINGS.contains(&finding.kind);
        let report: Report = Report::Ended {
            state: result.state,
            ended_ns: ended,
            reason: self.reason.clone(),
            lab: result.lab,
            findings: result.findings.into_iter().filter(is_own).collect(),
            counted,
        };
        self.report(&to_raw_value(&report).expect("reports can be written"), link)
    }

    /// Hands over a report, as JSON.
    pub(super) fn report(&mut self, report: &RawValue, link: Option<&Link>) -> Result<(), WorkersError> {
        let subject = self.subject();
        let Some(running) = &mut self.running else { return Ok(()) };
        let (message, kept) = running.outbox.push(report);
        if let Some(link) = link {
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
        let subject = self.subject();
        let Some(running) = &mut self.running else { return };
        for message in running.outbox.again(Instant::now()) {
            link.send_bytes(&subject, message);
        }
    }

    // ---- time

    /// `silence`: for how long nothing was heard of the coordinator; `is_leaving`: the worker ends itself as soon as it can.
    pub(super) fn tick(&mut self, link: Option<&Link>, silence: Duration, is_leaving: bool) -> Progress {
        let (now, subject) = (Instant::now(), self.subject());
        let Some(running) = &mut self.running else {
            return self.tick_fetching(link, now, silence, is_leaving);
        };
        let is_handed_over = running.outbox.is_empty();
        if let Some(link) = link {
            running.outbox.due(now).into_iter().for_each(|message| link.send_bytes(&subject, message));
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

    fn tick_fetching(
        &mut self,
        link: Option<&Link>,
        now: Instant,
        silence: Duration,
        is_leaving: bool,
    ) -> Progress {
        if is_leaving || silence > CONTACT_MAX {
            return Progress::GivenUp;
        }
        if let Some(link) = link
            && now.saturating_duration_since(self.asked) > PIECE_PATIENCE
        {
            self.asked = now;
            self.ask(link);
        }
        Progress::GoesOn
    }

    /// Nothing more is expected; returns the file where something has not been handed over, or where the coordinator may be gone with
    /// what it has taken: it has not said that the run is over.
    pub(super) fn leave(self, is_over: bool) -> Option<PathBuf> {
        let Running { share, outbox, .. } = self.running?;
        drop(share);
        let is_handed_over = self.ended.is_some() && outbox.is_empty();
        if outbox.is_unused() || is_over && is_handed_over {
            outbox.forget();
            return None;
        }
        Some(outbox.path().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::joined;
    use crate::kind::PLANS;
    use crate::link::{LinkEvent, NatsSettings};
    use prony_model::plan::PlanChange;
    use prony_model::program::RunShare;
    use prony_testkit::NatsServer;
    use std::collections::BTreeMap;
    use std::sync::mpsc;
    use std::{fs, thread};

    static KINDS: Kinds = &[&PLANS];

    /// Of a share that is prepared; what is kept is in the folder `kept`.
    fn job(folder: &Path) -> Job {
        let path = folder.join("größe.toml");
        let load = "users = 1\nduration = \"1s\"\nrequests = [{ path = \"/\" }]";
        fs::write(&path, format!("target = \"http://127.0.0.1:1\"\n{load}\n")).unwrap();
        let bundle = Bundle::of_plan(&path).unwrap();
        let assignment = Assignment {
            run: "r".to_owned(),
            share: RunShare::WHOLE,
            name: "ä".to_owned(),
            change: PlanChange::default(),
            is_taken_over: false,
            plan_bytes: bundle.bytes().len() as u64,
            plan_hash: bundle.hash().to_owned(),
        };
        let address = Address { coordinator: "c".to_owned(), id: "w".to_owned(), part: 1 };
        let output = folder.join("kept");
        let means =
            Means { threads: NonZeroUsize::MIN, kinds: KINDS, output: &output, rows: SharedRows::default() };
        let mut job = Job::new(assignment, address, joined("ä", &BTreeMap::new(), 1));
        job.prepare(&bundle, &means, |_| {}).unwrap();
        job
    }

    /// A run that could not begin, or whose share another worker took over in place of this one.
    #[test]
    fn a_share_that_measured_nothing_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let (job, output) = (job(folder.path()), folder.path().join("kept"));
        assert_eq!(fs::read_dir(&output).unwrap().count(), 1);
        assert_eq!(job.leave(false), None);
        assert_eq!(fs::read_dir(&output).unwrap().count(), 0);
    }

    /// Other shares went on when its own had ended, and then the coordinator died: what it had taken was gone.
    #[test]
    fn what_was_handed_over_is_kept_until_the_run_is_over() {
        for is_over in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let (mut job, output) = (job(folder.path()), folder.path().join("kept"));
            job.report(&to_raw_value("größe").unwrap(), None).unwrap();
            job.acknowledge(1);
            job.ended = Some(Instant::now());
            assert_eq!(job.leave(is_over).is_none(), is_over);
            assert_eq!(fs::read_dir(&output).unwrap().count(), usize::from(!is_over));
        }
    }

    /// It would come many times when the server is back, from each of hundreds of workers.
    #[test]
    fn what_is_measured_without_the_server_is_sent_once_when_it_is_back() {
        let (server, folder) = (NatsServer::start(), tempfile::tempdir().unwrap());
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let _coordinator = Link::open(&nats, vec![coordinator_subject("c")], deliver).unwrap();
        let link = Link::open(&nats, Vec::new(), |_| {}).unwrap();
        let mut job = job(folder.path());
        job.report(&to_raw_value("größe").unwrap(), None).unwrap();
        // So much later it would be sent again.
        thread::sleep(Duration::from_millis(2_500));
        assert_eq!(job.tick(None, Duration::ZERO, false), Progress::GoesOn);
        job.resend(&link);
        assert_eq!(job.tick(Some(&link), Duration::ZERO, false), Progress::GoesOn);
        drop(link);
        let mut messages = 0;
        while let Ok(event) = heard.recv_timeout(Duration::from_secs(1)) {
            messages += u32::from(matches!(event, LinkEvent::Message(_)));
        }
        assert_eq!(messages, 1);
    }
}
