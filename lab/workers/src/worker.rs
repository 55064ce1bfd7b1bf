//! A worker: waits for runs, takes a share of one after the other, and reports what it measures.

mod job;
mod outbox;
mod share;

use crate::error::WorkersError;
use crate::figures::{fresh_id, joined};
use crate::kind::Kinds;
use crate::link::{Link, LinkEvent, NatsSettings};
use crate::message::{Joined, OFFERS, Order, PROTOCOL, Reply, Said, run_subject, worker_subject};
use job::{Job, Progress};
use prony_model::program::StopFlag;
use share::ShareEvent;
use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// How long is waited for a message before other things have their turn.
const TURN: Duration = Duration::from_millis(100);

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
    Share { run: String, event: ShareEvent },
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
    let mut worker = Worker { settings, id, link, inputs, joined, base: Instant::now(), job: None };
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
    inputs: Sender<Input>,
    joined: Joined,
    /// Its monotonic clock counts from here.
    base: Instant,
    job: Option<Job>,
}

impl Worker {
    fn work(&mut self, receiver: &Receiver<Input>, stop: &StopFlag) {
        loop {
            match receiver.recv_timeout(TURN) {
                Ok(Input::Link(event)) => self.hear(event),
                Ok(Input::Share { run, event }) => self.on_share(&run, event),
                Err(_) => {}
            }
            let was_busy = self.job.is_some();
            self.tick(stop);
            let is_idle = self.job.is_none();
            if is_idle && (stop.is_stopped() || was_busy && self.settings.is_for_one_run) {
                return;
            }
        }
    }

    fn tell(&mut self, text: &str) {
        (self.settings.tell)(text);
    }

    fn reply(&self, run: &str, what: Reply) {
        self.link.send(&run_subject(run), &Said { id: self.id.clone(), what });
    }

    fn hear(&mut self, event: LinkEvent) {
        match event {
            LinkEvent::Disconnected => {}
            LinkEvent::Connected => {
                if let Some(job) = &mut self.job {
                    job.resend(&self.link);
                }
            }
            LinkEvent::Message(bytes) => {
                if let Ok(order) = serde_json::from_slice(&bytes) {
                    self.obey(order);
                }
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Offer { run, protocol, prony_version } => {
                // One of another version says so to the coordinator by its own.
                let is_known = protocol == PROTOCOL || prony_version != self.joined.prony_version;
                if self.job.is_none() && is_known {
                    self.reply(&run, Reply::Join(Box::new(self.joined.clone())));
                }
            }
            Order::Assign(assignment) if self.job.is_none() => {
                let share = assignment.share;
                let text =
                    format!("run {}: share {} of {}", assignment.run, share.number() + 1, share.parts());
                self.tell(&text);
                let job = Job::new(*assignment, self.joined.clone(), self.id.clone());
                job.ask(&self.link);
                self.job = Some(job);
            }
            Order::Assign(other) => {
                if self.job.as_ref().is_some_and(|job| job.run() != other.run) {
                    self.reply(
                        &other.run,
                        Reply::Failed { message: "it has a share of another run".to_owned() },
                    );
                }
            }
            order => self.obey_in_job(order),
        }
    }

    fn obey_in_job(&mut self, order: Order) {
        let Some(job) = &mut self.job else { return };
        job.hear(Instant::now());
        match order {
            Order::Piece { offset, bytes } => {
                let inputs = self.inputs.clone();
                let run = job.run().to_owned();
                let tell = move |event| drop(inputs.send(Input::Share { run: run.clone(), event }));
                let (threads, kinds) = (self.settings.threads, self.settings.kinds);
                let output = &self.settings.output;
                let prepared = job.piece(offset, &bytes, &self.link, (threads, kinds), output, tell);
                if let Err(error) = prepared {
                    self.fail(&error.to_string());
                }
            }
            Order::Probe { number } => {
                let monotonic_ns = self.base.elapsed().as_nanos() as u64;
                let wall_ns = crate::coordinator::wall_ns();
                let run = job.run().to_owned();
                self.reply(&run, Reply::Clocks { number, monotonic_ns, wall_ns });
            }
            Order::Start { at_ns } => job.start(self.base + Duration::from_nanos(at_ns)),
            Order::Acknowledge { up_to } => job.acknowledge(up_to),
            Order::Stop => job.stop("the run was ended early"),
            Order::Release => self.release(),
            Order::Offer { .. } | Order::Assign(_) => {}
        }
    }

    /// The share cannot be run.
    fn fail(&mut self, message: &str) {
        if let Some(job) = self.job.take() {
            self.reply(job.run(), Reply::Failed { message: message.to_owned() });
            self.tell(&format!("the share cannot be run: {message}"));
        }
    }

    /// Nothing more is expected of it.
    fn release(&mut self) {
        let Some(job) = self.job.take() else { return };
        let text = match job.leave() {
            None => "the run is over".to_owned(),
            Some(path) => format!("the run is over; what was not handed over is kept in {}", path.display()),
        };
        self.tell(&text);
    }

    fn on_share(&mut self, run: &str, event: ShareEvent) {
        let Some(job) = self.job.as_mut().filter(|job| job.run() == run) else { return };
        match event {
            ShareEvent::Ready => self.reply(run, Reply::Ready),
            ShareEvent::Begun(late) => self.reply(run, Reply::Begun { late_ns: late.0 }),
            ShareEvent::Second { snapshot, counted } => {
                let kept = job.second(*snapshot, counted, &self.link);
                self.warn(kept);
            }
            ShareEvent::Done(Ok(end)) => {
                let kept = job.done(*end, &self.link);
                self.warn(kept);
            }
            ShareEvent::Done(Err(message)) => self.fail(&message),
        }
    }

    fn warn(&mut self, kept: Result<(), WorkersError>) {
        if let Err(error) = kept {
            self.tell(&format!("{error}; it is sent to the coordinator all the same"));
        }
    }

    fn tick(&mut self, stop: &StopFlag) {
        let Some(job) = &mut self.job else { return };
        if stop.is_stopped() {
            job.stop("it was stopped on its machine");
        }
        let progress = job.tick(&self.link, stop.is_stopped());
        match progress {
            Progress::GoesOn => {}
            Progress::LostContact => {
                self.tell("nothing was heard of the coordinator for 10 s: the load is stopped");
            }
            Progress::GivenUp => self.release(),
        }
    }
}
