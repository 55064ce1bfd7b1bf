//! Finding what a list holds: candidates looked at one by one, filtered, and the first of their order kept. How much is
//! looked at is watched.

use std::{
    cmp::Ordering,
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Instant,
};

use prony_graph_store::{Direction, Node, Ref, Relationship, Side, Value};
use prony_graphql::budget::TooLarge;
use prony_source::threads::yield_processor;

use crate::{
    execute::{
        bind::{BoundAround, BoundList, Item},
        searched::SearchBound,
        thing::Thing,
        view::{BYTES_PER_VISIT, View},
    },
    planning::{
        filter::SortKey,
        plan::{AroundPlan, Candidates, ListAnswer, ListPlan},
    },
};

/// Why an answer is not finished.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It takes longer than a core may be held up: a thread that may block can finish.
    Later,
    Timeout,
    /// Nobody waits for it any more.
    Cancelled,
    /// The answer has more bytes than it may have.
    TooLarge(TooLarge),
    /// A list behind this offset cannot be put in order within bounds.
    TooDeep {
        offset: usize,
    },
}

/// Nodes and relationships that a core looks at before it hands an answer to another thread: well below a millisecond.
const IN_PLACE_VISITS: u64 = 4096;
/// After so many, clock and cancellation are looked at.
const VISITS_PER_CHECK: u64 = 1024;
/// Candidates that one list keeps while it is put in order; each takes about 100 bytes.
const MAX_KEPT: usize = 1_000_000;

/// How long an answer may take.
#[derive(Debug)]
pub(crate) enum Watch {
    InPlace { left: u64 },
    Thread { visits: u64, deadline: Instant, cancelled: Arc<AtomicBool> },
}

impl Watch {
    /// For one of so many answers.
    pub(crate) const fn in_place(answers: usize) -> Self {
        Self::InPlace { left: IN_PLACE_VISITS / answers as u64 }
    }

    fn visit_many(&mut self, count: u64) -> Result<(), Stop> {
        match self {
            Self::InPlace { left } => {
                *left = left.checked_sub(count).ok_or(Stop::Later)?;
                Ok(())
            }
            Self::Thread { visits, deadline, cancelled } => {
                let checked = *visits / VISITS_PER_CHECK;
                *visits += count;
                if *visits / VISITS_PER_CHECK == checked {
                    Ok(())
                } else if cancelled.load(Relaxed) {
                    Err(Stop::Cancelled)
                } else if Instant::now() >= *deadline {
                    Err(Stop::Timeout)
                } else {
                    yield_processor();
                    Ok(())
                }
            }
        }
    }

    /// How long a pattern may be searched for between two visits.
    pub(crate) fn search_bound(&self) -> SearchBound {
        match self {
            Self::InPlace { left } => SearchBound::Bytes((*left as usize).saturating_mul(BYTES_PER_VISIT)),
            Self::Thread { deadline, cancelled, .. } => {
                SearchBound::Until { deadline: *deadline, cancelled: Arc::clone(cancelled) }
            }
        }
    }

    /// Why a search had to stop.
    fn cut(&self) -> Stop {
        match self {
            Self::InPlace { .. } => Stop::Later,
            Self::Thread { cancelled, .. } if cancelled.load(Relaxed) => Stop::Cancelled,
            Self::Thread { .. } => Stop::Timeout,
        }
    }

    /// How many may be looked at in one go.
    fn left(&self) -> usize {
        match self {
            Self::InPlace { left } => *left as usize,
            Self::Thread { .. } => usize::MAX,
        }
    }

    /// Whether so many may be looked at in one go.
    fn foresee(&self, visits: u64) -> Result<(), Stop> {
        match self {
            Self::InPlace { left } if visits > *left => Err(Stop::Later),
            _ => Ok(()),
        }
    }
}

/// What lists are looked up in.
#[derive(Debug)]
pub(crate) struct Search<'r> {
    pub(crate) view: View<'r>,
    pub(crate) watch: Watch,
}

/// The order of a list that names none: by type, shard and index; around a node by shard, direction, type, the other
/// node's id and the relationship's own.
type Place = (u64, u64, u64);

struct Candidate<'r> {
    keys: Vec<Option<Value<'r>>>,
    place: Place,
    item: Item,
}

impl<'r> Search<'r> {
    /// Counts what is looked at next, and what was searched since by patterns.
    pub(crate) fn visit(&mut self) -> Result<(), Stop> {
        self.uncut()?;
        self.watch.visit_many(1 + self.view.take_searched_visits() as u64)
    }

    /// That no search had to stop in its text, which visits ask before they go on, and whoever answers with what was found.
    pub(crate) fn uncut(&self) -> Result<(), Stop> {
        if self.view.is_cut() { Err(self.watch.cut()) } else { Ok(()) }
    }

