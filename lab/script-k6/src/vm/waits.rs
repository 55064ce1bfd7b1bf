//! What a user has asked for and waits for: arrivals in the order they came, and timers. Knows no JavaScript.

use prony_model::program::Answer;
use prony_model::program::call::{
    AskId, CallBytes, CallFault, CallTimes, ChannelEvent, Peer, SocketClose, SocketEvent, SocketMessage,
    WaitEvent,
};
use prony_model::units::Nanos;
use std::collections::VecDeque;

/// Something that came for a user.
#[derive(Debug)]
pub enum Heard {
    /// A timer is over.
    Due,
    Answered(Box<Answered>),
    Failed(Box<Failed>),
    Socket(SocketHeard),
    Channel(ChannelArrival),
}

/// [`ChannelEvent`], kept.
#[derive(Debug)]
pub enum ChannelArrival {
    Opened { times: CallTimes },
    Received { head: Vec<u8>, body: Vec<u8>, peer: Peer },
    Ended { status: u16, trailers: Vec<u8>, times: CallTimes, peer: Peer },
    Failed(Box<Failed>),
}

/// A whole answer with what is known of its call.
#[derive(Debug, Default)]
pub struct Answered {
    pub status: u16,
    /// Status line and headers as received, the empty line included.
    pub head: Vec<u8>,
    /// Without the transfer coding.
    pub body: Vec<u8>,
    pub times: CallTimes,
    pub peer: Peer,
    pub bytes: CallBytes,
}

#[derive(Debug)]
pub struct Failed {
    pub fault: CallFault,
    pub times: CallTimes,
    pub peer: Peer,
    pub bytes: CallBytes,
}

/// [`SocketEvent`], kept.
#[derive(Debug)]
pub enum SocketHeard {
    Opened(Box<Answered>),
    Refused(Box<Answered>),
    Message(SocketMessage),
    Closed(SocketClose),
    Failed(Box<Failed>),
}

/// What a parked user goes on with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Awaited {
    #[default]
    Anything,
    One(AskId),
    Any(Vec<AskId>),
}

/// One user's.
#[derive(Debug, Default)]
pub struct Waits {
    inbox: VecDeque<(AskId, Heard)>,
    /// What a callback is called for, until it takes it. While it waits for something else, more may come under the same number.
    handed: Option<(AskId, Heard)>,
    /// In no order: a user has few.
    timers: Vec<(Nanos, AskId)>,
    pub(super) awaited: Awaited,
    last_id: AskId,
}

impl Heard {
    /// True where nothing more can come under the same number.
    pub fn is_last(&self) -> bool {
        match self {
            Self::Due | Self::Answered(_) | Self::Failed(_) => true,
            Self::Socket(news) => {
                matches!(news, SocketHeard::Refused(_) | SocketHeard::Closed(_) | SocketHeard::Failed(_))
            }
            Self::Channel(arrival) => {
                matches!(arrival, ChannelArrival::Ended { .. } | ChannelArrival::Failed(_))
            }
        }
    }
}

impl Waits {
    pub fn new_id(&mut self) -> AskId {
        self.last_id += 1;
        self.last_id
    }

    /// A timer that is due at a time of [`crate::host::Host::now`].
    pub fn start_timer(&mut self, due: Nanos) -> AskId {
        let id = self.new_id();
        self.timers.push((due, id));
        id
    }

    /// True until it is due.
    pub fn has_timer(&self, id: AskId) -> bool {
        self.timers.iter().any(|(_, timer)| *timer == id)
    }

    /// Starts a timer that is over once more, under its number.
    pub fn restart_timer(&mut self, id: AskId, due: Nanos) {
        self.timers.push((due, id));
    }

    /// Also forgets it where it is due and was not heard yet.
    pub fn stop_timer(&mut self, id: AskId) {
        self.timers.retain(|(_, timer)| *timer != id);
        self.forget(id);
    }

    /// The next park ends when something comes of this.
    pub fn await_one(&mut self, id: AskId) {
        self.awaited = Awaited::One(id);
    }

    /// The next park ends when something comes of any of these.
    pub fn await_any(&mut self, ids: Vec<AskId>) {
        self.awaited = Awaited::Any(ids);
    }

