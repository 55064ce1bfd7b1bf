//! Counting records: one tally a thread, handed over and begun anew each second, merged by whoever collects them.

use crate::load::windows::Windows;
use crate::measurement::counts::Counts;
use crate::measurement::histogram::Latencies;
use crate::measurement::record::{Outcome, OutcomeKind, Record};
use crate::measurement::status_counts::StatusCounts;
use crate::plan::Plan;
use crate::subscription::tally::SubscriptionTally;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests of one name that were scheduled in one window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TallyCell {
    /// By [`OutcomeKind`]; named where it is written.
    #[serde(with = "outcomes")]
    outcomes: [u64; OutcomeKind::ALL.len()],
    /// Answered requests by unexpected status; a status has three digits, so this stays small. `responses` cannot say it: scripts
    /// may expect a status of one call and not of another.
    pub statuses: BTreeMap<u16, u64>,
    /// Responses by status, expected or not.
    #[serde(default)]
    pub responses: StatusCounts,
    /// Successes that ended within the window, whenever they began: what was delivered in it.
    pub delivered: u64,
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// From when a request was due, successes only.
    pub response: Latencies,
    /// From when work on a request began, successes only; empty where that is when it was due.
    pub service: Latencies,
    /// From when work on a request began to the first byte of its answer, successes only.
    pub first_byte: Latencies,
    pub errors: Latencies,
    pub timeouts: Latencies,
}

impl TallyCell {
    pub fn outcome(&self, kind: OutcomeKind) -> u64 {
        self.outcomes[kind as usize]
    }

    pub fn requests(&self) -> u64 {
        self.outcomes.iter().sum()
    }

    pub fn successes(&self) -> u64 {
        self.outcome(OutcomeKind::Success)
    }

    pub fn failures(&self) -> u64 {
        self.requests() - self.successes()
    }

    pub fn answered(&self) -> u64 {
        OutcomeKind::ALL.iter().filter(|kind| kind.is_answered()).map(|kind| self.outcome(*kind)).sum()
    }

    fn record(&mut self, record: &Record, keeps_service: bool) {
        let kind = record.outcome.kind();
        self.outcomes[kind as usize] += 1;
        self.bytes_sent += record.bytes_sent;
        self.bytes_received += record.bytes_received;
        let time = record.response_time();
        match kind {
            OutcomeKind::Success => {
                self.response.record(time);
                if keeps_service {
                    self.service.record(record.service_time());
                }
                if let Some(first) = record.first_byte {
                    self.first_byte.record(first.since(record.started));
                }
            }
            OutcomeKind::Timeout => self.timeouts.record(time),
            _ => self.errors.record(time),
        }
        if let Outcome::Status(status) = record.outcome {
            *self.statuses.entry(status).or_default() += 1;
        }
        if let Some(status) = record.status {
            self.responses.add(status, 1);
        }
    }

    pub fn merge(&mut self, other: &Self) {
        let Self {
            outcomes,
            statuses,
            responses,
            delivered,
            bytes_sent,
            bytes_received,
            response,
            service,
            first_byte,
            errors,
            timeouts,
        } = other;
        for (sum, count) in self.outcomes.iter_mut().zip(outcomes) {
            *sum += count;
        }
        for (status, count) in statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        self.responses.merge(responses);
        self.delivered += delivered;
        self.bytes_sent += bytes_sent;
        self.bytes_received += bytes_received;
        self.response.merge(response);
        self.service.merge(service);
        self.first_byte.merge(first_byte);
        self.errors.merge(errors);
        self.timeouts.merge(timeouts);
    }
}

/// Counts of outcomes by their names, in the place of positions.
mod outcomes {
    use super::{BTreeMap, Deserialize, OutcomeKind};
    use serde::{Deserializer, Serialize as _, Serializer};

    type Counts = [u64; OutcomeKind::ALL.len()];

    pub(super) fn serialize<S: Serializer>(counts: &Counts, to: S) -> Result<S::Ok, S::Error> {
        let named = OutcomeKind::ALL.into_iter().map(|kind| (kind, counts[kind as usize]));
        named.filter(|(_, count)| *count > 0).collect::<BTreeMap<_, _>>().serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Counts, D::Error> {
        let mut counts = Counts::default();
        for (kind, count) in BTreeMap::<OutcomeKind, u64>::deserialize(from)? {
            counts[kind as usize] = count;
        }
        Ok(counts)
    }
}

/// Connections over a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionCounts {
    pub opened: u64,
    /// Opened in place of one that the target had closed or that had failed.
    pub reopened: u64,
    pub refused: u64,
    /// No port was left to connect from.
    pub ports_exhausted: u64,
    /// Over connections that were opened; resumed ones are not among them.
    #[serde(default)]
    pub tls_full_handshakes: u64,
    /// Handshakes that went on with the session of an earlier connection.
    #[serde(default)]
    pub tls_resumed: u64,
}

