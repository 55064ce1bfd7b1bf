//! How a fault is injected: what is harmed is started, all clients write to it, it is harmed and mended, all clients write again, and what is
//! there is held against what they were told.

use std::{
    collections::HashSet,
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use crate::{
    clients::{Call, Clients, Written},
    table::Row,
};

/// For how long all clients write before the fault.
const BEFORE: Duration = Duration::from_secs(5);
/// And once all of them are served again.
const AFTER: Duration = Duration::from_secs(3);
/// For how long a fault lasts that has no length of its own.
pub(crate) const LASTS: Duration = Duration::from_secs(3);

/// What is written to.
pub(crate) trait Site: Sized {
    /// In which ways it can be set up.
    type Setting: Copy;

    fn start(setting: Self::Setting) -> Self;
    fn address(&self) -> SocketAddr;
    fn call() -> impl Call;
    /// When the fault began, where that is later than when it was asked for.
    fn begun(&self) -> Option<Instant> {
        None
    }
    /// What is there once it was killed and has started again, so that it is what the disk has.
    fn found(&mut self) -> Found;
}

/// What the writes have left.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Keys of which all is there, or some.
    pub(crate) keys: HashSet<u64>,
    /// Keys of which only some is there.
    pub(crate) in_part: usize,
    /// Keys that a start has said to be lost, or of which it has said that it does not know.
    pub(crate) given_up: HashSet<u64>,
    /// What else is not as it has to be.
    pub(crate) problems: Vec<String>,
}

/// By what the clients feel a fault; one that they do not feel was not injected.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Sign {
    /// They are told of something else than success.
    Failures,
    /// Nobody is told of a success for at least as long.
    Interruption(Duration),
    /// They are told of nothing but success; `harm` sees for itself that it was injected.
    Success,
    /// They need not feel it: `harm` sees for itself that it was injected.
    None,
}

pub(crate) struct Fault<S: Site> {
    pub(crate) name: &'static str,
    pub(crate) setting: S::Setting,
    pub(crate) sign: Sign,
    /// Injects it, and returns when its cause is gone.
    pub(crate) harm: fn(&mut S),
}

/// What was seen of a fault; times are from the clients' start.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) fault: &'static str,
    pub(crate) sign: Sign,
    pub(crate) clients: u64,
    pub(crate) begin: Duration,
    /// The cause is gone.
    pub(crate) end: Duration,
    /// Clients that were not served again.
    pub(crate) unserved: usize,
    pub(crate) written: Written,
    pub(crate) found: Found,
}

pub(crate) fn inject<S: Site>(fault: &Fault<S>, number: u64) -> Row {
    let mut site = S::start(fault.setting);
    let clients = Clients::start(site.address(), S::call(), number);
    assert_eq!(
        clients.wait_for_all(Duration::ZERO),
        0,
        "each client writes before the fault: {}",
        fault.name
    );
    thread::sleep(BEFORE);
    let asked = clients.elapsed();
    (fault.harm)(&mut site);
    let end = clients.elapsed();
    let begin = site.begun().map_or(asked, |at| clients.time_of(at));
    let unserved = clients.wait_for_all(end);
    thread::sleep(AFTER);
    let written = clients.stop();
    let found = site.found();
    let (fault, sign) = (fault.name, fault.sign);
    Row::of(&Seen { fault, sign, clients: number, begin, end, unserved, written, found })
}
