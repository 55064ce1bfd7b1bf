//! The queue in which users tell subscribers what they publish, one for each thread of subscribers. A mutation is put there
//! before its request is written, so that whoever reads an event finds its mutation in the queue.

use prony_model::Plan;
use prony_model::subscription::FanOut;
use prony_model::subscription::token::Token;
use std::mem;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

#[derive(Debug)]
pub(crate) struct PublicationQueue {
    /// Of all tokens of the run.
    pub(crate) run: u32,
    /// By request: the groups of subscribers whose events it makes.
    groups: Vec<Vec<usize>>,
    boxes: Vec<Mutex<Vec<Notice>>>,
}

/// What happened to a mutation, for one group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) group: usize,
    pub(crate) token: Token,
    pub(crate) at: Instant,
    pub(crate) what: Published,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Published {
    /// It is written right after this; subscriptions with this key are owed an event.
    Sent { key: Box<[u8]> },
    /// Its answer was read and was as expected.
    Acknowledged,
    /// Anything else became of it: nobody can say whether an event is owed.
    Failed,
}

impl PublicationQueue {
    /// `run` has to differ from that of other runs against the same target.
    pub(crate) fn new(plan: &Plan, threads: u32, run: u32) -> Self {
        let groups = (0..plan.requests().len()).map(|request| {
            let groups = plan.subscriptions().iter().enumerate();
            let fed =
                groups.filter(|(_, group)| group.fan_out.as_ref().is_some_and(|f| f.request == request));
            fed.map(|(index, _)| index).collect()
        });
        let boxes = (0..threads).map(|_| Mutex::default());
        Self { run, groups: groups.collect(), boxes: boxes.collect() }
    }

    /// The groups of subscribers that a request makes events for.
    pub(crate) fn groups_of(&self, request: usize) -> &[usize] {
        self.groups.get(request).map_or(&[], Vec::as_slice)
    }

    /// The variable that holds the token of a request, where it makes events.
    pub(crate) fn token_of(&self, plan: &Plan, request: usize) -> Option<usize> {
        let group = self.groups_of(request).first()?;
        plan.subscriptions()[*group].fan_out.as_ref().map(|FanOut { variable, .. }| *variable)
    }

    pub(crate) fn put(&self, notice: &Notice) {
        for one in &self.boxes {
            one.lock().unwrap_or_else(PoisonError::into_inner).push(notice.clone());
        }
    }

    /// What has come for a thread since it last looked; `emptied` has no notices and gives its memory.
    pub(crate) fn take(&self, thread: u32, emptied: &mut Vec<Notice>) {
        let mut notices = self.boxes[thread as usize].lock().unwrap_or_else(PoisonError::into_inner);
        mem::swap(&mut *notices, emptied);
    }
}