/// Iterations of one scenario that were due in one window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartCounts {
    /// Asked for by the load model: `started` and `dropped` together, once all have had their time.
    pub due: u64,
    pub started: u64,
    /// Of `started`: had to wait until a user was free.
    pub waited: u64,
    /// Found no free user within the longest wait.
    pub dropped: u64,
    /// Of `started`: came to their end.
    pub completed: u64,
    /// How long those that were completed kept their users, together.
    #[serde(default)]
    pub users_busy_ns: Nanos,
}

impl ConnectionCounts {
    fn merge(&mut self, other: &Self) {
        let Self { opened, reopened, refused, ports_exhausted, tls_full_handshakes, tls_resumed } = other;
        self.opened += opened;
        self.reopened += reopened;
        self.refused += refused;
        self.ports_exhausted += ports_exhausted;
        self.tls_full_handshakes += tls_full_handshakes;
        self.tls_resumed += tls_resumed;
    }
}

impl StartCounts {
    pub fn merge(&mut self, other: &Self) {
        let Self { due, started, waited, dropped, completed, users_busy_ns } = other;
        self.due += due;
        self.started += started;
        self.waited += waited;
        self.dropped += dropped;
        self.completed += completed;
        self.users_busy_ns = self.users_busy_ns.plus(*users_busy_ns);
    }
}

/// How many of what a tally has to keep apart; requests may become more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TallyShape {
    pub requests: usize,
    pub scenarios: usize,
    pub subscriptions: usize,
    /// False where requests always begin when they are due.
    pub keeps_service: bool,
    /// True where somebody wants requests one by one.
    pub keeps_records: bool,
}

impl TallyShape {
    pub fn of(plan: &Plan) -> Self {
        Self {
            requests: plan.requests().len(),
            scenarios: plan.scenarios().len(),
            subscriptions: plan.subscriptions().len(),
            keeps_service: plan.is_open(),
            keeps_records: false,
        }
    }
}

/// What one thread saw since its last hand-over, all windows and names.
#[derive(Debug, Clone, PartialEq)]
pub struct Tally {
    /// By request, then by window. Requests that are named while the run goes are added behind.
    pub(super) cells: Vec<TallyCell>,
    /// Of a request that has no cells yet.
    empty: TallyCell,
    windows: usize,
    /// By window, then by scenario.
    pub(super) starts: Vec<StartCounts>,
    shape: TallyShape,
    pub interval_failures: u64,
    pub interval_timeouts: u64,
    pub interval_bytes_received: u64,
    /// Requests.
    pub started: u64,
    pub interval_dropped: u64,
    /// Users in an iteration or between two when it was handed over.
    pub users_active: u32,
    /// How late the lab itself was with each start.
    pub lateness: Latencies,
    pub connections: ConnectionCounts,
    /// The longest time without any answer while requests were waiting for one.
    pub longest_silence: Nanos,
    /// Requests without an end when the run stopped.
    pub unfinished: u64,
    /// What the program counted.
    pub counts: Counts,
    pub subscribers: SubscriptionTally,
    /// Requests one by one in the order in which they ended, where somebody wants them so: as many as a thread makes
    /// in a second.
    pub records: Vec<Record>,
}

impl Tally {
    pub fn new(windows: &Windows, shape: TallyShape) -> Self {
        Self {
            cells: vec![TallyCell::default(); windows.all().len() * shape.requests],
            empty: TallyCell::default(),
            windows: windows.all().len(),
            starts: vec![StartCounts::default(); windows.all().len() * shape.scenarios],
            shape,
            interval_failures: 0,
            interval_timeouts: 0,
            interval_bytes_received: 0,
            started: 0,
            interval_dropped: 0,
            users_active: 0,
            lateness: Latencies::default(),
            connections: ConnectionCounts::default(),
            longest_silence: Nanos::ZERO,
            unfinished: 0,
            counts: Counts::default(),
            subscribers: SubscriptionTally::new(shape.subscriptions, windows.all().len()),
            records: Vec::new(),
        }
    }

