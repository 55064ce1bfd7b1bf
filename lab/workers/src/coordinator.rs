//! Shares a run out over workers: hands each the plan and its share, compares clocks, and has all begin at one instant. Who they are
//! is [`crate::crew`]'s business.

use crate::bundle::Bundle;
use crate::clock::{Exchange, difference};
use crate::error::WorkersError;
use crate::figures::fresh_id;
use crate::link::{Link, LinkEvent, NatsSettings, refusal};
use crate::message::{
    Assignment, BEAT, CONTACT_MAX, Order, Reply, SILENCE, Said, Told, coordinator_subject, worker_subject,
};
use crate::roster::{Member, Recruit, Stage};
use crate::terms::Terms;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prony_model::Nanos;
use prony_model::plan::PlanChange;
use prony_model::program::{RunShare, StopFlag};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Until all workers have fetched the plan and made their programs.
const READY_PATIENCE: Duration = Duration::from_secs(120);
/// Of a plan, in one message; in base64 it is a third more.
const PIECE_BYTES: usize = 160 * 1024;
/// Messages there and back by which a clock is compared; the fastest counts.
const PROBES: u32 = 16;
const PROBE_PATIENCE: Duration = Duration::from_millis(500);
/// From when the start is told until it comes: far longer than a message takes.
const START_LEAD: Duration = Duration::from_millis(500);

/// How a run is shared out.
pub struct CoordinatorSettings {
    pub nats: NatsSettings,
    pub terms: Terms,
    /// How long workers are waited for.
    pub wait: Duration,
    /// Is told what happens to workers, in sentences.
    pub tell: Box<dyn FnMut(&str)>,
}

impl fmt::Debug for CoordinatorSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoordinatorSettings")
            .field("nats", &self.nats)
            .field("terms", &self.terms)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Coordinator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Coordinator").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The coordinator's side of one run, or of several one after the other.
pub(crate) struct Coordinator {
    pub(crate) settings: CoordinatorSettings,
    name: String,
    pub(crate) link: Link,
    events: Receiver<(Instant, LinkEvent)>,
    /// Monotonic times are counted from here.
    base: Instant,
    /// Since when the server is reached; nothing where it is not.
    pub(crate) reached_since: Option<Instant>,
    /// Since when the server is not reached.
    unreached_since: Option<Instant>,
    /// All that have joined.
    pub(crate) crew: Vec<Recruit>,
    /// Workers of other versions, by their ids: each is told of once.
    pub(crate) strangers: BTreeSet<String>,
    /// The shares of the present run.
    pub(crate) members: Vec<Member>,
    /// The present run is to end early, which its workers are told until they have.
    is_ending: bool,
    runs: u32,
    /// Of all shares of all runs.
    parts: u32,
    /// The last sign of life that it gave.
    beat: Instant,
    /// When it last looked for messages.
    looked: Instant,
    pub(crate) stop: StopFlag,
}

/// When a worker was asked what its clocks show, by the own ones.
#[derive(Debug, Clone, Copy, Default)]
struct Asked {
    monotonic_ns: u64,
    wall_ns: i64,
}

/// What all shares of a run have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Handing<'a> {
    pub(crate) bundle: &'a Bundle,
    pub(crate) change: &'a PlanChange,
}

/// Why a run could not begin.
pub(crate) enum NotBegun {
    /// A worker fell silent meanwhile: others may make its share.
    Silent(String),
    /// A worker had joined another coordinator before: the same holds.
    Engaged(String),
    Failed(WorkersError),
}

impl From<WorkersError> for NotBegun {
    fn from(error: WorkersError) -> Self {
        Self::Failed(error)
    }
}

impl Coordinator {
    pub(crate) fn open(settings: CoordinatorSettings, stop: StopFlag) -> Result<Self, WorkersError> {
        let name = fresh_id();
        let (sender, events) = mpsc::channel();
        let deliver = move |event| drop(sender.send((Instant::now(), event)));
        let link = Link::open(&settings.nats, vec![coordinator_subject(&name)], deliver)?;
        let base = Instant::now();
        Ok(Self {
            settings,
            name,
            link,
            events,
            base,
            reached_since: Some(base),
            unreached_since: None,
            crew: Vec::new(),
            strangers: BTreeSet::new(),
            members: Vec::new(),
            is_ending: false,
            runs: 0,
            parts: 0,
            beat: base,
            looked: base,
            stop,
        })
    }