    /// Takes the first that came under this number.
    pub fn take(&mut self, id: AskId) -> Option<Heard> {
        if let Some((_, heard)) = self.handed.take_if(|(handed, _)| *handed == id) {
            return Some(heard);
        }
        let index = self.inbox.iter().position(|(heard, _)| *heard == id)?;
        self.inbox.remove(index).map(|(_, heard)| heard)
    }

    /// Takes the first that came under any of these numbers.
    pub fn take_any(&mut self, ids: &[AskId]) -> Option<(AskId, Heard)> {
        if let Some(handed) = self.handed.take_if(|(handed, _)| ids.contains(handed)) {
            return Some(handed);
        }
        let index = self.inbox.iter().position(|(heard, _)| ids.contains(heard))?;
        self.inbox.remove(index)
    }

    /// Nothing that came under this number is of interest.
    pub fn forget(&mut self, id: AskId) {
        drop(self.handed.take_if(|(handed, _)| *handed == id));
        self.inbox.retain(|(heard, _)| *heard != id);
    }

    pub(super) fn front(&self) -> Option<(AskId, &Heard)> {
        self.inbox.front().map(|(id, heard)| (*id, heard))
    }

    pub(super) fn drop_front(&mut self) {
        self.inbox.pop_front();
    }

    /// Keeps what came first for the callback that is called next.
    pub(super) fn hand_front(&mut self) {
        self.handed = self.inbox.pop_front();
    }

    /// A callback that did not take what it was called for would be called for it for ever.
    pub(super) fn drop_handed(&mut self) {
        self.handed = None;
    }

    pub(crate) fn push(&mut self, id: AskId, heard: Heard) {
        self.inbox.push_back((id, heard));
    }

    /// Timers that are over join the inbox, the earliest first.
    pub(super) fn ring(&mut self, now: Nanos) {
        if self.timers.iter().all(|(due, _)| *due > now) {
            return;
        }
        let mut due: Vec<_> = self.timers.extract_if(.., |(due, _)| *due <= now).collect();
        due.sort_unstable();
        self.inbox.extend(due.into_iter().map(|(_, id)| (id, Heard::Due)));
    }

    /// True where what is awaited has come.
    pub(super) fn is_met(&self) -> bool {
        match &self.awaited {
            Awaited::Anything => !self.inbox.is_empty(),
            Awaited::One(id) => self.has(|heard| heard == id),
            Awaited::Any(ids) => self.has(|heard| ids.contains(heard)),
        }
    }

    fn has(&self, is_meant: impl Fn(&AskId) -> bool) -> bool {
        self.handed.iter().chain(&self.inbox).any(|(heard, _)| is_meant(heard))
    }

    /// A timer that was waited for needs no taking.
    pub(super) fn end_park(&mut self) {
        if let Awaited::One(id) = std::mem::take(&mut self.awaited)
            && let Some(index) = self.inbox.iter().position(|(heard, _)| *heard == id)
            && matches!(self.inbox[index].1, Heard::Due)
        {
            self.inbox.remove(index);
        }
    }

    /// When a user goes on that waits for one timer and nothing else.
    pub(super) fn sleeps_until(&self) -> Option<Nanos> {
        let Awaited::One(id) = self.awaited else { return None };
        self.timers.iter().find(|(_, timer)| *timer == id).map(|(due, _)| *due)
    }

    /// When the next timer is due.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        self.timers.iter().map(|(due, _)| *due).min()
    }

    /// For the next iteration. Numbers go on, so that a late answer is not taken for another's.
    pub(crate) fn clear(&mut self) {
        self.inbox.clear();
        self.handed = None;
        self.timers.clear();
        self.awaited = Awaited::Anything;
    }
}

/// What has come to a user, kept beyond this moment; nothing where it is not of something asked for.
pub(crate) fn kept(event: WaitEvent<'_>) -> Option<(AskId, Heard)> {
    match event {
        WaitEvent::Woken | WaitEvent::Interrupted => None,
        WaitEvent::Answered { call, answer, times, peer, bytes } => {
            Some((call, Heard::Answered(Box::new(Answered { times, peer, bytes, ..answered(&answer) }))))
        }
        WaitEvent::Failed { call, fault, times, peer, bytes } => {
            Some((call, Heard::Failed(Box::new(Failed { fault, times, peer, bytes }))))
        }
        WaitEvent::Socket { socket, event, .. } => Some((socket, Heard::Socket(kept_of_socket(event)))),
        WaitEvent::Channel { id, event, .. } => Some((id, Heard::Channel(kept_of_channel(event)))),
    }
}

