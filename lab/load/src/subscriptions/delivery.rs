//! Which subscription expects an event of which mutation, and which events came: pure, for one group on one thread.
//!
//! A mutation is known by its token: publisher and sequence. An event of it is expected by each subscription of its key that
//! was in force when it was sent, provided that it is acknowledged. The first matching event counts as received, further ones
//! as duplicated. One that comes after a later event of the same publisher and key, on the same subscription, is out of
//! order: a publisher sends its next mutation only when the one before was answered, so their order is known. Events that do
//! not come so long after the acknowledgement are missed, or cut off where the target has ended the subscription meanwhile.

use prony_model::Nanos;
use prony_model::subscription::tally::{SubscriptionCell, SubscriptionTally};
use prony_model::subscription::token::Token;
use std::collections::{HashMap, VecDeque};

/// What is settled is remembered for so long at least, to tell late and doubled events from those of nothing.
const REMEMBERED_MIN: Nanos = Nanos::from_secs(10);

/// Publishers are users of a plan, whose number is bounded. What each has published is remembered for twice the longest
/// wait or [`REMEMBERED_MIN`], and no longer.
#[derive(Debug, Default)]
pub(crate) struct DeliveryTracker {
    wait_max: Nanos,
    keys: HashMap<Box<[u8]>, u32>,
    audiences: Vec<Audience>,
    publishers: Vec<Publisher>,
    /// Publications that are not settled.
    open: u64,
}

/// The subscriptions of one key.
#[derive(Debug, Default)]
struct Audience {
    size: u32,
    /// Have not come into force, and still may.
    waiting: u32,
    in_force: Bits,
    /// Ended by the target; never in force again.
    ended: Bits,
}

/// A subscription's place in its tracker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member {
    audience: u32,
    place: u32,
}

#[derive(Debug, Default)]
struct Publisher {
    /// By rising sequence.
    publications: VecDeque<Publication>,
}

#[derive(Debug)]
struct Publication {
    sequence: u32,
    sent: Nanos,
    window: usize,
    audience: Option<u32>,
    owed: Bits,
    paid: Bits,
    answer: Answer,
    /// When events came before the answer did.
    early: Vec<Nanos>,
    is_settled: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Awaited,
    Acknowledged(Nanos),
    Failed,
}

/// Where a tracker counts: one group's cells.
pub(crate) struct Counting<'a> {
    pub(crate) tally: &'a mut SubscriptionTally,
    pub(crate) group: usize,
    /// Every thread hears of every mutation, and one counts them.
    pub(crate) counts_mutations: bool,
}

impl Counting<'_> {
    fn cell(&mut self, window: usize) -> &mut SubscriptionCell {
        self.tally.cell_mut(self.group, window)
    }
}

impl DeliveryTracker {
    pub(crate) fn new(wait_max: Nanos) -> Self {
        Self { wait_max, ..Self::default() }
    }

    // ---- subscriptions

    /// A subscription with this key, not in force yet.
    pub(crate) fn join(&mut self, key: &[u8]) -> Member {
        let audience = if let Some(audience) = self.keys.get(key) {
            *audience
        } else {
            let audience = self.audiences.len() as u32;
            self.keys.insert(key.into(), audience);
            self.audiences.push(Audience::default());
            audience
        };
        let entry = &mut self.audiences[audience as usize];
        entry.size += 1;
        entry.waiting += 1;
        Member { audience, place: entry.size - 1 }
    }

    /// From now on mutations owe it their events.
    pub(crate) fn begin(&mut self, member: Member) {
        let audience = &mut self.audiences[member.audience as usize];
        audience.waiting -= 1;
        audience.in_force.set(member.place);
    }

    /// The target has ended it.
    pub(crate) fn end(&mut self, member: Member) {
        let audience = &mut self.audiences[member.audience as usize];
        if audience.ended.has(member.place) {
            return;
        }
        audience.waiting -= u32::from(!audience.in_force.has(member.place));
        audience.in_force.clear(member.place);
        audience.ended.set(member.place);
    }