    /// Counts a record: its latency in the window in which it was due, its delivery in the one in which it ended.
    pub fn record(&mut self, windows: &Windows, record: &Record) {
        let last = windows.all().len() - 1;
        let due = windows.index_at(record.scheduled).unwrap_or(last);
        let keeps_service = self.shape.keeps_service;
        if self.shape.keeps_records {
            self.records.push(*record);
        }
        self.cell_mut(due, record.request).record(record, keeps_service);
        self.interval_bytes_received += record.bytes_received;
        match record.outcome.kind() {
            OutcomeKind::Success => {
                if let Some(end) = windows.index_at(record.ended) {
                    self.cell_mut(end, record.request).delivered += 1;
                }
            }
            OutcomeKind::Timeout => self.interval_timeouts += 1,
            _ => self.interval_failures += 1,
        }
    }

    pub(super) fn cell_mut(&mut self, window: usize, request: usize) -> &mut TallyCell {
        self.make_room(request + 1);
        &mut self.cells[request * self.windows + window]
    }

    fn make_room(&mut self, requests: usize) {
        if requests > self.shape.requests {
            self.shape.requests = requests;
            self.cells.resize_with(requests * self.windows, TallyCell::default);
        }
    }

    pub fn windows(&self) -> usize {
        self.windows
    }

    /// How many requests have cells.
    pub fn requests(&self) -> usize {
        self.shape.requests
    }

    /// Where the iterations of a scenario that are due at a time are counted.
    pub fn starts_at(&mut self, windows: &Windows, due: Nanos, scenario: usize) -> &mut StartCounts {
        let window = windows.index_at(due).unwrap_or(windows.all().len() - 1);
        &mut self.starts[window * self.shape.scenarios + scenario]
    }

    /// One scenario over several windows.
    pub fn starts_of(&self, windows: &[usize], scenario: usize) -> StartCounts {
        let mut sum = StartCounts::default();
        for window in windows {
            sum.merge(&self.starts[window * self.shape.scenarios + scenario]);
        }
        sum
    }

    pub fn merge(&mut self, other: &Self) {
        let Self {
            cells,
            empty: _,
            windows: _,
            starts,
            shape,
            interval_failures,
            interval_timeouts,
            interval_bytes_received,
            started,
            interval_dropped,
            users_active,
            lateness,
            connections,
            longest_silence,
            unfinished,
            counts,
            subscribers,
            records,
        } = other;
        self.make_room(shape.requests);
        for (cell, others) in self.cells.iter_mut().zip(cells) {
            cell.merge(others);
        }
        for (sum, others) in self.starts.iter_mut().zip(starts) {
            sum.merge(others);
        }
        self.interval_failures += interval_failures;
        self.interval_timeouts += interval_timeouts;
        self.interval_bytes_received += interval_bytes_received;
        self.started += started;
        self.interval_dropped += interval_dropped;
        self.users_active += users_active;
        self.lateness.merge(lateness);
        self.connections.merge(connections);
        self.longest_silence = self.longest_silence.max(*longest_silence);
        self.unfinished += unfinished;
        self.counts.merge(counts);
        self.subscribers.merge(subscribers);
        self.records.extend_from_slice(records);
    }

    /// As [`Self::merge`], of what the same thread saw next: how many there were at a hand-over does not add up.
    pub fn merge_next(&mut self, next: &Self) {
        self.merge(next);
        self.users_active = next.users_active;
        self.subscribers.active = next.subscribers.active;
    }

    /// Response times of all successes that it holds, for the second's row in the series: records come when a request
    /// ends, so those of one second are those that ended in it.
    pub fn response_times(&self) -> Latencies {
        let mut all = Latencies::default();
        self.cells.iter().for_each(|cell| all.merge(&cell.response));
        all
    }

    pub fn cell(&self, window: usize, request: usize) -> &TallyCell {
        self.cells.get(request * self.windows + window).unwrap_or(&self.empty)
    }

    /// One name over several windows.
    pub fn sum_of_request(&self, windows: &[usize], request: usize) -> TallyCell {
        let mut sum = TallyCell::default();
        for window in windows {
            sum.merge(self.cell(*window, request));
        }
        sum
    }