fn kept_of_socket(event: SocketEvent<'_>) -> SocketHeard {
    match event {
        SocketEvent::Opened { answer, times, peer } => {
            SocketHeard::Opened(Box::new(Answered { times, peer, ..answered(&answer) }))
        }
        SocketEvent::Refused { answer, times, peer } => {
            SocketHeard::Refused(Box::new(Answered { times, peer, ..answered(&answer) }))
        }
        SocketEvent::Message(message) => SocketHeard::Message(message),
        SocketEvent::Closed(close) => SocketHeard::Closed(close),
        SocketEvent::Failed { fault, times } => {
            let (peer, bytes) = (Peer::default(), CallBytes::default());
            SocketHeard::Failed(Box::new(Failed { fault, times, peer, bytes }))
        }
    }
}

fn kept_of_channel(event: ChannelEvent<'_>) -> ChannelArrival {
    match event {
        ChannelEvent::Opened { times, .. } => ChannelArrival::Opened { times },
        ChannelEvent::Received { head, body, peer } => {
            ChannelArrival::Received { head: head.to_vec(), body: body.to_vec(), peer }
        }
        ChannelEvent::Ended { status, trailers, times, peer } => {
            ChannelArrival::Ended { status, trailers: trailers.to_vec(), times, peer }
        }
        ChannelEvent::Failed { fault, times, peer } => {
            let bytes = CallBytes::default();
            ChannelArrival::Failed(Box::new(Failed { fault, times, peer, bytes }))
        }
    }
}

fn answered(answer: &Answer<'_>) -> Answered {
    Answered {
        status: answer.status,
        head: answer.head.to_vec(),
        body: answer.body.to_vec(),
        ..Answered::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_is_taken_in_order_and_only_by_who_waits() {
        let mut waits = Waits::default();
        let (call, timer) = (waits.new_id(), waits.start_timer(Nanos(30)));
        waits.await_one(call);
        waits.ring(Nanos(29));
        assert_eq!((waits.is_met(), waits.next_due()), (false, Some(Nanos(30))));
        waits.ring(Nanos(30));
        assert_eq!((waits.is_met(), waits.next_due()), (false, None));
        waits.push(call, Heard::Answered(Box::default()));
        assert!(waits.is_met());
        assert!(matches!(waits.take(call), Some(Heard::Answered(_))));
        assert!(matches!(waits.take_any(&[call, timer]), Some((_, Heard::Due))));
        assert!(waits.take(timer).is_none());
    }

    #[test]
    fn what_comes_while_a_callback_waits_is_not_what_it_was_called_for() {
        let mut waits = Waits::default();
        let (socket, call) = (waits.new_id(), waits.new_id());
        waits.push(socket, Heard::Socket(SocketHeard::Message(SocketMessage::Text("first".to_owned()))));
        waits.hand_front();
        assert!(matches!(waits.take(socket), Some(Heard::Socket(_))));
        waits.await_one(call);
        waits.push(socket, Heard::Socket(SocketHeard::Message(SocketMessage::Text("next".to_owned()))));
        assert!(!waits.is_met());
        waits.drop_handed();
        assert_eq!(waits.front().map(|(id, _)| id), Some(socket));
        waits.hand_front();
        waits.drop_handed();
        assert!(waits.take_any(&[socket, call]).is_none(), "nobody has taken it");
    }

    #[test]
    fn timers_ring_by_their_time_and_a_stopped_one_never() {
        let mut waits = Waits::default();
        let late = waits.start_timer(Nanos(20));
        let early = waits.start_timer(Nanos(10));
        let stopped = waits.start_timer(Nanos(5));
        let rung_and_stopped = waits.start_timer(Nanos(1));
        waits.ring(Nanos(1));
        waits.stop_timer(stopped);
        waits.stop_timer(rung_and_stopped);
        waits.ring(Nanos(99));
        let order: Vec<_> = std::iter::from_fn(|| {
            let id = waits.front()?.0;
            waits.drop_front();
            Some(id)
        })
        .collect();
        assert_eq!(order, [early, late]);
    }
}