    /// What passes, in order. `parent` is the node above.
    pub(crate) fn items(
        &mut self,
        list: &ListPlan,
        bound: &BoundList<'_>,
        parent: Option<Ref>,
    ) -> Result<Vec<Item>, Stop> {
        let ListAnswer::Items { sort, .. } = &list.answer else { return Ok(Vec::new()) };
        let (limit, offset) = (bound.limit, bound.offset);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let wanted = offset.saturating_add(limit);
        if sort.is_empty() && parent.is_none() {
            return self.items_as_they_come(list, bound);
        }
        let mut kept: Vec<Candidate<'r>> = Vec::new();
        self.each(list, bound, parent, |thing, item, place| {
            let keys = sort.iter().map(|key| thing.value(&key.subject)).collect();
            kept.push(Candidate { keys, place, item });
            if kept.len() >= wanted.saturating_mul(2).max(256) {
                kept.select_nth_unstable_by(wanted, |a, b| compare(sort, a, b));
                kept.truncate(wanted);
            }
            if kept.len() > MAX_KEPT { Err(Stop::TooDeep { offset }) } else { Ok(true) }
        })?;
        kept.sort_unstable_by(|a, b| compare(sort, a, b));
        Ok(kept.into_iter().skip(offset).take(limit).map(|candidate| candidate.item).collect())
    }

    /// As [`Self::items`], of those that come in their order: what is before the page is counted, and not kept.
    fn items_as_they_come(&mut self, list: &ListPlan, bound: &BoundList<'_>) -> Result<Vec<Item>, Stop> {
        let (mut skipped, mut items) = (0, Vec::new());
        self.each(list, bound, None, |_, item, _| {
            if skipped < bound.offset {
                skipped += 1;
                return Ok(true);
            }
            items.push(item);
            Ok(items.len() < bound.limit)
        })?;
        Ok(items)
    }

    /// Relationships around a node that can be seen.
    pub(crate) fn degree(&mut self, node: Ref, around: &AroundPlan) -> Result<u64, Stop> {
        let around = BoundAround::new(around);
        if self.view.shows_all_around() && self.view.read.knows_degrees() {
            return Ok(self.view.read.degree(node, around.get()));
        }
        self.watch.foresee(self.view.read.degree_at_most(node, around.get()))?;
        let read = self.view.read;
        let mut seen = 0;
        self.each_until_stop(|search, stop| {
            read.each_around(node, around.get(), |_, link| {
                seen += u64::from(search.is_shown(&Thing::Relationship(link)));
                stop(search.visit().map(|()| true))
            })
        })?;
        Ok(seen)
    }

    /// Calls `take` with what passes until it says that it has enough.
    pub(crate) fn each(
        &mut self,
        list: &ListPlan,
        bound: &BoundList<'_>,
        parent: Option<Ref>,
        mut take: impl FnMut(Thing<'r>, Item, Place) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        match (parent, bound.around()) {
            (Some(parent), Some(around)) => {
                self.watch.foresee(self.view.read.degree_at_most(parent, around))?;
                let read = self.view.read;
                self.each_until_stop(|search, stop| {
                    read.each_around(parent, around, |direction, relationship| {
                        stop(search.reached(list, bound, direction, relationship, &mut take))
                    })
                })
            }
            _ => self.scan(list, bound, &mut take),
        }
    }

    /// Has a walk broken off by an outcome that is an error or says that there is enough.
    fn each_until_stop(
        &mut self,
        walk: impl FnOnce(&mut Self, &mut dyn FnMut(Result<bool, Stop>) -> ControlFlow<()>) -> ControlFlow<()>,
    ) -> Result<(), Stop> {
        let mut stopped = Ok(());
        let _ended = walk(self, &mut |outcome| match outcome {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(stop) => {
                stopped = Err(stop);
                ControlFlow::Break(())
            }
        });
        stopped
    }

