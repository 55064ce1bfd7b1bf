//! A worker: waits for runs, takes a share of one after the other, and reports what it measures.

mod job;
mod outbox;
mod share;

use crate::bundle::Bundle;
use crate::error::WorkersError;
use crate::figures::{fresh_id, joined};
use crate::kind::Kinds;
use crate::link::{Link, LinkEvent, NatsSettings, refusal};
use crate::message::{
    Assignment, BEAT, CONTACT_MAX, Joined, OFFERS, Order, PROTOCOL, Reply, SILENCE, Said, Told,
    coordinator_subject, worker_subject,
};
use job::{Job, Means, Progress};
use outbox::Address;
use prony_load::{RunStart, SharedRows};
use prony_model::program::StopFlag;
use share::{ShareEvent, ShareFailure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// How long is waited for a message before other things have their turn.
const TURN: Duration = Duration::from_millis(100);

/// A plan up to this size is kept in memory for the runs that follow; a larger one is fetched again.
const PLAN_KEPT_BYTES_MAX: usize = 64 << 20;

/// How a worker works.
pub struct WorkerSettings {
    pub nats: NatsSettings,
    /// As results name it.
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub threads: NonZeroUsize,
    /// What it can run.
    pub kinds: Kinds,
    /// Where what is measured is kept until the coordinator has it.
    pub output: PathBuf,
    /// Ends after its first run.
    pub is_for_one_run: bool,
    /// Is told what happens, in sentences.
    pub tell: Box<dyn FnMut(&str)>,
}

impl fmt::Debug for WorkerSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WorkerSettings")
            .field("nats", &self.nats)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// What a worker waits for.
#[derive(Debug)]
enum Input {
    Link(LinkEvent),
    Share { coordinator: String, part: u32, event: ShareEvent },
}

/// Works until it is stopped. Blocks the calling thread.
pub fn serve(settings: WorkerSettings, stop: &StopFlag) -> Result<(), WorkersError> {
    let id = fresh_id();
    let (inputs, receiver) = mpsc::channel();
    let from_link = inputs.clone();
    let link = Link::open(&settings.nats, vec![OFFERS.to_owned(), worker_subject(&id)], move |event| {
        let _ = from_link.send(Input::Link(event));
    })?;
    let joined = joined(&settings.name, &settings.labels, settings.threads.get() as u32);
    let (engagement, refused) = (None, BTreeSet::new());
    let (base, is_reached, has_worked) = (Instant::now(), true, false);
    let mut worker =
        Worker { settings, id, link, is_reached, inputs, joined, base, engagement, has_worked, refused };
    let text =
        format!("worker `{}` waits for runs at {}", worker.settings.name, worker.settings.nats.shown());
    worker.tell(&text);
    worker.work(&receiver, stop);
    Ok(())
}

struct Worker {
    settings: WorkerSettings,
    id: String,
    link: Link,
    /// The server is reached; what is reported while it is not goes out when it is again.
    is_reached: bool,
    inputs: Sender<Input>,
    joined: Joined,
    /// Its monotonic clock counts from here.
    base: Instant,
    engagement: Option<Engagement>,
    /// It has taken a share of a run.
    has_worked: bool,
    /// Coordinators of other versions are told of once each.
    refused: BTreeSet<String>,
}

/// With one coordinator, for as many runs as it makes.
#[derive(Debug)]
struct Engagement {
    coordinator: String,
    /// The last sign of it.
    heard: Instant,
    beat: Instant,
    /// The own share of a run, and those taken over.
    jobs: Vec<Job>,
    /// As it came last, for the shares that follow.
    plan: Option<Bundle>,
    /// How far its users are in the rows of the run, also those that it takes over.
    rows: SharedRows,
}

impl Engagement {
    fn with(coordinator: String) -> Self {
        let now = Instant::now();
        Self { coordinator, heard: now, beat: now, jobs: Vec::new(), plan: None, rows: SharedRows::default() }
    }

    fn job(&mut self, part: u32) -> Option<&mut Job> {
        self.jobs.iter_mut().find(|job| job.part() == part)
    }
}

impl Worker {
    fn work(&mut self, receiver: &Receiver<Input>, stop: &StopFlag) {
        loop {
            match receiver.recv_timeout(TURN) {
                Ok(Input::Link(event)) => self.hear(event),
                Ok(Input::Share { coordinator, part, event }) => self.on_share(&coordinator, part, event),
                Err(_) => {}
            }
            self.tick(stop);
            let is_idle = self.engagement.is_none();
            if is_idle && (stop.is_stopped() || self.has_worked && self.settings.is_for_one_run) {
                return;
            }
        }
    }

    fn tell(&mut self, text: &str) {
        (self.settings.tell)(text);
    }

    fn reply(&self, coordinator: &str, part: u32, what: Reply) {
        self.link.send(&coordinator_subject(coordinator), &Said { id: self.id.clone(), part, what });
    }

    // ---- orders

    fn hear(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Disconnected => self.is_reached = false,
            LinkEvent::Refused(text) => self.tell(&refusal(&text)),
            LinkEvent::Connected => {
                self.is_reached = true;
                let jobs = self.engagement.iter_mut().flat_map(|engagement| &mut engagement.jobs);
                jobs.for_each(|job| job.resend(&self.link));
            }
            LinkEvent::Message(bytes) => {
                if let Ok(told) = serde_json::from_slice(&bytes) {
                    self.obey(told);
                }
            }
        }
    }

    fn obey(&mut self, Told { coordinator, part, order }: Told) {
        if let Order::Offer { protocol, prony_version } = order {
            return self.consider(&coordinator, protocol, &prony_version);
        }
        match &mut self.engagement {
            Some(engagement) if engagement.coordinator == coordinator => engagement.heard = Instant::now(),
            Some(_) => {
                if matches!(order, Order::Assign(_) | Order::Stay) {
                    self.reply(&coordinator, part, Reply::Engaged);
                }
                return;
            }
            None if matches!(order, Order::Assign(_) | Order::Stay) => {
                self.engagement = Some(Engagement::with(coordinator));
            }
            None => return,
        }
        match order {
            Order::Assign(assignment) => self.at_length(|worker| worker.take(part, *assignment)),
            order @ Order::Piece { .. } => self.at_length(|worker| worker.obey_in_job(part, order)),
            Order::Stay => self.leave_jobs(),
            Order::Release => self.release(),
            order => self.obey_in_job(part, order),
        }
    }

    /// Of what may take long here, as a large plan does that is hashed and unpacked: the link says meanwhile that this worker is there, and
    /// that nothing is heard of the coordinator is not its silence.
    fn at_length(&mut self, work: impl FnOnce(&mut Self)) {
        if let Some(Engagement { coordinator, .. }) = &self.engagement {
            let beat: Said = Said { id: self.id.clone(), part: 0, what: Reply::Beat };
            self.link.beat(vec![(coordinator_subject(coordinator), beat)]);
        }
        work(self);
        self.link.end_beats();
        if let Some(engagement) = &mut self.engagement {
            engagement.heard = Instant::now();
        }
    }

    /// Joins where it is free. One of another version says so to the coordinator by its own, which tells its user.
    fn consider(&mut self, coordinator: &str, protocol: u32, version: &str) {
        if self.engagement.is_some() {
            return;
        }
        self.reply(coordinator, 0, Reply::Join(Box::new(self.joined.clone())));
        let own = &self.joined.prony_version;
        if (version, protocol) != (own, PROTOCOL) && self.refused.insert(coordinator.to_owned()) {
            let text = format!(
                "a run of Prony {version} (messages {protocol}) was offered, and this is {own} (messages {PROTOCOL}): it is left \
                 to others; have the same build of Prony on all machines"
            );
            self.tell(&text);
        }
    }

    fn take(&mut self, part: u32, assignment: Assignment) {
        let Some(engagement) = &mut self.engagement else { return };
        if let Some(job) = engagement.job(part) {
            // It is said again until the response to it has come, which may have been lost.
            if job.is_ready() {
                let coordinator = engagement.coordinator.clone();
                self.reply(&coordinator, part, Reply::Ready);
            }
            return;
        }
        if !assignment.is_taken_over {
            engagement.rows = SharedRows::default();
        }
        let (share, run) = (assignment.share, assignment.run.clone());
        let what = if assignment.is_taken_over { "takes over share" } else { "share" };
        let text = format!("run {run}: {what} {} of {}", share.number() + 1, share.parts());
        let address = Address { coordinator: engagement.coordinator.clone(), id: self.id.clone(), part };
        let job = Job::new(assignment, address, self.joined.clone());
        let plan = engagement.plan.take().filter(|plan| job.is_plan_of(plan));
        if plan.is_none() {
            job.ask(&self.link);
        }
        engagement.jobs.push(job);
        self.has_worked = true;
        self.tell(&text);
        if let Some(plan) = plan {
            self.prepare(part, plan);
        }
    }

    fn prepare(&mut self, part: u32, plan: Bundle) {
        let Some(engagement) = &mut self.engagement else { return };
        let (inputs, coordinator) = (self.inputs.clone(), engagement.coordinator.clone());
        let tell = move |event| {
            drop(inputs.send(Input::Share { coordinator: coordinator.clone(), part, event }));
        };
        let WorkerSettings { threads, kinds, output, .. } = &self.settings;
        let means = Means { threads: *threads, kinds, output, rows: engagement.rows.clone() };
        let prepared = engagement.job(part).map_or(Ok(()), |job| job.prepare(&plan, &means, tell));
        engagement.plan = Some(plan).filter(|plan| plan.bytes().len() <= PLAN_KEPT_BYTES_MAX);
        if let Err(error) = prepared {
            self.fail(part, &ShareFailure::new(error.to_string()));
        }
    }

    fn obey_in_job(&mut self, part: u32, order: Order) {
        let Some(engagement) = &mut self.engagement else { return };
        let coordinator = engagement.coordinator.clone();
        let Some(job) = engagement.job(part) else { return };
        match order {
            Order::Piece { offset, bytes } => match job.piece(offset, &bytes, &self.link) {
                Ok(None) => {}
                Ok(Some(plan)) => self.prepare(part, plan),
                Err(error) => self.fail(part, &ShareFailure::new(error.to_string())),
            },
            Order::Probe { number } => {
                let monotonic_ns = self.base.elapsed().as_nanos() as u64;
                let wall_ns = crate::coordinator::wall_ns();
                self.reply(&coordinator, part, Reply::Clocks { number, monotonic_ns, wall_ns });
            }
            Order::Start { at_ns, from_ns } => {
                job.start(RunStart { epoch: self.base + Duration::from_nanos(at_ns), from: from_ns });
            }
            Order::Acknowledge { up_to } => job.acknowledge(up_to),
            Order::Stop => job.stop("the run was ended early"),
            Order::Leave => self.leave_job(part, true),
            Order::Offer { .. } | Order::Assign(_) | Order::Beat | Order::Stay | Order::Release => {}
        }
    }

    // ---- ends

    /// A share cannot be run, or not to its end.
    fn fail(&mut self, part: u32, failure: &ShareFailure) {
        let Some(engagement) = &mut self.engagement else { return };
        let coordinator = engagement.coordinator.clone();
        let at = engagement.jobs.iter().position(|job| job.part() == part);
        let kept = at.and_then(|at| engagement.jobs.remove(at).leave(true));
        let ShareFailure { message, cause } = failure;
        self.reply(&coordinator, part, Reply::Failed { message: message.clone(), cause: *cause });
        let kept = kept.map(|path| format!("; what it measured is kept in {}", path.display()));
        self.tell(&format!("the share cannot be run: {message}{}", kept.unwrap_or_default()));
    }

    /// `is_over`: the coordinator has said so, or is there and has taken all that was measured.
    fn leave_job(&mut self, part: u32, is_over: bool) {
        let Some(engagement) = &mut self.engagement else { return };
        let Some(at) = engagement.jobs.iter().position(|job| job.part() == part) else { return };
        let left = engagement.jobs.remove(at).leave(is_over);
        let text = match left {
            None => "the run is over".to_owned(),
            Some(path) if is_over => {
                format!("the run is over; what was not handed over is kept in {}", path.display())
            }
            Some(path) => format!("the coordinator is gone; what was measured is kept in {}", path.display()),
        };
        self.tell(&text);
    }

    fn leave_jobs(&mut self) {
        while let Some(part) =
            self.engagement.as_ref().and_then(|engagement| Some(engagement.jobs.first()?.part()))
        {
            self.leave_job(part, true);
        }
    }

    /// Nothing more is expected of it.
    fn release(&mut self) {
        self.leave_jobs();
        self.engagement = None;
    }

    fn on_share(&mut self, coordinator: &str, part: u32, event: ShareEvent) {
        let engaged = self.engagement.as_mut().filter(|engagement| engagement.coordinator == coordinator);
        let Some(job) = engaged.and_then(|engagement| engagement.job(part)) else { return };
        match event {
            ShareEvent::Ready => {
                job.ready();
                self.reply(coordinator, part, Reply::Ready);
            }
            ShareEvent::Begun(late) => self.reply(coordinator, part, Reply::Begun { late_ns: late.0 }),
            ShareEvent::Second(report) => {
                let kept = job.report(&report, self.is_reached.then_some(&self.link));
                self.warn(kept);
            }
            ShareEvent::Done(Ok(end)) => {
                let kept = job.done(*end, self.is_reached.then_some(&self.link));
                self.warn(kept);
            }
            ShareEvent::Done(Err(failure)) => self.fail(part, &failure),
        }
    }

    fn warn(&mut self, kept: Result<(), WorkersError>) {
        if let Err(error) = kept {
            self.tell(&format!("{error}; it is sent to the coordinator all the same"));
        }
    }

    // ---- time

    fn tick(&mut self, stop: &StopFlag) {
        let Some(engagement) = &mut self.engagement else { return };
        let (now, is_leaving) = (Instant::now(), stop.is_stopped());
        let silence = now.saturating_duration_since(engagement.heard);
        let coordinator = engagement.coordinator.clone();
        let is_due = now.saturating_duration_since(engagement.beat) >= BEAT;
        if is_due {
            engagement.beat = now;
        }
        let (mut given_up, mut has_lost_contact) = (Vec::new(), false);
        for job in &mut engagement.jobs {
            if is_leaving {
                job.stop("it was stopped on its machine");
            }
            match job.tick(self.is_reached.then_some(&self.link), silence, is_leaving) {
                Progress::GoesOn => {}
                Progress::LostContact => has_lost_contact = true,
                Progress::GivenUp => given_up.push(job.part()),
            }
        }
        let was_waiting = engagement.jobs.is_empty();
        if is_due {
            self.reply(&coordinator, 0, Reply::Beat);
        }
        if has_lost_contact {
            self.tell("nothing was heard of the coordinator for 10 s: the load is stopped");
        }
        let has_left = !given_up.is_empty();
        for part in given_up {
            self.leave_job(part, silence <= SILENCE);
        }
        let has_jobs = self.engagement.as_ref().is_some_and(|engagement| !engagement.jobs.is_empty());
        if !has_jobs && (has_left || was_waiting && (is_leaving || silence > CONTACT_MAX)) {
            self.release();
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::kind::PLANS;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use prony_load::read_plan;
    use prony_model::plan::PlanChange;
    use prony_model::program::RunShare;
    use prony_testkit::NatsServer;
    use std::net::TcpListener;
    use std::path::Path;
    use std::{fs, thread};

    static KINDS: Kinds = &[&PLANS];

    /// Of a worker on this machine that serves on.
    pub(crate) fn settings(nats: &NatsSettings, name: &str, output: &Path) -> WorkerSettings {
        WorkerSettings {
            nats: nats.clone(),
            name: name.to_owned(),
            labels: BTreeMap::new(),
            threads: NonZeroUsize::MIN,
            kinds: KINDS,
            output: output.to_owned(),
            is_for_one_run: false,
            tell: Box::new(|_| {}),
        }
    }

    /// A coordinator took a worker for lost that unpacked a large plan.
    #[test]
    fn a_worker_says_that_it_is_there_while_something_takes_long() {
        let (server, folder) = (NatsServer::start(), tempfile::tempdir().unwrap());
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let _coordinator = Link::open(&nats, vec![coordinator_subject("c")], deliver).unwrap();
        let (inputs, _receiver) = mpsc::channel();
        let mut worker = Worker {
            settings: settings(&nats, "ä", folder.path()),
            id: "x".to_owned(),
            link: Link::open(&nats, vec![worker_subject("x")], |_| {}).unwrap(),
            is_reached: true,
            inputs,
            joined: joined("ä", &BTreeMap::new(), 1),
            base: Instant::now(),
            engagement: Some(Engagement::with("c".to_owned())),
            has_worked: false,
            refused: BTreeSet::new(),
        };
        let begin = Instant::now();
        worker.at_length(|_| {
            let is_beat = |event: &LinkEvent| match event {
                LinkEvent::Message(bytes) => {
                    serde_json::from_slice::<Said>(bytes).unwrap().what == Reply::Beat
                }
                _ => false,
            };
            while !is_beat(&heard.recv_timeout(CONTACT_MAX).expect("it says so")) {}
        });
        assert!(worker.engagement.is_some_and(|engagement| engagement.heard > begin));
    }

    fn assigned(bundle: &Bundle, change: &PlanChange) -> Order {
        Order::Assign(Box::new(Assignment {
            run: "r".to_owned(),
            share: RunShare::WHOLE,
            name: "ä".to_owned(),
            change: change.clone(),
            is_taken_over: false,
            plan_bytes: bundle.bytes().len() as u64,
            plan_hash: bundle.hash().to_owned(),
        }))
    }

    /// That it is ready may have been lost on the way.
    #[test]
    fn a_worker_that_is_told_its_share_again_says_again_that_it_is_ready() {
        let (server, folder, stop) = (NatsServer::start(), tempfile::tempdir().unwrap(), StopFlag::default());
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let path = folder.path().join("plan.toml");
        let load = "users = 1\nduration = \"1s\"\nrequests = [{ path = \"/\" }]";
        // Whoever is ready has reached the target.
        let target = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = target.local_addr().unwrap();
        fs::write(&path, format!("target = \"http://{address}\"\n{load}\n")).unwrap();
        let change = PlanChange::of(&read_plan(&path).unwrap());
        let bundle = Bundle::of_plan(&path).unwrap();
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let link = Link::open(&nats, vec![coordinator_subject("c")], deliver).unwrap();
        let tell = |subject: &str, order: Order| {
            link.send(subject, &Told { coordinator: "c".to_owned(), part: 1, order });
        };
        let mut ready = 0;
        thread::scope(|scope| {
            scope.spawn(|| serve(settings(&nats, "ä", folder.path()), &stop).unwrap());
            let (begin, mut worker) = (Instant::now(), None);
            while ready < 2 && begin.elapsed() < Duration::from_secs(20) {
                let Ok(LinkEvent::Message(bytes)) = heard.recv_timeout(Duration::from_millis(100)) else {
                    if worker.is_none() {
                        let prony_version = env!("CARGO_PKG_VERSION").to_owned();
                        tell(OFFERS, Order::Offer { protocol: PROTOCOL, prony_version });
                    }
                    continue;
                };
                let said: Said = serde_json::from_slice(&bytes).unwrap();
                let subject = worker_subject(&said.id);
                match said.what {
                    Reply::Join(_) => tell(&subject, assigned(&bundle, &change)),
                    Reply::Want { offset: 0 } => {
                        let bytes = STANDARD.encode(bundle.bytes());
                        tell(&subject, Order::Piece { offset: 0, bytes });
                    }
                    Reply::Ready => {
                        ready += 1;
                        tell(&subject, assigned(&bundle, &change));
                    }
                    _ => {}
                }
                worker = Some(subject);
            }
            if let Some(subject) = &worker {
                tell(subject, Order::Release);
            }
            stop.stop();
        });
        assert_eq!(ready, 2);
    }
}
