//! A program for tests whose users walk through steps: each asks for something, and the next begins when all of it is
//! over. What is heard is noted line by line.

#![allow(dead_code, reason = "each test file uses a part")]

use prony_load::{RunError, RunOptions, StopFlag, run_workload};
use prony_model::measurement::tally::StartCounts;
use prony_model::plan::hosts::Hosts;
use prony_model::program::call::{
    Ask, AskId, Call, CallTimes, SocketClose, SocketEvent, SocketMessage, SocketOpening, WaitEvent,
};
use prony_model::program::table::Tables;
use prony_model::program::{
    Answer, Event, Keep, Outgoing, Program, ProgramError, RunControl, Step, ThreadPlace, UserPlace, Workload,
};
use prony_model::{FlowDraft, LoadModel, Nanos, Outcome, PlanDraft, ResultFile, Target, WindowKind};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;

/// One thing that a user does.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Asks for all of these at once, and waits until each has ended.
    Calls(Vec<Get>),
    /// As `Calls`, and drops what has not ended by then.
    CallsFor(Nanos, Vec<Get>),
    Sleep(Nanos),
    CloseConnections,
    /// Waits for something that never comes.
    Forever,
    /// Opens a WebSocket, and waits until it has ended.
    Talk(Talk),
    /// Ends the run, and waits.
    Stop(StopFlag),
}

#[derive(Debug, Clone)]
pub(crate) struct Talk {
    pub(crate) url: String,
    pub(crate) timeout: Nanos,
    /// Sent as soon as it is open.
    pub(crate) says: Vec<SocketMessage>,
    /// After so many messages.
    pub(crate) closes_after: usize,
}

#[derive(Debug, Clone)]
pub(crate) struct Get {
    pub(crate) url: String,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) timeout: Nanos,
    pub(crate) is_fresh: bool,
    pub(crate) body: String,
}

pub(crate) fn get(url: &str, path: &'static str) -> Get {
    Get {
        url: url.to_owned(),
        method: "GET",
        path,
        timeout: Nanos::from_secs(20),
        is_fresh: false,
        body: String::new(),
    }
}

pub(crate) struct Walk {
    acts: Vec<Act>,
    tables: Tables,
    pub(crate) hosts: Hosts,
    /// The thread that cannot make its program.
    pub(crate) fails_on: Option<u32>,
    pub(crate) control: RunControl,
    /// What each user says when it is interrupted.
    pub(crate) unfinished: u32,
    heard: Mutex<Vec<String>>,
}

impl Walk {
    pub(crate) fn new(acts: Vec<Act>) -> Self {
        Self {
            acts,
            tables: Tables::default(),
            hosts: Hosts::default(),
            fails_on: None,
            control: RunControl::Continue,
            unfinished: 0,
            heard: Mutex::default(),
        }
    }

    fn note(&self, user: UserPlace, line: &str) {
        self.heard.lock().unwrap().push(format!("{}: {line}", user.number));
    }

    /// In the order in which it was heard.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

impl Workload for Walk {
    fn program(&self, thread: ThreadPlace) -> Result<Box<dyn Program + '_>, ProgramError> {
        if self.fails_on == Some(thread.number) {
            return Err(ProgramError::Script("script.js:1: boom".to_owned()));
        }
        Ok(Box::new(Walker { walk: self, users: BTreeMap::new(), next_id: 0 }))
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn hosts(&self) -> Option<&Hosts> {
        Some(&self.hosts)
    }

    fn tick(&self, _: Nanos) -> RunControl {
        self.control
    }
}

struct Walker<'a> {
    walk: &'a Walk,
    users: BTreeMap<u32, WalkingUser>,
    next_id: AskId,
}

#[derive(Default)]
struct WalkingUser {
    at: usize,
    /// Calls without an end, with their paths.
    open: BTreeMap<AskId, &'static str>,
    bounded: bool,
    /// What is said on the open socket, and how many messages were heard.
    talk: Option<(Talk, usize)>,
}