    /// All names over several windows.
    pub fn sum(&self, windows: &[usize]) -> TallyCell {
        let mut sum = TallyCell::default();
        for request in 0..self.shape.requests {
            sum.merge(&self.sum_of_request(windows, request));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LoadModel;
    use crate::measurement::record::TransportError;

    const ONE: TallyShape = TallyShape {
        requests: 1,
        scenarios: 1,
        subscriptions: 0,
        keeps_service: false,
        keeps_records: false,
    };

    fn record(scheduled: u64, ended: u64, outcome: Outcome) -> Record {
        let at = Nanos::from_millis;
        Record {
            request: 0,
            scheduled: at(scheduled),
            started: at(scheduled),
            first_byte: Some(at(ended)),
            ended: at(ended),
            outcome,
            status: match outcome {
                Outcome::Transport(_) => None,
                Outcome::Status(status) => Some(status),
                _ => Some(200),
            },
            bytes_sent: 10,
            bytes_received: 20,
        }
    }

    #[test]
    fn each_request_is_counted_once_and_only_successes_enter_the_latencies() {
        let windows =
            Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(10)))], Nanos::ZERO);
        let mut tally = Tally::new(&windows, ONE);
        for outcome in [
            Outcome::Success,
            Outcome::Status(503),
            Outcome::GraphQlErrors,
            Outcome::Transport(TransportError::Timeout),
            Outcome::Transport(TransportError::Read),
        ] {
            tally.record(&windows, &record(1, 2, outcome));
        }
        let cell = tally.sum(&[0]);
        assert_eq!((cell.requests(), cell.successes(), cell.failures(), cell.answered()), (5, 1, 4, 3));
        assert_eq!((cell.response.count(), cell.errors.count(), cell.timeouts.count()), (1, 3, 1));
        assert_eq!(cell.statuses, BTreeMap::from([(503, 1)]));
        assert_eq!(cell.responses.all().collect::<Vec<_>>(), [(200, 2), (503, 1)]);
        assert_eq!((cell.bytes_sent, cell.bytes_received), (50, 100));
    }

    #[test]
    fn requests_named_later_find_room() {
        let windows =
            Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(10)))], Nanos::ZERO);
        let (mut first, mut second) = (Tally::new(&windows, ONE), Tally::new(&windows, ONE));
        first.record(&windows, &record(1, 2, Outcome::Success));
        second.record(&windows, &Record { request: 3, ..record(1, 2, Outcome::Success) });
        assert_eq!((first.cell(0, 3).requests(), first.requests()), (0, 1));
        first.merge(&second);
        assert_eq!((first.cell(0, 0).requests(), first.cell(0, 3).requests(), first.requests()), (1, 1, 4));
        assert_eq!(first.sum(&[0]).requests(), 2);
    }

    #[test]
    fn statuses_of_successes_are_counted_one_by_one_and_merged() {
        let windows =
            Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(10)))], Nanos::ZERO);
        let (mut first, mut second) = (Tally::new(&windows, ONE), Tally::new(&windows, ONE));
        for (tally, status) in [(&mut first, 200), (&mut second, 204)] {
            tally.record(&windows, &Record { status: Some(status), ..record(1, 2, Outcome::Success) });
            tally.record(&windows, &Record { status: Some(301), ..record(1, 2, Outcome::Success) });
        }
        first.merge(&second);
        let cell = first.sum(&[0]);
        assert_eq!(cell.responses.all().collect::<Vec<_>>(), [(200, 1), (204, 1), (301, 2)]);
        assert!(cell.statuses.is_empty(), "all were expected");
    }

    #[test]
    fn a_status_can_be_expected_of_one_call_and_not_of_another() {
        let windows =
            Windows::of(&[(Nanos::ZERO, &LoadModel::constant(1, Nanos::from_secs(10)))], Nanos::ZERO);
        let mut tally = Tally::new(&windows, ONE);
        for outcome in [Outcome::Success, Outcome::Status(404), Outcome::Success] {
            tally.record(&windows, &Record { status: Some(404), ..record(1, 2, outcome) });
        }
        let cell = tally.sum(&[0]);
        assert_eq!(cell.responses.all().collect::<Vec<_>>(), [(404, 3)]);
        assert_eq!(cell.statuses, BTreeMap::from([(404, 1)]));
    }

    #[test]
    fn cells_of_before_have_no_statuses_of_successes() {
        let mut written = serde_json::to_value(TallyCell::default()).unwrap();
        written.as_object_mut().unwrap().remove("responses").unwrap();
        assert_eq!(serde_json::from_value::<TallyCell>(written).unwrap(), TallyCell::default());
    }

    #[test]
    fn latency_belongs_to_the_due_time_and_delivery_to_the_end() {
        let load = LoadModel::ramp_and_hold(1, Nanos::from_secs(1), Nanos::from_secs(1));
        let windows = Windows::of(&[(Nanos::ZERO, &load)], Nanos::ZERO);
        let mut tally = Tally::new(&windows, ONE);
        tally.record(&windows, &record(900, 1_100, Outcome::Success));
        tally.record(&windows, &record(1_900, 2_100, Outcome::Success));
        let (ramp, hold) = (tally.cell(0, 0), tally.cell(1, 0));
        assert_eq!((ramp.requests(), ramp.delivered), (1, 0));
        assert_eq!((hold.requests(), hold.delivered), (1, 1));
    }
}
