//! The workers of one run as the coordinator knows them: who they are, how far they are, and when something was last heard of them.
//! It knows neither clock nor server: moments come in.

use crate::clock::ClockDifference;
use crate::message::{Assignment, CONTACT_MAX, Joined, Report, SILENCE};
use prony_model::measurement::snapshot::IntervalSnapshot;
use prony_model::program::RunShare;
use prony_model::result::{LabFigures, RunState, WorkerFigures};
use prony_model::verdict::finding::Finding;
use prony_model::{Nanos, Plan};
use serde_json::Value;
use std::time::{Duration, Instant};

/// A worker that has joined.
#[derive(Debug)]
pub(crate) struct Recruit {
    pub(crate) id: String,
    /// As results name it, unlike any other.
    pub(crate) name: String,
    pub(crate) joined: Joined,
    /// When something was last heard of it.
    pub(crate) heard: Instant,
    /// It was lost and has not been heard of since.
    pub(crate) is_missed: bool,
}

/// How far a worker is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It prepares its share.
    Preparing,
    Ready,
    Running,
    /// It has reported all it measured.
    Ended,
}

#[derive(Debug)]
pub(crate) struct Member {
    /// The share's number, which no other of the coordinator has.
    pub(crate) part: u32,
    /// The worker's.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) joined: Joined,
    pub(crate) share: RunShare,
    pub(crate) stage: Stage,
    /// What it was told of its share.
    pub(crate) assignment: Option<Box<Assignment>>,
    pub(crate) clock: Option<ClockDifference>,
    /// Whose share it is, where that one was lost.
    pub(crate) takes_over: Option<String>,
    /// The first second of it.
    pub(crate) from_second: u64,
    /// Others make its share from this second on.
    pub(crate) taken_over_from: Option<u64>,
    /// The start that it was told, by its own clock, and when its share begins after that; until it is known to have heard of it.
    pub(crate) told_start: Option<(u64, Nanos)>,
    late: Nanos,
    heard: Instant,
    /// When it was heard of again after a silence.
    back: Instant,
    /// When it last reported a second.
    reported: Instant,
    /// The number of the report that comes next: all before it have come, once each.
    next_report: u64,
    seconds: u64,
    is_silent: bool,
    lost_at: Option<Nanos>,
    reason: String,
    lab: Option<LabFigures>,
    findings: Vec<Finding>,
}

/// What became of a report.
#[derive(Debug, PartialEq)]
pub(crate) enum Taken {
    /// It has come before, or one before it is still on its way.
    Nothing,
    Second {
        snapshot: Box<IntervalSnapshot>,
        counted: Option<Value>,
    },
    Ended {
        ended: Nanos,
        is_early: bool,
        counted: Option<Value>,
    },
}

/// Something to be said of a worker that is not heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Silent,
    Back,
    Lost,
    /// It speaks and reports nothing.
    Hangs,
}

impl Member {
    pub(crate) fn new(
        (part, id): (u32, String),
        name: String,
        joined: Joined,
        share: RunShare,
        now: Instant,
    ) -> Self {
        Self {
            part,
            id,
            name,
            joined,
            share,
            stage: Stage::Preparing,
            assignment: None,
            clock: None,
            takes_over: None,
            from_second: 0,
            taken_over_from: None,
            told_start: None,
            late: Nanos::ZERO,
            heard: now,
            back: now,
            reported: now,
            next_report: 0,
            seconds: 0,
            is_silent: false,
            lost_at: None,
            reason: String::new(),
            lab: None,
            findings: Vec::new(),
        }
    }

    pub(crate) fn hear(&mut self, now: Instant) {
        if now.saturating_duration_since(self.heard) > SILENCE {
            self.back = now;
        }
        self.heard = now;
    }

    pub(crate) fn begun(&mut self, late: Nanos) {
        (self.late, self.told_start) = (late, None);
    }

