//! What users do, as the runner sees it: a [`Program`] is asked for each user's next step and never waits itself.
//!
//! The runner owns sockets, clocks and pacing; a program owns what is sent and what counts as a success. The requests
//! of a plan, a Lua script and a JavaScript one are programs. A program writes HTTP/1.1 text whatever the protocol on
//! the wire is; the runner translates it for HTTP/2.

pub mod call;
pub mod log_repeats;
mod response;
mod share;
mod stop;
pub mod table;

pub use response::{Answer, Keep};

use crate::measurement::counts::Counts;
use crate::measurement::record::{Outcome, Record, TransportError};
use crate::plan::hosts::Hosts;
use crate::program::call::{Ask, WaitEvent};
use crate::program::table::Tables;
use crate::units::Nanos;
use core::net::SocketAddr;

pub use share::RunShare;
pub use stop::StopFlag;

/// Makes the programs of a run, one a thread.
pub trait Workload: Sync {
    /// Called once on each thread before its first user is due.
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError>;

    /// The address that all connections of a thread go to, where it is not the target's.
    fn address(&self, _thread: ThreadPlace) -> Option<SocketAddr> {
        None
    }

    /// Targets and names of requests, where programs find them while the run goes instead of the plan saying them.
    fn tables(&self) -> Option<&Tables> {
        None
    }

    /// Names that are not asked the system for.
    fn hosts(&self) -> Option<&Hosts> {
        None
    }

    /// Called each second, from the thread that gathers what was measured.
    fn tick(&self, _elapsed: Nanos) -> RunControl {
        RunControl::Continue
    }
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunControl {
    Continue,
    /// The run ends at once, as if its user had stopped it.
    Stop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadPlace {
    /// From 0.
    pub number: u32,
    pub threads: u32,
}

impl ThreadPlace {
    /// True where a user is one of this thread's: users are dealt out to threads by their numbers.
    pub const fn has(self, user: u32) -> bool {
        user % self.threads == self.number
    }

    /// The place of one of this thread's users among them, from 0.
    pub const fn index_of(self, user: u32) -> usize {
        (user / self.threads) as usize
    }

    /// How many of a run's users are this thread's.
    pub const fn count_of(self, users: u32) -> usize {
        let (each, rest) = (users / self.threads, users % self.threads);
        (if self.number < rest { each + 1 } else { each }) as usize
    }
}

/// A user of a run. Numbers go over all scenarios and threads, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct UserPlace {
    pub number: u32,
    /// Index into the plan's scenarios.
    pub scenario: usize,
}

/// What the users of one thread do.
pub trait Program {
    /// The user's next step, because of an event that its last one has led to.
    fn next(&mut self, user: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError>;

    /// How long the iteration that the user begins next may take. Called before [`Event::Begin`] of users whose flow is a
    /// script: while a program computes, nobody else can end the iteration, so that it does so itself, with
    /// [`Step::EndInterrupted`]. Where its user waits, [`WaitEvent::Interrupted`] comes.
    fn limit_iteration(&mut self, _user: UserPlace, _time_left: Nanos) {}

    /// Judges one whole response to a request of [`Step::Send`]; called before `next`, in the order of the requests. Unless a
    /// program has rules of its own, the status decides.
    fn judge(
        &mut self,
        _user: UserPlace,
        _request: usize,
        response: &Answer<'_>,
    ) -> Result<Outcome, ProgramError> {
        Ok(Outcome::of_status(response.status))
    }

    /// A second of the run is over, or all of it: what the program has counted since the last one.
    fn end_second(&mut self) -> Counts {
        Counts::default()
    }
}

/// Why a program is asked for a user's next step.
#[derive(Debug)]
pub enum Event<'a> {
    /// An iteration begins.
    Begin,
    /// The time of [`Step::Pause`] is over.
    Paused,
    /// All requests of the last [`Step::Send`] were answered.
    Answered,
    /// The last [`Step::Send`] was given up; requests that were answered before have been judged.
    Failed(TransportError),
    /// Something has come for a user whose last step was [`Step::Wait`].
    Waited(WaitEvent<'a>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Write what [`Outgoing`] holds; several requests are pipelined on one connection.
    Send,
    Pause(Nanos),
    /// The iteration goes on with [`Event::Waited`] when something comes of what the user has asked for
    /// ([`Outgoing::asks`]), or after this time, counted from now.
    Wait(Option<Nanos>),
    /// The iteration is over; think time and pacing follow. What its user still has open is dropped.
    EndIteration,
    /// The iteration was ended because it had no more time ([`Program::limit_iteration`]) or the run was stopped, and does
    /// not count as completed. What its user still has open is dropped.
    EndInterrupted,
    /// The user takes part no more.
    Leave,
    /// No user of this thread starts anything any more.
    StopThread,
}

/// The requests of one step.
#[derive(Debug, Default)]
pub struct Outgoing {
    pub text: Vec<u8>,
    pub requests: Vec<Sent>,
    /// Begun in this order with whatever step is returned.
    pub asks: Vec<Ask>,
    /// What the program counts itself, of calls that are not counted: each is over.
    pub records: Vec<Record>,
    /// Requests that it would have counted itself, and that have no end: its user was interrupted.
    pub unfinished: u32,
}

/// One request within [`Outgoing::text`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Index into the plan's requests, under which it is counted.
    pub request: usize,
    /// Index into the plan's targets; the same for all requests of one step.
    pub target: usize,
    /// Where its text ends.
    pub text_end: usize,
    /// An answer to HEAD has no body, whatever its headers say.
    pub is_head: bool,
    pub keep: Keep,
}

impl Outgoing {
    #[inline]
    pub fn clear(&mut self) {
        self.text.clear();
        self.requests.clear();
        self.asks.clear();
        self.records.clear();
        self.unfinished = 0;
    }

    /// Ends the request whose text was just appended.
    pub fn end_request(&mut self, request: usize, target: usize, is_head: bool, keep: Keep) {
        self.requests.push(Sent { request, target, text_end: self.text.len(), is_head, keep });
    }
}

/// Why a program cannot go on; the run ends with this message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    /// A script's own error, which names its place.
    #[error("{0}")]
    Script(String),
    #[error("the script was prepared for {prepared} threads, not {threads}")]
    Threads { prepared: usize, threads: u32 },
    /// It was being made when the run was stopped; whoever has stopped it says why.
    #[error("the run was stopped before it began")]
    Stopped,
    #[error("a program sent a step without a request")]
    NoRequest,
    #[error("a program asked for something in a step that does not wait for it")]
    AskWithoutWait,
    #[error("a program asked for a call without its text")]
    CallWithoutText,
    #[error("a program opened a channel to a target that has none")]
    NoChannel,
    #[error("a program opened a WebSocket without a request")]
    WebSocketWithoutText,
}