    // ---- messages

    pub(crate) fn tell(&mut self, text: &str) {
        (self.settings.tell)(text);
    }

    /// An order as workers understand it.
    pub(crate) fn told(&self, part: u32, order: Order) -> Told {
        Told { coordinator: self.name.clone(), part, order }
    }

    /// To one of the present shares.
    pub(crate) fn send(&self, member: usize, order: Order) {
        let Member { id, part, .. } = &self.members[member];
        self.link.send(&worker_subject(id), &self.told(*part, order));
    }

    /// Ends the present run early. A worker may be cut off at this moment, so it is said again with each sign of life.
    pub(crate) fn end_run(&mut self) {
        self.is_ending = true;
        self.acknowledge_all();
    }

    /// To all that have joined.
    pub(crate) fn tell_crew(&self, order: &Order) {
        for Recruit { id, .. } in &self.crew {
            self.link.send(&worker_subject(id), &self.told(0, order.clone()));
        }
    }

    /// What a worker says next, if one does in time. Messages that are none are passed over. Workers hear meanwhile that there is
    /// somebody.
    pub(crate) fn next(&mut self, wait: Duration) -> Option<Said> {
        if self.beat.elapsed() >= BEAT {
            self.beat = Instant::now();
            self.tell_crew(&Order::Beat);
            self.acknowledge_all();
        }
        let said = self.receive(wait);
        self.notice_standstill(wait);
        said
    }

