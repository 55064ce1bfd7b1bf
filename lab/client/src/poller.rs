//! Waits for sockets and for a moment, to the microsecond: epoll, edge-triggered, with a timer among its descriptors.

use prony_model::Nanos;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;

const TIMER: u64 = u64::MAX;
const WAKER: u64 = u64::MAX - 1;
/// Events taken at once; more wait in the kernel.
const EVENTS_MAX: usize = 1024;

pub(crate) struct Poller {
    epoll: OwnedFd,
    /// epoll's own timeout counts in milliseconds, which would make every think time up to one too long.
    timer: OwnedFd,
    armed_for: Nanos,
    events: Vec<Event>,
}

/// Readiness of one socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ready {
    pub token: u64,
    pub writable: bool,
    pub readable: bool,
    /// The peer sends no more: after the last bytes comes an end that is not told of again.
    pub is_ending: bool,
}

impl std::fmt::Debug for Poller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Poller").field("armed_for", &self.armed_for).finish_non_exhaustive()
    }
}

impl Poller {
    pub(crate) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        let timer =
            timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), flags)?;
        Ok(Self { epoll, timer, armed_for: Nanos::MAX, events: Vec::with_capacity(EVENTS_MAX) })
    }

    /// Registered once for everything: no event is ever armed again.
    pub(crate) fn add(&self, socket: impl AsFd, token: u64) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        Ok(epoll::add(&self.epoll, socket, EventData::new_u64(token), flags)?)
    }

    /// Registers what other threads wake this one with.
    pub(crate) fn add_waker(&self, bell: impl AsFd) -> io::Result<()> {
        let flags = EventFlags::IN | EventFlags::ET;
        Ok(epoll::add(&self.epoll, bell, EventData::new_u64(WAKER), flags)?)
    }

    /// Waits until something is ready or the moment `until` has come.
    pub(crate) fn wait(&mut self, now: Nanos, until: Nanos) -> io::Result<()> {
        self.events.clear();
        if until <= now {
            return self.collect(Some(&Timespec { tv_sec: 0, tv_nsec: 0 }));
        }
        // A timer that is set for an earlier moment stays: it wakes us once too often, which costs less.
        if until < self.armed_for || self.armed_for <= now {
            self.arm(until.since(now))?;
            self.armed_for = until;
        }
        self.collect(None)
    }

    pub(crate) fn ready(&self, index: usize) -> Option<Ready> {
        let event = self.events.get(index)?;
        let flags = event.flags;
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        Some(Ready {
            token: event.data.u64(),
            writable: broken || flags.contains(EventFlags::OUT),
            readable: broken || flags.intersects(EventFlags::IN | EventFlags::RDHUP),
            is_ending: broken || flags.contains(EventFlags::RDHUP),
        })
    }

    pub(crate) const fn is_timer(ready: Ready) -> bool {
        ready.token == TIMER
    }

    pub(crate) const fn is_waker(ready: Ready) -> bool {
        ready.token == WAKER
    }

    fn collect(&mut self, timeout: Option<&Timespec>) -> io::Result<()> {
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn arm(&self, after: Nanos) -> io::Result<()> {
        let value = Timespec {
            tv_sec: i64::try_from(after.0 / 1_000_000_000).unwrap_or(i64::MAX),
            tv_nsec: (after.0 % 1_000_000_000).cast_signed() as _,
        };
        let setting = Itimerspec { it_interval: Timespec { tv_sec: 0, tv_nsec: 0 }, it_value: value };
        timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &setting)?;
        Ok(())
    }
}