    /// One relationship around the node above.
    fn reached(
        &mut self,
        list: &ListPlan,
        bound: &BoundList<'_>,
        direction: Direction,
        relationship: Relationship<'r>,
        take: &mut impl FnMut(Thing<'r>, Item, Place) -> Result<bool, Stop>,
    ) -> Result<bool, Stop> {
        self.visit()?;
        let other = relationship.other(direction);
        let at = relationship.at;
        let group = u64::from(at.shard()) << 32 | (direction as u64) << 16 | u64::from(at.type_number());
        let place = (group, other.id(), at.id());
        let link = Thing::Relationship(relationship);
        if list.candidates.side == Side::Relationships {
            let is_wanted = self.is_wanted(&list.candidates, &link)
                && bound.filter.passes(&link, &self.view)
                && (bound.other.is_everything()
                    || self
                        .view
                        .node(other)
                        .is_some_and(|node| bound.other.passes(&Thing::Node(node), &self.view)));
            return if is_wanted { take(link, Item::Relationship { at, other }, place) } else { Ok(true) };
        }
        if !bound.other.passes(&link, &self.view) || !self.is_shown(&link) {
            return Ok(true);
        }
        let Some(node) = self.view.node(other).map(Thing::Node) else { return Ok(true) };
        if self.is_wanted(&list.candidates, &node) && bound.filter.passes(&node, &self.view) {
            return take(node, Item::Node(other), place);
        }
        Ok(true)
    }

    /// Whether a relationship can be followed: its type may be younger than the request's schema, but not hidden.
    fn is_shown(&self, link: &Thing<'_>) -> bool {
        self.view.shows_all_around() || self.view.type_of(link).is_some()
    }

    fn is_wanted(&self, candidates: &Candidates, thing: &Thing<'_>) -> bool {
        self.view.type_of(thing).is_some_and(|id| candidates.only.is_none_or(|only| only == id))
    }

    /// All of a type, or of a side.
    fn scan(
        &mut self,
        list: &ListPlan,
        bound: &BoundList<'_>,
        take: &mut impl FnMut(Thing<'r>, Item, Place) -> Result<bool, Stop>,
    ) -> Result<(), Stop> {
        let Candidates { side, only, .. } = list.candidates;
        let number = match only {
            None => None,
            Some(id) => {
                let number =
                    self.view.read.schema().side(side).number(&self.view.model.side(side).get(id).name);
                // The type is gone since the request's schema was made.
                let Some(number) = number else { return Ok(()) };
                Some(number)
            }
        };
        let read = self.view.read;
        let things: Box<dyn Iterator<Item = Thing<'r>>> = match (side, number) {
            (Side::Nodes, Some(number)) => {
                if let Some(keys) = bound.filter.keys() {
                    Box::new(self.keyed(number, keys)?.into_iter().map(Thing::Node))
                } else {
                    let found = read.candidate_nodes(number, &bound.filter.conditions(), self.watch.left());
                    Box::new(found.map_err(|_| Stop::Later)?.map(Thing::Node))
                }
            }
            (Side::Relationships, Some(number)) => {
                let conditions = bound.filter.conditions();
                let found = read.candidate_relationships(number, &conditions, self.watch.left());
                Box::new(found.map_err(|_| Stop::Later)?.map(Thing::Relationship))
            }
            (Side::Nodes, None) => Box::new(read.nodes(None).map(Thing::Node)),
            (Side::Relationships, None) => Box::new(read.relationships(None).map(Thing::Relationship)),
        };
        for thing in things {
            self.visit()?;
            if !self.is_wanted(&list.candidates, &thing) || !bound.filter.passes(&thing, &self.view) {
                continue;
            }
            let at = thing.at();
            let item = match &thing {
                Thing::Node(_) => Item::Node(at),
                Thing::Relationship(of) => Item::Relationship { at, other: of.to },
            };
            let place = (u64::from(at.type_number()), u64::from(at.shard()), u64::from(at.index()));
            if !take(thing, item, place)? {
                break;
            }
        }
        Ok(())
    }
}

impl<'r> Search<'r> {
    /// The nodes of a type with these keys, in the order of a list that names none.
    fn keyed(&mut self, number: u16, keys: Vec<&str>) -> Result<Vec<Node<'r>>, Stop> {
        self.watch.visit_many(keys.len() as u64)?;
        let Some(of) = self.view.read.schema().side(Side::Nodes).get(number) else { return Ok(Vec::new()) };
        let mut found: Vec<Node<'r>> =
            keys.into_iter().filter_map(|key| self.view.read.find(&of.name, key)).collect();
        found.sort_unstable_by_key(|node| (node.at.shard(), node.at.index()));
        found.dedup_by_key(|node| node.at);
        Ok(found)
    }
}

fn compare(sort: &[SortKey], a: &Candidate<'_>, b: &Candidate<'_>) -> Ordering {
    let mut keys = sort.iter().zip(a.keys.iter().zip(&b.keys));
    let decided = keys.find_map(|(key, (a, b))| {
        let order = match (a, b) {
            (Some(a), Some(b)) => a.order(b).unwrap_or(Ordering::Equal),
            // What is missing is the greatest.
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        let order = if key.descending { order.reverse() } else { order };
        (order != Ordering::Equal).then_some(order)
    });
    decided.unwrap_or_else(|| a.place.cmp(&b.place))
}