    // ---- publications

    pub(crate) fn sent(
        &mut self,
        token: Token,
        key: &[u8],
        at: Nanos,
        window: usize,
        counting: &mut Counting<'_>,
    ) {
        let audience = self.keys.get(key).copied();
        let owed = audience.map(|audience| self.audiences[audience as usize].in_force.clone());
        let waiting = audience.map_or(0, |audience| self.audiences[audience as usize].waiting);
        let published = u64::from(counting.counts_mutations);
        let counts = &mut counting.cell(window).counts;
        counts.published += published;
        counts.not_due += u64::from(waiting);
        let publication = Publication {
            sequence: token.sequence,
            sent: at,
            window,
            audience,
            owed: owed.unwrap_or_default(),
            paid: Bits::default(),
            answer: Answer::Awaited,
            early: Vec::new(),
            is_settled: false,
        };
        let index = token.publisher as usize;
        if index >= self.publishers.len() {
            self.publishers.resize_with(index + 1, Publisher::default);
        }
        self.publishers[index].publications.push_back(publication);
        self.open += 1;
    }

    /// An answer has come, or never will.
    pub(crate) fn answered(
        &mut self,
        token: Token,
        acknowledged: Option<Nanos>,
        counting: &mut Counting<'_>,
    ) {
        let Some(publication) = self.find(token) else { return };
        let Some(at) = acknowledged else {
            publication.answer = Answer::Failed;
            return;
        };
        publication.answer = Answer::Acknowledged(at);
        let early = std::mem::take(&mut publication.early);
        let due = publication.owed.count();
        let acknowledged = u64::from(counting.counts_mutations);
        let cell = counting.cell(publication.window);
        cell.counts.acknowledged += acknowledged;
        cell.counts.due += due;
        for received in early {
            cell.counts.before_acknowledgement += u64::from(received < at);
            cell.from_acknowledgement.record(received.since(at));
        }
    }

    /// An event with this token has come to a subscription.
    pub(crate) fn received(
        &mut self,
        member: Member,
        token: Token,
        at: Nanos,
        window: usize,
        counting: &mut Counting<'_>,
    ) {
        let Some((publisher, index)) = self.place_of(token) else {
            // Of a mutation that is long settled, or of none.
            counting.cell(window).counts.unexpected += 1;
            return;
        };
        let publications = &mut self.publishers[publisher].publications;
        let is_late_in_order = publications
            .range(index + 1..)
            .any(|later| later.audience == Some(member.audience) && later.paid.has(member.place));
        let publication = &mut publications[index];
        let cell = counting.tally.cell_mut(counting.group, publication.window);
        if publication.audience != Some(member.audience) {
            cell.counts.unexpected += 1;
            return;
        }
        if publication.paid.has(member.place) {
            cell.counts.duplicated += 1;
            return;
        }
        publication.paid.set(member.place);
        cell.counts.out_of_order += u64::from(is_late_in_order);
        let time = at.since(publication.sent);
        cell.from_send.record(time);
        counting.tally.interval_from_send.record(time);
        let cell = counting.tally.cell_mut(counting.group, publication.window);
        match publication.answer {
            Answer::Acknowledged(acknowledged) => {
                cell.counts.before_acknowledgement += u64::from(at < acknowledged);
                cell.from_acknowledgement.record(at.since(acknowledged));
                cell.counts.late += u64::from(publication.is_settled && publication.owed.has(member.place));
            }
            Answer::Awaited => publication.early.push(at),
            Answer::Failed => {}
        }
    }

    /// Settles what is paid or can be waited for no more; forgets what was settled long ago.
    pub(crate) fn settle(&mut self, now: Nanos, counting: &mut Counting<'_>) {
        for publisher in &mut self.publishers {
            for publication in publisher.publications.iter_mut().filter(|publication| !publication.is_settled)
            {
                let is_over = match publication.answer {
                    Answer::Awaited => false,
                    Answer::Failed => true,
                    Answer::Acknowledged(at) => {
                        now >= at.plus(self.wait_max) || publication.is_over(&self.audiences)
                    }
                };
                if is_over {
                    publication.settle(&self.audiences, counting);
                    self.open -= 1;
                }
            }
            publisher.forget(now, self.wait_max);
        }
    }

