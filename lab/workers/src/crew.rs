//! The workers that have joined a coordinator: how they are found, who of them is there, and how they are kept from one run to the
//! next.

use crate::coordinator::{Coordinator, CoordinatorSettings};
use crate::error::WorkersError;
use crate::message::{
    CONTACT_MAX, Joined, OFFERS, Order, PROTOCOL, Reply, Said, WORKERS_MAX, worker_subject,
};
use crate::roster::Recruit;
use crate::terms::{OnWorkerLost, Terms};
use prony_model::Plan;
use prony_model::program::{RunShare, StopFlag};
use std::time::{Duration, Instant};

/// The run is offered again so often, for workers that come later.
const OFFER_EVERY: Duration = Duration::from_millis(500);

/// Workers that wait for their shares. Dropped, they are free again.
#[derive(Debug)]
pub struct Recruited(pub(crate) Coordinator);

impl Recruited {
    /// As many workers as were asked for, once they have joined, for one run of a plan.
    pub fn of(plan: &Plan, settings: CoordinatorSettings, stop: StopFlag) -> Result<Self, WorkersError> {
        settings.terms.check(plan)?;
        Self::of_many(settings, stop)
    }

    /// The same for several runs, each of a plan that is looked at when it begins.
    pub fn of_many(settings: CoordinatorSettings, stop: StopFlag) -> Result<Self, WorkersError> {
        settings.terms.check_kind()?;
        let mut coordinator = Coordinator::open(settings, stop)?;
        coordinator.recruit()?;
        coordinator.rest();
        Ok(Self(coordinator))
    }

    /// How many threads each makes its load of this plan with, none of them without a user. They wait on meanwhile, however long what
    /// depends on that takes.
    pub fn threads(&mut self, plan: &Plan) -> Result<Vec<u32>, WorkersError> {
        let workers = self.0.workers_for(plan)?;
        let parts = workers.len() as u32;
        let users = |number| {
            let share = RunShare::new(number, parts);
            share.map_or(0, |share| share.users(0, plan.users()))
        };
        let crew = &self.0.crew;
        let threads = (0..)
            .zip(&workers)
            .map(|(number, worker)| crew[*worker].joined.threads.min(users(number)).max(1));
        let threads = threads.collect();
        self.0.rest();
        Ok(threads)
    }
}

impl Drop for Recruited {
    fn drop(&mut self) {
        self.0.tell_crew(&Order::Release);
    }
}

impl Coordinator {
    /// Who makes a run of this plan, as places in the crew: as many as were asked for, or as many as it has users.
    pub(crate) fn workers_for(&mut self, plan: &Plan) -> Result<Vec<usize>, WorkersError> {
        let wanted = self.settings.terms.workers.min(plan.parts_max());
        Terms { workers: wanted, ..self.settings.terms }.check(plan)?;
        self.wake();
        match self.recruit() {
            // The others have all of its load.
            Err(WorkersError::TooFew { .. })
                if self.settings.terms.on_lost == OnWorkerLost::Respread && !self.there().is_empty() =>
            {
                let there = self.there().len();
                self.tell(&format!("the run is made by {there} of {} workers", self.settings.terms.workers));
            }
            recruited => recruited?,
        }
        let mut there = self.there();
        there.truncate(wanted as usize);
        Ok(there)
    }

    /// Finds workers until as many are there as were asked for.
    fn recruit(&mut self) -> Result<(), WorkersError> {
        let (begin, wanted) = (Instant::now(), self.settings.terms.workers);
        let mut is_told = false;
        let mut offered: Option<Instant> = None;
        while (self.there().len() as u32) < wanted {
            if !is_told {
                self.tell(&waiting(self.there().len() as u32, wanted));
                is_told = true;
            }
            self.check_stop()?;
            if begin.elapsed() > self.settings.wait {
                return Err(self.too_few());
            }
            if offered.is_none_or(|offered| offered.elapsed() > OFFER_EVERY) {
                let prony_version = env!("CARGO_PKG_VERSION").to_owned();
                self.link.send(OFFERS, &self.told(0, Order::Offer { protocol: PROTOCOL, prony_version }));
                offered = Some(Instant::now());
            }
            if let Some(Said { id, what: Reply::Join(joined), .. }) = self.next(Duration::from_millis(100)) {
                self.admit(id, *joined);
            }
        }
        Ok(())
    }