impl WalkingUser {
    /// What is heard as text; true where the socket is over.
    fn hear_socket(&mut self, id: AskId, news: SocketEvent<'_>, asks: &mut Vec<Ask>) -> (String, bool) {
        let (talk, heard) = self.talk.as_mut().expect("a socket was opened");
        match news {
            SocketEvent::Opened { answer, times, .. } => {
                asks.extend(talk.says.drain(..).map(|message| Ask::SendSocket(id, message)));
                if talk.closes_after == 0 {
                    asks.push(close(id));
                }
                (format!("opened {}{}", answer.status, shown(&times)), false)
            }
            SocketEvent::Refused { answer, .. } => {
                (format!("refused {} {}", answer.status, String::from_utf8_lossy(answer.body)), true)
            }
            SocketEvent::Message(message) => {
                *heard += 1;
                if *heard == talk.closes_after {
                    asks.push(close(id));
                }
                let mut text = format!("{message:?}");
                text.truncate(60);
                (text, false)
            }
            SocketEvent::Closed(close) => (format!("closed {} {}", close.code, close.reason), true),
            SocketEvent::Failed { fault, .. } => (format!("failed {:?}", fault.kind), true),
        }
    }
}

fn close(id: AskId) -> Ask {
    Ask::CloseSocket(id, SocketClose { code: 1000, reason: "enough".to_owned() })
}

impl Walker<'_> {
    fn step(&mut self, user: UserPlace, out: &mut Outgoing) -> Step {
        let walking = self.users.entry(user.number).or_default();
        let Some(act) = self.walk.acts.get(walking.at) else { return Step::EndIteration };
        walking.at += 1;
        walking.bounded = matches!(act, Act::CallsFor(..));
        match act {
            Act::Sleep(time) => return Step::Wait(Some(*time)),
            Act::Forever => return Step::Wait(None),
            Act::Talk(talk) => {
                let id = self.next_id;
                self.next_id += 1;
                walking.open.insert(id, "socket");
                walking.talk = Some((talk.clone(), 0));
                let target = Target::parse(&talk.url).unwrap();
                let text = format!("GET /socket HTTP/1.1\r\nHost: {}\r\n\r\n", target.authority());
                out.text.extend_from_slice(text.as_bytes());
                let target = self.walk.tables.targets.index_of(target).unwrap();
                let (text, timeout) = (0..text.len(), talk.timeout);
                out.asks.push(Ask::OpenSocket(SocketOpening {
                    id,
                    target,
                    text,
                    timeout,
                    outlives_iteration: false,
                }));
                return Step::Wait(None);
            }
            Act::Stop(flag) => {
                flag.stop();
                return Step::Wait(None);
            }
            Act::CloseConnections => {
                out.asks.push(Ask::CloseConnections);
                return Step::Wait(Some(Nanos::ZERO));
            }
            Act::Calls(gets) | Act::CallsFor(_, gets) => {
                for get in gets {
                    let id = self.next_id;
                    self.next_id += 1;
                    walking.open.insert(id, get.path);
                    out.asks.push(Ask::Call(self.walk.call(id, get, &mut out.text)));
                }
            }
        }
        Step::Wait(if let Act::CallsFor(time, _) = act { Some(*time) } else { None })
    }
}

impl Walk {
    fn call(&self, id: AskId, get: &Get, out: &mut Vec<u8>) -> Call {
        let begin = out.len();
        let target = Target::parse(&get.url).unwrap();
        let (method, path, host, body) = (get.method, get.path, target.authority(), &get.body);
        let length =
            if body.is_empty() { String::new() } else { format!("Content-Length: {}\r\n", body.len()) };
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{length}\r\n{body}");
        out.extend_from_slice(text.as_bytes());
        Call {
            id,
            target: self.tables.targets.index_of(target).unwrap(),
            request: Some(self.tables.name(get.path)),
            text: begin..out.len(),
            is_head: method == "HEAD",
            keep: Keep::Whole,
            timeout: get.timeout,
            is_fresh: get.is_fresh,
            expects: None,
        }
    }
}

