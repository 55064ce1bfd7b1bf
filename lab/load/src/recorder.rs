//! Counts what the users of one thread do and what becomes of it, second by second.

use prony_client::ConnectionCounts;
use prony_model::measurement::counts::Counts;
use prony_model::measurement::tally::{StartCounts, Tally, TallyShape};
use prony_model::{Nanos, Record, Windows};
use std::mem;

#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    shape: TallyShape,
    windows: &'a Windows,
    tally: Tally,
    in_flight: u32,
    /// The last moment at which a response came, or the first request after none began to wait.
    last_sign: Nanos,
}

impl<'a> Recorder<'a> {
    pub(crate) fn new(windows: &'a Windows, shape: TallyShape) -> Self {
        let tally = Tally::new(windows, shape);
        Self { shape, windows, tally, in_flight: 0, last_sign: Nanos::ZERO }
    }

    // ---- starts

    /// The starts of a scenario in the window of this moment.
    pub(crate) fn starts_at(&mut self, due: Nanos, scenario: usize) -> &mut StartCounts {
        self.tally.starts_at(self.windows, due, scenario)
    }

    pub(crate) fn dropped(&mut self, due: Nanos, scenario: usize) {
        self.starts_at(due, scenario).dropped += 1;
        self.tally.interval_dropped += 1;
    }

    /// Something happened so long after it was due.
    pub(crate) fn late(&mut self, lateness: Nanos) {
        self.tally.lateness.record(lateness);
    }

    // ---- requests

    /// So many requests more are in flight.
    pub(crate) fn sent(&mut self, count: u32, now: Nanos) {
        self.tally.started += u64::from(count);
        if self.in_flight == 0 {
            self.last_sign = now;
        }
        self.in_flight += count;
    }

    /// A request has come to its end.
    pub(crate) fn ended(&mut self, record: &Record) {
        self.tally.record(self.windows, record);
        self.note_silence(record.ended);
        self.last_sign = record.ended;
        self.in_flight -= 1;
    }

    /// So many requests were given up without an end.
    pub(crate) fn abandoned(&mut self, count: u32, now: Nanos) {
        if count > 0 {
            self.note_silence(now);
        }
        self.in_flight -= count;
        self.tally.unfinished += u64::from(count);
    }

    /// The run is over: what is in flight has no end.
    pub(crate) fn abandon_all(&mut self, now: Nanos) {
        if self.in_flight > 0 {
            self.note_silence(now);
        }
        self.tally.unfinished += u64::from(self.in_flight);
    }

    /// Some request has waited until this moment, and no response came since the last sign.
    fn note_silence(&mut self, now: Nanos) {
        self.tally.longest_silence = self.tally.longest_silence.max(now.since(self.last_sign));
    }

    pub(crate) const fn in_flight(&self) -> u32 {
        self.in_flight
    }

    #[cfg(test)]
    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    // ---- seconds

    /// What was counted since this was last taken.
    pub(crate) fn take(&mut self, users_active: u32, counts: Counts, connections: ConnectionCounts) -> Tally {
        let fresh = Tally::new(self.windows, self.shape);
        let mut tally = mem::replace(&mut self.tally, fresh);
        (tally.users_active, tally.counts) = (users_active, counts);
        tally.interval_bytes_received += connections.websocket_bytes_received;
        let total = &mut tally.connections;
        total.opened = connections.opened;
        total.reopened = connections.reopened;
        total.refused = connections.refused;
        total.ports_exhausted = connections.ports_exhausted;
        total.tls_full_handshakes = connections.tls_full_handshakes;
        total.tls_resumed = connections.tls_resumed;
        tally
    }
}
