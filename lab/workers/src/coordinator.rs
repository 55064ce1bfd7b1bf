//! Shares a run out over workers: finds them, hands each the plan and its share, compares clocks, and has all begin at one instant.

use crate::bundle::Bundle;
use crate::clock::{Exchange, difference};
use crate::error::WorkersError;
use crate::figures::fresh_id;
use crate::link::{Link, LinkEvent, NatsSettings};
use crate::message::{
    Assignment, BEAT, CONTACT_MAX, Joined, OFFERS, Order, PROTOCOL, Reply, Said, WORKERS_MAX, run_subject,
    worker_subject,
};
use crate::roster::{Member, Stage};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::program::{RunShare, StopFlag};
use prony_model::{Nanos, Plan};
use std::fmt;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The run is offered again so often, for workers that come later.
const OFFER_EVERY: Duration = Duration::from_millis(500);
/// Until all workers have fetched the plan and made their programs.
const READY_PATIENCE: Duration = Duration::from_secs(120);
/// Of a plan, in one message; in base64 it is a third more.
const PIECE_BYTES: usize = 160 * 1024;
/// Messages there and back by which a clock is compared; the fastest counts.
const PROBES: u32 = 16;
const PROBE_PATIENCE: Duration = Duration::from_millis(500);
/// From when the start is told until it comes: far longer than a message takes.
const START_LEAD: Duration = Duration::from_millis(500);

/// What becomes of a run that loses a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnWorkerLost {
    /// It goes on; the worker's share is missing from then on, which each second says.
    #[default]
    Continue,
    /// It ends, and what was measured is kept.
    End,
}

/// How a run is shared out.
pub struct CoordinatorSettings {
    pub nats: NatsSettings,
    pub workers: u32,
    /// How long workers are waited for.
    pub wait: Duration,
    pub on_lost: OnWorkerLost,
    /// Is told what happens to workers, in sentences.
    pub tell: Box<dyn FnMut(&str)>,
}

impl fmt::Debug for CoordinatorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoordinatorSettings")
            .field("nats", &self.nats)
            .field("workers", &self.workers)
            .finish_non_exhaustive()
    }
}