    fn receive(&mut self, wait: Duration) -> Option<Said> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let (at, event) = self.events.recv_timeout(left).ok()?;
            if let Some(said) = self.take(at, event) {
                return Some(said);
            }
        }
    }

    /// Where this process stood still (it was stopped, or got no processor), what workers said meanwhile is still on its way to it:
    /// that nothing was heard of them is not their silence.
    fn notice_standstill(&mut self, wait: Duration) {
        let now = Instant::now();
        let between = now.saturating_duration_since(self.looked);
        self.looked = now;
        if between > wait + SILENCE
            && let Some(since) = &mut self.reached_since
        {
            *since = now;
        }
    }

    fn take(&mut self, at: Instant, event: LinkEvent) -> Option<Said> {
        match event {
            LinkEvent::Connected => {
                if self.reached_since.is_none() {
                    (self.reached_since, self.unreached_since) = (Some(at), None);
                    self.tell("the NATS server is reached again");
                }
                None
            }
            LinkEvent::Disconnected => {
                if self.reached_since.take().is_some() {
                    self.unreached_since = Some(at);
                    self.tell(
                        "the NATS server is not reached; workers go on, and what they measure comes later",
                    );
                }
                None
            }
            LinkEvent::Refused(text) => {
                self.tell(&refusal(&text));
                None
            }
            LinkEvent::Message(bytes) => {
                let said: Said = serde_json::from_slice(&bytes).ok()?;
                for known in self.crew.iter_mut().filter(|known| known.id == said.id) {
                    (known.heard, known.is_missed) = (at, false);
                }
                let own = self.members.iter_mut().filter(|member| member.id == said.id);
                own.for_each(|member| member.hear(at));
                if matches!(said.what, Reply::Engaged) {
                    self.crew.retain(|known| known.id != said.id);
                }
                Some(said)
            }
        }
    }

    /// Reports of a run that is over come to nothing: a worker that was lost in it and came back keeps them in its file.
    pub(crate) fn dismiss(&self, Said { id, part, what }: &Said) {
        if matches!(what, Reply::Report { .. } | Reply::Want { .. }) {
            self.link.send(&worker_subject(id), &self.told(*part, Order::Leave));
        }
    }

    /// Whose share this is said of, where it is one of the present run.
    pub(crate) fn member(&self, said: &Said) -> Option<usize> {
        self.members.iter().position(|member| member.part == said.part && member.id == said.id)
    }

    // ---- before the start

    /// Gives each of these workers its share, and agrees on the start.
    pub(crate) fn prepare(&mut self, handing: Handing<'_>, workers: &[usize]) -> Result<Instant, NotBegun> {
        self.runs += 1;
        self.members.clear();
        self.is_ending = false;
        for (number, worker) in (0..).zip(workers) {
            let share = RunShare::new(number, workers.len() as u32).expect("its number is below theirs");
            let name = self.crew[*worker].name.clone();
            self.assign(handing, *worker, share, &name, false);
        }
        self.wait_until_ready(handing.bundle)?;
        self.compare_clocks()?;
        Ok(self.start())
    }

    /// Hands a worker a share; returns whose it is among the present ones.
    pub(crate) fn assign(
        &mut self,
        Handing { bundle, change }: Handing<'_>,
        worker: usize,
        share: RunShare,
        name: &str,
        is_taken_over: bool,
    ) -> usize {
        self.parts += 1;
        let assignment = Assignment {
            run: if self.runs == 1 { self.name.clone() } else { format!("{}-{}", self.name, self.runs) },
            share,
            name: name.to_owned(),
            change: change.clone(),
            is_taken_over,
            plan_bytes: bundle.bytes().len() as u64,
            plan_hash: bundle.hash().to_owned(),
        };
        let Recruit { id, joined, .. } = &self.crew[worker];
        let (name, now) = (name.to_owned(), Instant::now());
        self.members.push(Member::new((self.parts, id.clone()), name, joined.clone(), share, now));
        let member = self.members.len() - 1;
        self.members[member].assignment = Some(Box::new(assignment.clone()));
        self.send(member, Order::Assign(Box::new(assignment)));
        member
    }

    pub(crate) fn check_stop(&self) -> Result<(), WorkersError> {
        if self.stop.is_stopped() { Err(WorkersError::Stopped) } else { Ok(()) }
    }

    /// Serves the plan in pieces until all have made their programs.
    fn wait_until_ready(&mut self, bundle: &Bundle) -> Result<(), NotBegun> {
        let begin = Instant::now();
        while let Some(waited_for) = self.members.iter().find(|member| member.stage == Stage::Preparing) {
            let (name, seconds) = (waited_for.name.clone(), READY_PATIENCE.as_secs());
            self.check_stop()?;
            if begin.elapsed() > READY_PATIENCE {
                return Err(WorkersError::NotReady { name, seconds }.into());
            }
            let (now, reached) = (Instant::now(), self.reached_since);
            let is_silent =
                |member: &&Member| reached.is_some_and(|since| member.silence(now, since) > CONTACT_MAX);
            if let Some(silent) = self.members.iter().find(is_silent) {
                return Err(NotBegun::Silent(silent.name.clone()));
            }
            let Some(said) = self.next(Duration::from_millis(100)) else { continue };
            let Some(index) = self.member(&said) else {
                self.dismiss(&said);
                continue;
            };
            match said.what {
                Reply::Failed { message, cause } => {
                    let name = self.members[index].name.clone();
                    return Err(WorkersError::Worker { name, message, cause }.into());
                }
                Reply::Engaged => return Err(NotBegun::Engaged(self.members[index].name.clone())),
                what => self.prepare_further(bundle, index, &what),
            }
        }
        Ok(())
    }

    /// A share that is being prepared wants something, or is ready.
    pub(crate) fn prepare_further(&mut self, bundle: &Bundle, index: usize, what: &Reply) {
        match what {
            Reply::Want { offset } => self.send(index, piece(bundle, *offset)),
            Reply::Ready => self.members[index].stage = Stage::Ready,
            _ => {}
        }
    }

    /// For how long the server is not reached.
    pub(crate) fn unreached(&self) -> Duration {
        self.unreached_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn now_ns(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// All at once: one after the other takes minutes where many are far away.
    fn compare_clocks(&mut self) -> Result<(), NotBegun> {
        let mut asked = Vec::new();
        let mut exchanges = vec![Vec::new(); self.members.len()];
        for number in 0..PROBES {
            self.check_stop()?;
            asked.push(self.probe(number));
            self.hear_clocks(&asked, &mut exchanges);
        }
        for (index, exchanges) in exchanges.iter().enumerate() {
            let Some(difference) = difference(exchanges) else {
                return Err(NotBegun::Silent(self.members[index].name.clone()));
            };
            self.members[index].clock = Some(difference);
        }
        Ok(())
    }

    /// Asks all workers what their clocks show; returns by worker when it was asked.
    fn probe(&self, number: u32) -> Vec<Asked> {
        let mut asked = vec![Asked::default(); self.members.len()];
        for index in probe_order(number, self.members.len()) {
            asked[index] = Asked { monotonic_ns: self.now_ns(), wall_ns: wall_ns() };
            self.send(index, Order::Probe { number });
        }
        asked
    }

    /// Takes what workers say of their clocks until all have that were asked last, or some do not in time. `asked`: by probe and worker.
    fn hear_clocks(&mut self, asked: &[Vec<Asked>], exchanges: &mut [Vec<Exchange>]) {
        let until = Instant::now() + PROBE_PATIENCE;
        let mut awaited = exchanges.len();
        while awaited > 0 {
            let Some(said) = self.next(until.saturating_duration_since(Instant::now())) else { return };
            let Reply::Clocks { number, monotonic_ns, wall_ns } = said.what else { continue };
            let Some(index) = self.member(&said) else { continue };
            let Some(sent) = asked.get(number as usize).map(|asked| asked[index]) else { continue };
            // It was heard of by this message last, and that may have waited here for a while.
            let back = self.members[index].heard().saturating_duration_since(self.base);
            let back_ns = back.as_nanos() as u64;
            exchanges[index].push(Exchange {
                sent_ns: sent.monotonic_ns,
                back_ns,
                wall_ns: sent.wall_ns + (back_ns.saturating_sub(sent.monotonic_ns) / 2).cast_signed(),
                other_monotonic_ns: monotonic_ns,
                other_wall_ns: wall_ns,
            });
            // One that was asked earlier and took longer counts as well.
            awaited -= usize::from(number as usize + 1 == asked.len());
        }
    }

    /// Tells each worker the start by its own clock.
    fn start(&mut self) -> Instant {
        let start = Instant::now() + START_LEAD;
        (0..self.members.len()).for_each(|index| self.start_one(index, start, Nanos::ZERO));
        start
    }

    /// Tells the worker of a share when the run begins or has begun, and when its share does.
    pub(crate) fn start_one(&mut self, index: usize, start: Instant, from: Nanos) {
        let at_ns = start.saturating_duration_since(self.base).as_nanos() as u64;
        let ahead = self.members[index].clock.map_or(0, |clock| clock.monotonic_ns);
        let at_ns = at_ns.saturating_add_signed(ahead);
        self.members[index].told_start = Some((at_ns, from));
        self.members[index].start(start + Duration::from_nanos(from.0));
        self.send(index, Order::Start { at_ns, from_ns: from });
    }

    // ---- while it goes

    /// Signs of life, and of what has come; with them goes what somebody may not have heard.
    pub(crate) fn acknowledge_all(&self) {
        for (index, member) in self.members.iter().enumerate() {
            self.send(index, Order::Acknowledge { up_to: member.acknowledged() });
            match (member.told_share(), member.told_start) {
                _ if member.stage == Stage::Ended => {}
                _ if self.is_ending => self.send(index, Order::Stop),
                (Some(assignment), _) => self.send(index, Order::Assign(Box::new(assignment.clone()))),
                (None, Some((at_ns, from_ns))) if !member.is_lost() => {
                    self.send(index, Order::Start { at_ns, from_ns });
                }
                _ => {}
            }
        }
    }
}

pub(crate) fn elapsed_since(start: Instant) -> Nanos {
    Nanos(Instant::now().saturating_duration_since(start).as_nanos() as u64)
}

/// In which order so many workers are asked: each time others are the first, so that each is asked some time while few wait before it.
fn probe_order(number: u32, workers: usize) -> impl Iterator<Item = usize> {
    let first = number as usize * workers / PROBES as usize;
    (first..workers).chain(0..first)
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

/// Said of workers from which nothing more can come.
pub(crate) fn unreached_for(unreached: Duration) -> String {
    format!("the NATS server was not reached for {} s", unreached.as_secs())
}

/// Said of a worker that was lost without a word.
pub(crate) fn silent_for() -> String {
    format!("nothing was heard of it for {} s", CONTACT_MAX.as_secs())
}

/// The same of one that speaks and reports nothing of what it measures.
pub(crate) fn hangs_for() -> String {
    format!("it reported nothing for {} s", CONTACT_MAX.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::joined;
    use crate::terms::{OnWorkerLost, UserState};
    use prony_testkit::NatsServer;
    use std::collections::BTreeMap;
    use std::{fs, thread};

    fn coordinator(nats: &NatsSettings) -> Coordinator {
        let settings = CoordinatorSettings {
            nats: nats.clone(),
            terms: Terms { workers: 1, on_lost: OnWorkerLost::Continue, users: UserState::OfPlan },
            wait: Duration::from_secs(1),
            tell: Box::new(|_| {}),
        };
        Coordinator::open(settings, StopFlag::default()).unwrap()
    }

    /// It lost all workers when it went on, and what they had measured with them.
    #[test]
    fn the_time_in_which_a_coordinator_stood_still_is_no_silence_of_workers() {
        let server = NatsServer::start();
        let mut coordinator = coordinator(&NatsSettings { url: server.url(), ..NatsSettings::default() });
        let begin = Instant::now();
        let share = RunShare::WHOLE;
        let joined = joined("ä", &BTreeMap::new(), 1);
        coordinator.members.push(Member::new((1, "x".to_owned()), "ä".to_owned(), joined, share, begin));
        assert!(coordinator.next(Duration::ZERO).is_none());
        assert!(coordinator.reached_since.is_some_and(|since| since <= begin), "it has just looked");
        thread::sleep(SILENCE + Duration::from_millis(500));
        assert!(coordinator.next(Duration::ZERO).is_none());
        let since = coordinator.reached_since.unwrap();
        let silence = coordinator.members[0].silence(Instant::now(), since);
        assert!(begin.elapsed() > SILENCE && silence < SILENCE, "{silence:?}");
    }

    /// What a worker is told again that was not there when it was told first.
    fn told_again(tell: impl FnOnce(&mut Coordinator), is_expected: impl Fn(&Order) -> bool) {
        let server = NatsServer::start();
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let mut coordinator = coordinator(&nats);
        let who = (1, "w".to_owned());
        let joined = joined("größe", &BTreeMap::new(), 1);
        let member = Member::new(who, "größe".to_owned(), joined, RunShare::WHOLE, Instant::now());
        coordinator.members.push(member);
        tell(&mut coordinator);
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let _worker = Link::open(&nats, vec![worker_subject("w")], deliver).unwrap();
        let begin = Instant::now();
        let mut has_come = false;
        while !has_come {
            assert!(begin.elapsed() < CONTACT_MAX, "it is not told again");
            coordinator.next(Duration::from_millis(50));
            has_come = heard.try_iter().any(|event| match event {
                LinkEvent::Message(bytes) => {
                    serde_json::from_slice::<Told>(&bytes).is_ok_and(|told| is_expected(&told.order))
                }
                LinkEvent::Connected | LinkEvent::Disconnected | LinkEvent::Refused(_) => false,
            });
        }
    }

    #[test]
    fn each_worker_is_asked_for_its_clocks_among_the_first_once() {
        for workers in [1, 3, 16, 17, 200] {
            for worker in 0..workers {
                let place = |number| {
                    assert_eq!(probe_order(number, workers).count(), workers);
                    probe_order(number, workers).position(|asked| asked == worker).unwrap()
                };
                let best = (0..PROBES).map(place).min().unwrap();
                assert!(
                    best <= workers / PROBES as usize,
                    "{worker} of {workers} is asked as {best} at best"
                );
            }
        }
    }

    /// At a server that is far away: each probe takes its time, and all together not much more.
    #[test]
    fn clocks_of_many_workers_are_compared_at_once() {
        const WORKERS: u32 = 40;
        const AWAY: Duration = Duration::from_millis(50);
        let ahead_ns = |part: u32| u64::from(part) * 7_000_000_000;
        let server = NatsServer::start();
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let mut coordinator = coordinator(&nats);
        let joined = joined("größe", &BTreeMap::new(), 1);
        let id = |part: u32| format!("w{part}");
        for part in 0..WORKERS {
            let who = (part, id(part));
            let member = Member::new(who, id(part), joined.clone(), RunShare::WHOLE, Instant::now());
            coordinator.members.push(member);
        }
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send((Instant::now(), event)));
        let subjects = (0..WORKERS).map(|part| worker_subject(&id(part))).collect();
        let link = Link::open(&nats, subjects, deliver).unwrap();
        let base = coordinator.base;
        let workers = thread::spawn(move || {
            // As long as somebody asks.
            while let Ok((at, event)) = heard.recv_timeout(Duration::from_secs(3)) {
                let LinkEvent::Message(bytes) = event else { continue };
                let Told { coordinator, part, order } = serde_json::from_slice(&bytes).unwrap();
                let Order::Probe { number } = order else { continue };
                thread::sleep((at + AWAY).saturating_duration_since(Instant::now()));
                let monotonic_ns = base.elapsed().as_nanos() as u64 + ahead_ns(part);
                let what: Reply = Reply::Clocks { number, monotonic_ns, wall_ns: wall_ns() };
                link.send(&coordinator_subject(&coordinator), &Said { id: id(part), part, what });
            }
        });
        let begin = Instant::now();
        assert!(coordinator.compare_clocks().is_ok());
        let (took, one_by_one) = (begin.elapsed(), AWAY * WORKERS * PROBES);
        assert!(took < one_by_one / 3, "it took {took:?}");
        for Member { part, clock, .. } in &coordinator.members {
            let clock = clock.unwrap();
            let wrong_ns = clock.monotonic_ns.abs_diff(ahead_ns(*part).cast_signed());
            assert!(wrong_ns <= clock.uncertainty.0 + 1, "{wrong_ns} ns off, {clock:?}");
            assert!(clock.uncertainty.0 >= (AWAY / 2).as_nanos() as u64, "{clock:?}");
        }
        workers.join().unwrap();
    }

    #[test]
    fn a_worker_that_did_not_hear_of_its_share_is_told_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        let load = "users = 1\nduration = \"1s\"\nrequests = [{ path = \"/\" }]";
        fs::write(&path, format!("target = \"http://127.0.0.1:1\"\n{load}\n")).unwrap();
        let (bundle, change) = (Bundle::of_plan(&path).unwrap(), PlanChange::default());
        told_again(
            |coordinator| {
                let Member { id, name, joined, .. } = coordinator.members.remove(0);
                let heard = Instant::now();
                coordinator.crew.push(Recruit { id, name, joined, heard, is_missed: false });
                let handing = Handing { bundle: &bundle, change: &change };
                coordinator.assign(handing, 0, RunShare::WHOLE, "größe", false);
            },
            |order| matches!(order, Order::Assign(_)),
        );
    }

    #[test]
    fn a_worker_that_did_not_hear_of_the_start_is_told_again() {
        let (start, from) = (Instant::now() + START_LEAD, Nanos::from_secs(7));
        told_again(
            |coordinator| coordinator.start_one(0, start, from),
            |order| matches!(order, Order::Start { from_ns, .. } if *from_ns == from),
        );
    }

    #[test]
    fn a_worker_that_did_not_hear_of_the_end_is_told_again() {
        told_again(Coordinator::end_run, |order| *order == Order::Stop);
    }
}
