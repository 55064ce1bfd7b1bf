//! The bank: what an attack is, and all of them.

use std::{
    fmt,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crate::{
    filters, framing, graph, graphql, http2, postgres,
    site::{Served, Site},
    sockets, stores, streams, tls,
};

/// Where an attacker acts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) site: &'a Site,
    pub(crate) over: &'a AtomicBool,
    /// Which attacker it is.
    pub(crate) client: usize,
    /// How often it has acted before.
    pub(crate) number: u64,
}

/// What became of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Answer {
    Status(u16),
    /// The connection was closed, or nothing came.
    None,
    /// It was held until the end.
    Held,
}

type Act = Box<dyn Fn(&Field<'_>) -> Answer + Send + Sync>;
/// What an attack needs is made before each round; it is told which.
type Preparation = fn(&Site, usize);

pub(crate) struct Attack {
    pub(crate) class: &'static str,
    pub(crate) name: &'static str,
    /// Attackers at a time.
    pub(crate) clients: usize,
    pub(crate) served: Served,
    pub(crate) prepare: Preparation,
    pub(crate) act: Act,
}

impl fmt::Debug for Attack {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Attack").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "{status}"),
            Self::None => formatter.write_str("closed"),
            Self::Held => formatter.write_str("held"),
        }
    }
}

impl Field<'_> {
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Another number for each act of each attacker.
    pub(crate) fn unique(&self) -> u64 {
        self.client as u64 * 1_000_000 + self.number
    }

    /// Calls `act` again and again, with pauses, until the attack is over or it says false.
    pub(crate) fn hold(&self, pause: Duration, mut act: impl FnMut() -> bool) -> Answer {
        while !self.is_over() {
            if !act() {
                return Answer::None;
            }
            thread::sleep(pause);
        }
        Answer::Held
    }
}

impl Attack {
    pub(crate) fn new(
        class: &'static str,
        name: &'static str,
        clients: usize,
        act: impl Fn(&Field<'_>) -> Answer + Send + Sync + 'static,
    ) -> Self {
        Self { class, name, clients, served: Served::Files, prepare: |_, _| (), act: Box::new(act) }
    }

    /// On another server than that of tables, a graph and series in files.
    pub(crate) fn on(self, served: Served) -> Self {
        Self { served, ..self }
    }

    pub(crate) fn prepared(self, prepare: Preparation) -> Self {
        Self { prepare, ..self }
    }
}

pub(crate) fn all() -> Vec<Attack> {
    let classes = [
        graphql::attacks(),
        filters::attacks(),
        framing::attacks(),
        sockets::attacks(),
        streams::attacks(),
        stores::attacks(),
        graph::attacks(),
        postgres::attacks(),
        tls::attacks(),
        http2::attacks(),
    ];
    classes.into_iter().flatten().collect()
}