    /// Those that are heard of.
    fn there(&self) -> Vec<usize> {
        let is_there = |recruit: &Recruit| !recruit.is_missed && recruit.heard.elapsed() < CONTACT_MAX;
        (0..self.crew.len()).filter(|index| is_there(&self.crew[*index])).collect()
    }

    fn admit(&mut self, id: String, joined: Joined) {
        let joined = in_one_line(joined);
        let own = env!("CARGO_PKG_VERSION");
        if joined.prony_version != own || joined.protocol != PROTOCOL {
            // It joins again with each offer.
            if self.strangers.len() < WORKERS_MAX as usize && self.strangers.insert(id) {
                self.tell(&other_version(&joined, own));
            }
            return;
        }
        self.link.send(&worker_subject(&id), &self.told(0, Order::Stay));
        if self.crew.iter().any(|known| known.id == id) {
            return;
        }
        let mut name = joined.name.clone();
        let mut copy = 1;
        while self.crew.iter().any(|known| known.name == name) {
            copy += 1;
            name = format!("{}-{copy}", joined.name);
        }
        let (host, processors) = (&joined.machine.host_name, joined.machine.processors);
        let text = format!("worker `{name}` on {host}, {processors} processors");
        self.tell(&text);
        self.crew.push(Recruit { id, name, joined, heard: Instant::now(), is_missed: false });
    }

    fn too_few(&self) -> WorkersError {
        let there = self.there();
        let names: Vec<_> = there.iter().map(|index| self.crew[*index].name.as_str()).collect();
        let names = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
        WorkersError::TooFew {
            joined: there.len(),
            wanted: self.settings.terms.workers,
            seconds: self.settings.wait.as_secs(),
            names,
            url: self.settings.nats.shown(),
        }
    }

    // ---- between runs

    /// Nothing goes on: the link gives workers signs of life until [`Self::wake`].
    pub(crate) fn rest(&mut self) {
        let beat = |id: &String| (worker_subject(id), self.told(0, Order::Beat));
        self.link.beat(self.crew.iter().map(|recruit| beat(&recruit.id)).collect());
    }

    /// Takes what has come meanwhile, so that it is known who is still there.
    fn wake(&mut self) {
        self.link.end_beats();
        self.members.clear();
        while self.next(Duration::ZERO).is_some() {}
    }

    /// A worker fell silent: until it is heard of again it is none of those that are there.
    pub(crate) fn miss(&mut self, name: &str) {
        if let Some(recruit) = self.crew.iter_mut().find(|recruit| recruit.name == name) {
            recruit.is_missed = true;
        }
    }
}

/// What workers say of themselves stands in lines of terminals and of results, whatever they are.
fn in_one_line(joined: Joined) -> Joined {
    let plain = |text: &str| text.replace(char::is_control, "\u{fffd}");
    let mut machine = joined.machine;
    machine.host_name = plain(&machine.host_name);
    let labels = joined.labels.iter().map(|(name, value)| (plain(name), plain(value))).collect();
    Joined {
        prony_version: plain(&joined.prony_version),
        name: plain(&joined.name),
        labels,
        machine,
        ..joined
    }
}

fn waiting(there: u32, wanted: u32) -> String {
    match there {
        0 => format!("waiting for {wanted} workers"),
        there => format!("{there} of {wanted} workers are there; waiting for the others"),
    }
}