    /// All reports below this number have come.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.next_report
    }

    /// Takes a report that is the next one; others are sent again.
    pub(crate) fn take(&mut self, number: u64, report: Report, now: Instant) -> Taken {
        if number != self.next_report || self.stage == Stage::Ended {
            return Taken::Nothing;
        }
        self.next_report += 1;
        (self.reported, self.told_start) = (now, None);
        match report {
            Report::Second { snapshot, counted } => {
                self.seconds = snapshot.second + 1;
                Taken::Second { snapshot: Box::new(snapshot), counted }
            }
            Report::Ended { state, ended_ns, reason, lab, findings, counted } => {
                (self.stage, self.lab, self.findings) = (Stage::Ended, Some(lab), findings);
                let is_early = state != RunState::Completed;
                if is_early {
                    self.reason = reason;
                } else {
                    // It was cut off for a while, and all of it came after all.
                    self.lost_at = None;
                }
                Taken::Ended { ended: Nanos(ended_ns), is_early, counted }
            }
        }
    }

    pub(crate) fn lose(&mut self, at: Nanos, reason: &str) {
        if self.lost_at.is_none() {
            self.lost_at = Some(at);
            if self.reason.is_empty() {
                reason.clone_into(&mut self.reason);
            }
        }
    }

    pub(crate) const fn is_lost(&self) -> bool {
        self.lost_at.is_some()
    }

    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Nothing more is waited for: it has ended, or is lost and does not speak, or speaks and reports nothing.
    pub(crate) fn is_done(&self, now: Instant, reached_since: Instant) -> bool {
        let reports_nothing = self.unreported(now, reached_since) > CONTACT_MAX;
        let is_silent = self.silence(now, reached_since) > SILENCE;
        self.stage == Stage::Ended || self.is_lost() && (reports_nothing || is_silent)
    }

    /// For how long it has reported nothing, of the time in which it could: the server was reached, and it was not silent before.
    fn unreported(&self, now: Instant, reached_since: Instant) -> Duration {
        now.saturating_duration_since(self.reported.max(self.back).max(reached_since))
    }

    /// For how long nothing was heard, of the time in which the server was reached.
    pub(crate) fn silence(&self, now: Instant, reached_since: Instant) -> Duration {
        now.saturating_duration_since(self.heard.max(reached_since))
    }

    /// What is to be said of it now, once each; `reached_since`: since when the coordinator has reached the server.
    pub(crate) fn watch(&mut self, now: Instant, reached_since: Instant) -> Option<Sign> {
        if self.stage == Stage::Ended {
            return None;
        }
        let silence = self.silence(now, reached_since);
        let hangs = self.stage == Stage::Running
            && silence <= SILENCE
            && self.unreported(now, reached_since) > CONTACT_MAX;
        if (silence > CONTACT_MAX || hangs) && !self.is_lost() {
            return Some(if silence > CONTACT_MAX { Sign::Lost } else { Sign::Hangs });
        }
        let is_silent = silence > SILENCE;
        if is_silent == self.is_silent {
            return None;
        }
        self.is_silent = is_silent;
        Some(if is_silent { Sign::Silent } else { Sign::Back })
    }

    /// When something was last heard of it.
    pub(crate) const fn heard(&self) -> Instant {
        self.heard
    }

    /// It prepares the share of another, or waits for the second from which on that is its.
    pub(crate) const fn is_about_to_take_over(&self) -> bool {
        self.takes_over.is_some() && matches!(self.stage, Stage::Preparing | Stage::Ready)
    }

    /// The share that it may not have heard of, or may have said in vain that it is ready for.
    pub(crate) fn told_share(&self) -> Option<&Assignment> {
        self.assignment.as_deref().filter(|_| self.stage == Stage::Preparing && !self.is_lost())
    }

    /// It has been told a start.
    pub(crate) const fn has_begun(&self) -> bool {
        self.takes_over.is_none() || self.from_second > 0
    }

    /// Nothing more comes of it.
    pub(crate) fn give_up(&mut self) {
        self.stage = Stage::Ended;
    }

    /// The run has begun.
    pub(crate) fn start(&mut self, now: Instant) {
        (self.stage, self.reported) = (Stage::Running, now);
    }

    pub(crate) fn figures(&self, plan: &Plan) -> WorkerFigures {
        let clock = self.clock;
        WorkerFigures {
            name: self.name.clone(),
            labels: self.joined.labels.clone(),
            machine: self.joined.machine.clone(),
            descriptors_max: self.joined.descriptors_max,
            users: self.share.users(0, plan.users()),
            threads: self.joined.threads,
            clock_offset_ns: clock.map_or(0, |clock| clock.wall_ns),
            clock_uncertainty_ns: clock.map_or(Nanos::ZERO, |clock| clock.uncertainty),
            start_late_ns: self.late,
            seconds: self.seconds.saturating_sub(self.from_second),
            takes_over: self.takes_over.clone(),
            from_second: self.from_second,
            taken_over_from: self.taken_over_from,
            lost_at_ns: self.lost_at,
            reason: self.reason.clone(),
            lab: self.lab.clone(),
            findings: self.findings.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::joined;
    use prony_model::measurement::snapshot::RequestNames;
    use prony_model::measurement::tally::{Tally, TallyShape};
    use prony_model::{LoadModel, PlanDraft, RequestDraft, Target};
    use std::collections::BTreeMap;

    fn member(now: Instant) -> Member {
        let joined = joined("ä", &BTreeMap::new(), 1);
        Member::new((1, "1".to_owned()), "ä".to_owned(), joined, RunShare::WHOLE, now)
    }

    fn second(second: u64) -> Report {
        let load = LoadModel::constant(1, Nanos::from_secs(9));
        let mut draft = PlanDraft::new("p", Target::new("test", 80), load);
        draft.requests = vec![RequestDraft::get("a", "/")];
        let plan = draft.check().unwrap();
        let tally = Tally::new(&plan.windows(), TallyShape::of(&plan));
        let names = RequestNames { plan: &plan, found: None };
        Report::Second { snapshot: IntervalSnapshot::of(second, &tally, names), counted: None }
    }

    fn ended(state: RunState) -> Report {
        let (reason, lab, findings) = ("why".to_owned(), LabFigures::default(), Vec::new());
        Report::Ended { state, ended_ns: 7, reason, lab, findings, counted: None }
    }

    #[test]
    fn each_report_is_taken_once_and_in_its_order() {
        let now = Instant::now();
        let mut member = member(now);
        let mut take = |number, report| member.take(number, report, now);
        assert!(matches!(take(0, second(0)), Taken::Second { .. }));
        assert_eq!(take(0, second(0)), Taken::Nothing, "it came twice");
        assert_eq!(take(2, second(2)), Taken::Nothing, "the one before it is on its way");
        assert!(matches!(take(1, second(1)), Taken::Second { .. }));
        assert!(matches!(take(2, second(2)), Taken::Second { .. }));
        assert_eq!(
            take(3, ended(RunState::Completed)),
            Taken::Ended { ended: Nanos(7), is_early: false, counted: None }
        );
        assert_eq!(take(4, second(3)), Taken::Nothing, "nothing follows the end");
        assert_eq!((member.acknowledged(), member.seconds), (4, 3));
    }

    #[test]
    fn a_worker_is_silent_then_lost_and_may_come_back() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut member = member(begin);
        member.start(begin);
        let watch = |member: &mut Member, second| member.watch(at(second), begin);
        assert_eq!([1, 4, 5].map(|second| watch(&mut member, second)), [None, Some(Sign::Silent), None]);
        assert_eq!(watch(&mut member, 11), Some(Sign::Lost));
        member.lose(Nanos::from_secs(11), "silent");
        assert!(member.is_done(at(12), begin) && watch(&mut member, 12).is_none());
        member.hear(at(13));
        assert_eq!(watch(&mut member, 13), Some(Sign::Back));
        assert!(!member.is_done(at(14), begin), "it speaks, so the rest of what it measured may come");
        member.take(0, ended(RunState::Completed), at(14));
        assert!(!member.is_lost(), "all of it came after all");
    }

    #[test]
    fn a_worker_that_speaks_and_reports_nothing_hangs() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut member = member(begin);
        member.start(begin);
        (1..=11).for_each(|second| member.hear(at(second)));
        assert_eq!(member.watch(at(11), begin), Some(Sign::Hangs));
    }

    #[test]
    fn a_worker_that_is_gone_or_comes_back_does_not_hang() {
        let begin = Instant::now();
        let at = |tenths: u64| begin + Duration::from_millis(100 * tenths);
        let mut member = member(begin);
        member.start(begin);
        assert!(matches!(member.take(0, second(0), at(10)), Taken::Second { .. }));
        member.hear(at(19));
        assert_eq!([60, 112].map(|tenths| member.watch(at(tenths), begin)), [Some(Sign::Silent), None]);
        assert_eq!(member.watch(at(120), begin), Some(Sign::Lost), "it is gone");
        // Beats may come before what it has measured meanwhile.
        member.hear(at(115));
        assert_eq!(member.watch(at(116), begin), Some(Sign::Back));
        assert_eq!(member.watch(at(117), begin), None, "it has had no time to report");
    }

    #[test]
    fn a_lost_worker_that_speaks_and_reports_nothing_is_not_waited_for() {
        let begin = Instant::now();
        let at = |seconds| begin + Duration::from_secs(seconds);
        let mut member = member(begin);
        member.start(begin);
        (1..=11).for_each(|second| member.hear(at(second)));
        assert!(!member.is_done(at(11), begin), "it is not lost yet");
        member.lose(Nanos::from_secs(11), "it hangs");
        assert!(member.is_done(at(11), begin));
        // Where it was cut off instead, what it has measured may be on its way.
        member.hear(at(15));
        assert!(!member.is_done(at(16), begin));
        (16..=26).for_each(|second| member.hear(at(second)));
        assert!(member.is_done(at(26), begin));
    }

    #[test]
    fn time_without_the_server_is_nobody_s_silence() {
        let begin = Instant::now();
        let mut member = member(begin);
        member.start(begin);
        let later = begin + Duration::from_secs(60);
        assert_eq!(member.watch(later, later), None);
    }

    #[test]
    fn a_worker_that_ends_early_says_why() {
        let now = Instant::now();
        let mut member = member(now);
        assert_eq!(
            member.take(0, ended(RunState::Stopped), now),
            Taken::Ended { ended: Nanos(7), is_early: true, counted: None }
        );
        member.lose(Nanos::from_secs(2), "other");
        assert_eq!(member.reason(), "why");
    }
}