impl Program for Walker<'_> {
    fn next(&mut self, user: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        match event {
            Event::Begin => {
                self.users.insert(user.number, WalkingUser::default());
                Ok(self.step(user, out))
            }
            Event::Waited(event) => Ok(self.go_on(user, event, out)),
            other => panic!("users only wait: {other:?}"),
        }
    }

    fn judge(&mut self, _: UserPlace, _: usize, _: &Answer<'_>) -> Result<Outcome, ProgramError> {
        Err(ProgramError::Script("calls are not judged".to_owned()))
    }
}

impl Walker<'_> {
    fn go_on(&mut self, user: UserPlace, event: WaitEvent<'_>, out: &mut Outgoing) -> Step {
        let walking = self.users.get_mut(&user.number).unwrap();
        match event {
            WaitEvent::Woken if walking.bounded => {
                for (id, path) in std::mem::take(&mut walking.open) {
                    self.walk.note(user, &format!("{path} dropped"));
                    out.asks.push(Ask::DropCall(id));
                }
            }
            WaitEvent::Woken => {}
            WaitEvent::Interrupted => {
                self.walk.note(user, "interrupted");
                out.unfinished = self.walk.unfinished;
                return Step::EndIteration;
            }
            WaitEvent::Answered { call, answer, times, bytes, peer } => {
                let path = walking.open.remove(&call).expect("it was open");
                let body = String::from_utf8_lossy(answer.body);
                assert!(answer.head.starts_with(b"HTTP/1."));
                assert!(bytes.sent > 0);
                // Of streams whose answers came at once the first counts all.
                assert!(bytes.received > 0 || peer.is_http2);
                self.walk.note(user, &format!("{path} {} {body}{}", answer.status, shown(&times)));
            }
            WaitEvent::Failed { call, fault, times, .. } => {
                let path = walking.open.remove(&call).expect("it was open");
                self.walk.note(user, &format!("{path} {:?}{}", fault.kind, shown(&times)));
            }
            WaitEvent::Channel { .. } => unreachable!("no channel was opened"),
            WaitEvent::Socket { socket, event: news, .. } => {
                let (line, is_over) = walking.hear_socket(socket, news, &mut out.asks);
                if is_over {
                    walking.open.remove(&socket).expect("it was open");
                }
                self.walk.note(user, &line);
            }
        }
        if walking.open.is_empty() { self.step(user, out) } else { Step::Wait(None) }
    }
}

fn shown(times: &CallTimes) -> &'static str {
    let moments = [times.asked, times.resolved, times.connected, times.ready, times.sent, times.ended];
    assert!(moments.is_sorted(), "{times:?}");
    if let Some(first_byte) = times.first_byte {
        assert!(first_byte <= times.ended && times.asked <= first_byte, "{times:?}");
    }
    if times.is_new_connection { " (new connection)" } else { "" }
}

pub(crate) fn plan(load: LoadModel) -> PlanDraft {
    let mut draft = PlanDraft::new("walk", Target::new("unused", 80), load);
    draft.targets.clear();
    draft.scenarios[0].flow = FlowDraft::Script;
    draft
}

/// So many iterations of one user.
pub(crate) fn iterations(iterations: u64) -> LoadModel {
    LoadModel::per_user_iterations(1, iterations, Nanos::from_secs(600))
}

pub(crate) fn options() -> RunOptions {
    RunOptions { threads: NonZeroUsize::MIN, ..RunOptions::default() }
}

pub(crate) fn run_plan(walk: &Walk, draft: PlanDraft) -> Result<ResultFile, RunError> {
    run_workload(&draft.check().unwrap(), walk, options())
}

/// What one user hears in one iteration.
pub(crate) fn heard(acts: Vec<Act>) -> String {
    let walk = Walk::new(acts);
    run_plan(&walk, plan(iterations(1))).unwrap();
    walk.heard().join("\n")
}

pub(crate) fn starts(result: &ResultFile) -> StartCounts {
    let whole = result.window(WindowKind::Whole).unwrap();
    let mut starts = StartCounts::default();
    whole.by_scenario.iter().for_each(|scenario| starts.merge(&scenario.starts));
    starts
}
