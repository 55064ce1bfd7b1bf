//! The plan as a program of a load test: events go to the user that they belong to, its steps to the runner.

use crate::js::Engine;
use crate::run::groups::GroupsWorkload;
use crate::run::sink::ThreadSink;
use crate::run::user::{Runner, User};
use prony_model::measurement::counts::Counts;
use prony_model::program::{Event, Outgoing, Program, ProgramError, Step, ThreadPlace, UserPlace};
use rustc_hash::FxHashMap;

/// The users of one thread.
#[derive(Debug)]
pub(crate) struct GroupsProgram<'a> {
    workload: &'a GroupsWorkload,
    thread: ThreadPlace,
    engine: Engine,
    /// Made when they begin.
    users: Vec<Option<Box<User>>>,
    sink: ThreadSink<'a>,
    /// Indices of labels, which the tables of the run would be locked for.
    names: FxHashMap<String, usize>,
}

impl<'a> GroupsProgram<'a> {
    pub(crate) fn new(workload: &'a GroupsWorkload, thread: ThreadPlace) -> Self {
        Self {
            workload,
            thread,
            engine: Engine::default(),
            users: Vec::new(),
            sink: ThreadSink::new(&workload.sink),
            names: FxHashMap::default(),
        }
    }
}

impl Program for GroupsProgram<'_> {
    fn next(&mut self, place: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        let index = self.thread.index_of(place.number);
        if self.users.len() <= index {
            self.users.resize_with(index + 1, || None);
        }
        let Self { workload, engine, users, sink, names, .. } = self;
        let mut runner = Runner { workload, engine, sink, names, out };
        let user = users[index].get_or_insert_with(|| Box::new(User::new(workload, engine, place)));
        runner.next(user, event)
    }

    fn end_second(&mut self) -> Counts {
        self.sink.flush();
        Counts::default()
    }
}