fn other_version(joined: &Joined, own: &str) -> String {
    let Joined { name, prony_version, protocol, .. } = joined;
    let (theirs, ours) = if prony_version == own {
        let messages = |version: u32| format!("version {own} with messages of version {version}");
        (messages(*protocol), messages(PROTOCOL))
    } else {
        (format!("version {prony_version}"), own.to_owned())
    };
    format!(
        "worker `{name}` has {theirs}, and this is {ours}: it is not taken; have the same build of Prony on all machines"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bundle::Bundle;
    use crate::figures::joined;
    use crate::kind::RequestsAlone;
    use crate::link::{Link, LinkEvent, NatsSettings};
    use crate::message::{Told, coordinator_subject};
    use crate::terms::UserState;
    use crate::worker::{serve, tests::settings as worker_settings};
    use prony_load::{RunOptions, read_plan};
    use prony_model::{LoadModel, Nanos, PlanDraft, RequestDraft, Target, WindowKind};
    use prony_testkit::NatsServer;
    use prony_testkit::peer::ScriptedPeer;
    use std::collections::BTreeMap;
    use std::sync::{Arc, Mutex, mpsc};
    use std::{fs, thread};

    #[test]
    fn a_worker_of_another_version_is_told_of_with_both() {
        let own = joined("ä", &BTreeMap::new(), 1);
        let older = Joined { prony_version: "0.0.9".to_owned(), ..own.clone() };
        let text = other_version(&older, "1.2.3");
        assert!(
            text.starts_with("worker `ä` has version 0.0.9, and this is 1.2.3: it is not taken"),
            "{text}"
        );
        assert!(text.ends_with("have the same build of Prony on all machines"), "{text}");
        let version = own.prony_version.clone();
        let text = other_version(&Joined { protocol: 1, ..own }, &version);
        assert!(text.contains("with messages of version 1, and this is version "), "{text}");
    }

    #[test]
    fn what_workers_say_of_themselves_has_no_control_characters() {
        let labels = BTreeMap::from([("zone".to_owned(), "a\r\nb".to_owned())]);
        let mut odd = joined("ä\u{1b}[31m", &labels, 1);
        odd.machine.host_name = "a\nb".to_owned();
        let plain = in_one_line(odd.clone());
        assert_eq!(
            (plain.name.as_str(), plain.labels["zone"].as_str()),
            ("ä\u{fffd}[31m", "a\u{fffd}\u{fffd}b")
        );
        assert_eq!((plain.machine.host_name.as_str(), plain.threads), ("a\u{fffd}b", odd.threads));
    }

    #[test]
    fn a_worker_of_another_version_is_told_of_once() {
        let server = NatsServer::start();
        let (sender, told) = mpsc::channel();
        let settings = CoordinatorSettings {
            nats: NatsSettings { url: server.url(), ..NatsSettings::default() },
            terms: Terms { workers: 1, on_lost: OnWorkerLost::End, users: UserState::OfPlan },
            wait: Duration::from_secs(1),
            tell: Box::new(move |text| drop(sender.send(text.to_owned()))),
        };
        let mut coordinator = Coordinator::open(settings, StopFlag::default()).unwrap();
        let older = Joined { prony_version: "0.0.9".to_owned(), ..joined("ä", &BTreeMap::new(), 1) };
        for id in ["x", "x", "y", "x"] {
            coordinator.admit(id.to_owned(), older.clone());
        }
        assert!(coordinator.crew.is_empty());
        assert_eq!(told.try_iter().filter(|text| text.contains("0.0.9")).count(), 2);
    }

    /// A worker that joins the first run that is offered, and says to each order what it is to say.
    fn pretend(nats: &NatsSettings, stop: &StopFlag, answer: fn(&Order) -> Option<Reply>) {
        let (sender, events) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let link = Link::open(nats, vec![OFFERS.to_owned(), worker_subject("x")], deliver).unwrap();
        let mut has_joined = false;
        while !stop.is_stopped() {
            let event = events.recv_timeout(Duration::from_millis(50));
            let Ok(LinkEvent::Message(bytes)) = event else { continue };
            let told: Told = serde_json::from_slice(&bytes).unwrap();
            let is_offer = matches!(told.order, Order::Offer { .. });
            let what = if is_offer && !has_joined {
                has_joined = true;
                Some(Reply::Join(Box::new(joined("ä", &BTreeMap::new(), 1))))
            } else {
                answer(&told.order)
            };
            if let Some(what) = what {
                let said = Said { id: "x".to_owned(), part: told.part, what };
                link.send(&coordinator_subject(&told.coordinator), &said);
            }
        }
    }

    /// What the script of a run prepares for each thread may take longer than workers wait without a word.
    #[test]
    fn workers_whose_threads_are_asked_for_hear_that_somebody_is_there() {
        let server = NatsServer::start();
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let (sender, heard) = mpsc::channel();
        let deliver = move |event| drop(sender.send(event));
        let _worker = Link::open(&nats, vec![worker_subject("x")], deliver).unwrap();
        let settings = CoordinatorSettings {
            nats,
            terms: Terms { workers: 1, on_lost: OnWorkerLost::End, users: UserState::OfPlan },
            wait: Duration::from_secs(1),
            tell: Box::new(|_| {}),
        };
        let mut coordinator = Coordinator::open(settings, StopFlag::default()).unwrap();
        let joined = joined("ä", &BTreeMap::new(), 3);
        let (id, name, now) = ("x".to_owned(), "ä".to_owned(), Instant::now());
        coordinator.crew.push(Recruit { id, name, joined, heard: now, is_missed: false });
        let load = LoadModel::constant(2, Nanos::from_secs(9));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        let mut recruited = Recruited(coordinator);
        assert_eq!(recruited.threads(&draft.check().unwrap()).unwrap(), [2]);
        let mut beats = 0;
        while beats < 2 {
            let event = heard.recv_timeout(CONTACT_MAX).expect("it is said again and again");
            let LinkEvent::Message(bytes) = event else { continue };
            let told: Told = serde_json::from_slice(&bytes).unwrap();
            beats += u32::from(told.order == Order::Beat);
        }
    }

    /// Runs six requests with one worker, which joins and does not make them; another one comes later. Returns what was said.
    fn replaced(answer: fn(&Order) -> Option<Reply>) -> Vec<String> {
        const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
        let (server, peer) = (NatsServer::start(), ScriptedPeer::answering(OK));
        let (folder, stop) = (tempfile::tempdir().unwrap(), StopFlag::default());
        let nats = NatsSettings { url: server.url(), ..NatsSettings::default() };
        let path = folder.path().join("plan.toml");
        let load = "users = 2\niterations = 3\nrequests = [{ path = \"/\" }]";
        fs::write(&path, format!("target = \"{}\"\n{load}\n", peer.url())).unwrap();
        let (plan, bundle) = (read_plan(&path).unwrap(), Bundle::of_plan(&path).unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&told);
        let settings = CoordinatorSettings {
            nats: nats.clone(),
            terms: Terms { workers: 1, on_lost: OnWorkerLost::End, users: UserState::OfPlan },
            wait: Duration::from_secs(20),
            tell: Box::new(move |text| heard.lock().unwrap().push(text.to_owned())),
        };
        let result = thread::scope(|scope| {
            scope.spawn(|| pretend(&nats, &stop, answer));
            let recruited = Recruited::of(&plan, settings, StopFlag::default());
            scope.spawn(|| serve(worker_settings(&nats, "real", folder.path()), &stop).unwrap());
            let run = |mut recruited: Recruited| {
                recruited.run(&plan, &bundle, &RequestsAlone, RunOptions::default())
            };
            let result = recruited.and_then(run);
            stop.stop();
            result
        });
        let (result, told) = (result.unwrap(), told.lock().unwrap().clone());
        assert_eq!(result.window(WindowKind::Whole).unwrap().all.successes, 6, "{told:?}");
        assert_eq!(result.workers[0].name, "real", "{told:?}");
        told
    }

    /// Two runs that begin at the same time may both have a worker among theirs; it is with the first that keeps it.
    #[test]
    fn a_worker_that_works_for_another_run_is_replaced() {
        let told = replaced(|order| match order {
            Order::Assign(_) => Some(Reply::Engaged),
            _ => None,
        });
        assert!(told.iter().any(|text| text == "worker `ä` works for another run"), "{told:?}");
    }

    #[test]
    fn a_worker_that_does_not_say_what_its_clock_shows_is_replaced() {
        let told = replaced(|order| match order {
            Order::Assign(_) => Some(Reply::Ready),
            _ => None,
        });
        let text = "worker `ä` fell silent before the run began";
        assert!(told.iter().any(|line| line == text), "{told:?}");
    }
}