/// What cannot be shared out.
pub(crate) fn check(plan: &Plan, workers: u32) -> Result<(), WorkersError> {
    if workers == 0 || workers > WORKERS_MAX {
        return Err(WorkersError::Count(workers));
    }
    if !plan.subscriptions().is_empty() {
        return Err(WorkersError::Subscriptions);
    }
    let users = plan.users();
    if users < workers { Err(WorkersError::TooFewUsers { workers, users }) } else { Ok(()) }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The coordinator's side of one run.
pub(crate) struct Coordinator {
    pub(crate) settings: CoordinatorSettings,
    run: String,
    link: Link,
    events: Receiver<LinkEvent>,
    /// Monotonic times are counted from here.
    base: Instant,
    /// Since when the server is reached; nothing where it is not.
    pub(crate) reached_since: Option<Instant>,
    pub(crate) members: Vec<Member>,
    /// The last sign of life that it gave.
    beat: Instant,
    pub(crate) stop: StopFlag,
}

impl Coordinator {
    pub(crate) fn open(settings: CoordinatorSettings, stop: StopFlag) -> Result<Self, WorkersError> {
        let run = fresh_id();
        let (sender, events) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let link = Link::open(&settings.nats, vec![run_subject(&run)], deliver)?;
        let base = Instant::now();
        let members = Vec::new();
        Ok(Self { settings, run, link, events, base, reached_since: Some(base), members, beat: base, stop })
    }

    // ---- messages

    pub(crate) fn tell(&mut self, text: &str) {
        (self.settings.tell)(text);
    }

    pub(crate) fn send(&self, member: usize, order: &Order) {
        self.link.send(&worker_subject(&self.members[member].id), order);
    }

    pub(crate) fn tell_all(&self, order: &Order) {
        (0..self.members.len()).for_each(|member| self.send(member, order));
    }

    /// What a worker says next, if one does in time. Messages that are none are passed over. Workers hear meanwhile that there is
    /// somebody.
    pub(crate) fn next(&mut self, wait: Duration) -> Option<Said> {
        if self.beat.elapsed() >= BEAT {
            self.beat = Instant::now();
            self.acknowledge_all();
        }
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left).ok()? {
                LinkEvent::Connected => {
                    if self.reached_since.is_none() {
                        self.reached_since = Some(Instant::now());
                        self.tell("the NATS server is reached again");
                    }
                }
                LinkEvent::Disconnected => {
                    if self.reached_since.take().is_some() {
                        self.tell("the NATS server is not reached; workers go on, and what they measure comes later");
                    }
                }
                LinkEvent::Message(bytes) => {
                    if let Ok(said) = serde_json::from_slice(&bytes) {
                        return Some(said);
                    }
                }
            }
        }
    }

    pub(crate) fn member(&self, id: &str) -> Option<usize> {
        self.members.iter().position(|member| member.id == id)
    }

    // ---- before the start

    /// Gives each worker its share, and agrees on the start.
    pub(crate) fn prepare(&mut self, plan: &Plan, bundle: &Bundle) -> Result<Instant, WorkersError> {
        self.assign(plan, bundle);
        self.wait_until_ready(bundle)?;
        self.compare_clocks()?;
        Ok(self.start())
    }

    /// Finds workers.
    pub(crate) fn recruit(&mut self) -> Result<(), WorkersError> {
        let begin = Instant::now();
        let wanted = self.settings.workers;
        self.tell(&format!("waiting for {wanted} workers"));
        let mut offered: Option<Instant> = None;
        while (self.members.len() as u32) < wanted {
            self.check_stop()?;
            if begin.elapsed() > self.settings.wait {
                return Err(self.too_few());
            }
            if offered.is_none_or(|offered| offered.elapsed() > OFFER_EVERY) {
                let prony_version = env!("CARGO_PKG_VERSION").to_owned();
                self.link
                    .send(OFFERS, &Order::Offer { run: self.run.clone(), protocol: PROTOCOL, prony_version });
                offered = Some(Instant::now());
            }
            if let Some(Said { id, what: Reply::Join(joined) }) = self.next(Duration::from_millis(100)) {
                self.admit(id, *joined);
            }
        }
        Ok(())
    }

    fn admit(&mut self, id: String, joined: Joined) {
        let own = env!("CARGO_PKG_VERSION");
        if joined.prony_version != own || joined.protocol != PROTOCOL {
            let (name, version) = (&joined.name, &joined.prony_version);
            let text = format!("worker `{name}` has version {version}, and this is {own}: it is not taken");
            return self.tell(&text);
        }
        let number = self.members.len() as u32;
        let Some(share) = RunShare::new(number, self.settings.workers).filter(|_| self.member(&id).is_none())
        else {
            return;
        };
        let mut name = joined.name.clone();
        let mut copy = 1;
        while self.members.iter().any(|member| member.name == name) {
            copy += 1;
            name = format!("{}-{copy}", joined.name);
        }
        let (host, processors) = (&joined.machine.host_name, joined.machine.processors);
        let text = format!("worker `{name}` on {host}, {processors} processors");
        self.tell(&text);
        self.members.push(Member::new(id, name, joined, share, Instant::now()));
    }

    fn too_few(&self) -> WorkersError {
        let names: Vec<_> = self.members.iter().map(|member| member.name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        WorkersError::TooFew {
            joined: self.members.len(),
            wanted: self.settings.workers,
            seconds: self.settings.wait.as_secs(),
            names,
            url: self.settings.nats.shown(),
        }
    }

    fn check_stop(&self) -> Result<(), WorkersError> {
        if self.stop.is_stopped() { Err(WorkersError::Stopped) } else { Ok(()) }
    }

    fn assign(&self, plan: &Plan, bundle: &Bundle) {
        for (index, member) in self.members.iter().enumerate() {
            let assignment = Assignment {
                run: self.run.clone(),
                share: member.share,
                name: member.name.clone(),
                seed: plan.seed(),
                plan_bytes: bundle.bytes().len() as u64,
                plan_hash: bundle.hash(),
            };
            self.send(index, &Order::Assign(Box::new(assignment)));
        }
    }

    /// Serves the plan in pieces until all have made their programs.
    fn wait_until_ready(&mut self, bundle: &Bundle) -> Result<(), WorkersError> {
        let begin = Instant::now();
        while let Some(waited_for) = self.members.iter().find(|member| member.stage == Stage::Preparing) {
            let (name, seconds) = (waited_for.name.clone(), READY_PATIENCE.as_secs());
            self.check_stop()?;
            if begin.elapsed() > READY_PATIENCE {
                return Err(WorkersError::NotReady { name, seconds });
            }
            let Some(said) = self.next(Duration::from_millis(100)) else { continue };
            let Some(index) = self.member(&said.id) else { continue };
            self.members[index].hear(Instant::now());
            match said.what {
                Reply::Want { offset } => self.send(index, &piece(bundle, offset)),
                Reply::Ready => self.members[index].stage = Stage::Ready,
                Reply::Failed { message } => {
                    let name = self.members[index].name.clone();
                    return Err(WorkersError::Worker { name, message });
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn now_ns(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// One after the other, so that no answer waits behind another.
    fn compare_clocks(&mut self) -> Result<(), WorkersError> {
        for index in 0..self.members.len() {
            let mut exchanges = Vec::new();
            for number in 0..PROBES {
                let (sent_ns, sent_wall) = (self.now_ns(), wall_ns());
                self.send(index, &Order::Probe { number });
                exchanges.extend(self.exchange(index, number, sent_ns, sent_wall));
            }
            let Some(difference) = difference(&exchanges) else {
                let name = self.members[index].name.clone();
                let message = "it did not say what its clock shows".to_owned();
                return Err(WorkersError::Worker { name, message });
            };
            self.members[index].clock = Some(difference);
        }
        Ok(())
    }

    fn exchange(&mut self, index: usize, probe: u32, sent_ns: u64, sent_wall: i64) -> Option<Exchange> {
        let until = Instant::now() + PROBE_PATIENCE;
        loop {
            let said = self.next(until.saturating_duration_since(Instant::now()))?;
            let (back_ns, back_wall) = (self.now_ns(), wall_ns());
            let sender = self.member(&said.id)?;
            self.members[sender].hear(Instant::now());
            match said.what {
                Reply::Clocks { number, monotonic_ns, wall_ns } if (sender, number) == (index, probe) => {
                    return Some(Exchange {
                        sent_ns,
                        back_ns,
                        wall_ns: sent_wall + (back_wall - sent_wall) / 2,
                        other_monotonic_ns: monotonic_ns,
                        other_wall_ns: wall_ns,
                    });
                }
                _ => {}
            }
        }
    }

    /// Tells each worker the start by its own clock.
    fn start(&mut self) -> Instant {
        let start = Instant::now() + START_LEAD;
        let at_ns = start.saturating_duration_since(self.base).as_nanos() as u64;
        for index in 0..self.members.len() {
            let ahead = self.members[index].clock.map_or(0, |clock| clock.monotonic_ns);
            self.send(index, &Order::Start { at_ns: at_ns.saturating_add_signed(ahead) });
            self.members[index].start(start);
        }
        start
    }

    // ---- while it goes

    /// Signs of life, and of what has come.
    pub(crate) fn acknowledge_all(&self) {
        for (index, member) in self.members.iter().enumerate() {
            self.send(index, &Order::Acknowledge { up_to: member.acknowledged() });
        }
    }
}

pub(crate) fn elapsed_since(start: Instant) -> Nanos {
    Nanos(Instant::now().saturating_duration_since(start).as_nanos() as u64)
}

/// The plan from there on, as much as goes into one message.
fn piece(bundle: &Bundle, offset: u64) -> Order {
    let bytes = bundle.bytes();
    let from = bytes.len().min(usize::try_from(offset).unwrap_or(usize::MAX));
    let to = bytes.len().min(from + PIECE_BYTES);
    Order::Piece { offset, bytes: STANDARD.encode(&bytes[from..to]) }
}

pub(crate) fn wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Said of a worker that was lost without a word.
pub(crate) fn silent_for() -> String {
    format!("nothing was heard of it for {} s", CONTACT_MAX.as_secs())
}