    /// The run is over: what is still owed is missed. Mutations without an answer owe nothing.
    pub(crate) fn close(&mut self, counting: &mut Counting<'_>) {
        for publication in self.publishers.iter_mut().flat_map(|publisher| &mut publisher.publications) {
            if !publication.is_settled {
                publication.settle(&self.audiences, counting);
                self.open -= 1;
            }
        }
    }

    /// No response comes any more: mutations without one owe nothing.
    pub(crate) fn end_responses(&mut self) {
        for publication in self.publishers.iter_mut().flat_map(|publisher| &mut publisher.publications) {
            if publication.answer == Answer::Awaited {
                publication.answer = Answer::Failed;
            }
        }
    }

    /// Something may still come.
    pub(crate) fn is_waiting(&self) -> bool {
        self.open > 0
    }

    fn find(&mut self, token: Token) -> Option<&mut Publication> {
        let (publisher, index) = self.place_of(token)?;
        Some(&mut self.publishers[publisher].publications[index])
    }

    fn place_of(&self, token: Token) -> Option<(usize, usize)> {
        let publisher = self.publishers.get(token.publisher as usize)?;
        let found = publisher.publications.binary_search_by_key(&token.sequence, |known| known.sequence);
        Some((token.publisher as usize, found.ok()?))
    }
}

impl Publication {
    /// Nothing that is owed can still come.
    fn is_over(&self, audiences: &[Audience]) -> bool {
        if self.owed.all_in(&self.paid) {
            return true;
        }
        let Some(audience) = self.audience.map(|audience| &audiences[audience as usize]) else { return true };
        self.owed.without(&self.paid).all(|place| audience.ended.has(place))
    }

    fn settle(&mut self, audiences: &[Audience], counting: &mut Counting<'_>) {
        self.is_settled = true;
        if !matches!(self.answer, Answer::Acknowledged(_)) {
            return;
        }
        let Some(audience) = self.audience.map(|audience| &audiences[audience as usize]) else { return };
        let (mut missed, mut cut_off) = (0, 0);
        for place in self.owed.without(&self.paid) {
            if audience.ended.has(place) { cut_off += 1 } else { missed += 1 }
        }
        let cell = counting.cell(self.window);
        cell.counts.missed += missed;
        cell.counts.cut_off += cut_off;
        counting.tally.interval.missed += missed;
    }
}

impl Publisher {
    /// Duplicates and late events are told apart for as long as a publication is remembered.
    fn forget(&mut self, now: Nanos, wait_max: Nanos) {
        let age = wait_max.plus(wait_max).max(REMEMBERED_MIN);
        while let Some(first) = self.publications.front()
            && first.is_settled
            && now >= first.sent.plus(age)
        {
            self.publications.pop_front();
        }
    }
}

/// A set of small numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn set(&mut self, place: u32) {
        let word = place as usize / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (place % 64);
    }

    fn clear(&mut self, place: u32) {
        if let Some(word) = self.0.get_mut(place as usize / 64) {
            *word &= !(1 << (place % 64));
        }
    }

    fn has(&self, place: u32) -> bool {
        self.0.get(place as usize / 64).is_some_and(|word| word & (1 << (place % 64)) != 0)
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    fn all_in(&self, other: &Self) -> bool {
        self.0.iter().enumerate().all(|(at, word)| word & !other.0.get(at).copied().unwrap_or(0) == 0)
    }

    fn without<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = u32> + 'a {
        self.0.iter().enumerate().flat_map(move |(at, word)| {
            let left = word & !other.0.get(at).copied().unwrap_or(0);
            (0..64).filter(move |bit| left & (1 << bit) != 0).map(move |bit| at as u32 * 64 + bit)
        })
    }
}

#[cfg(test)]
mod tests;
