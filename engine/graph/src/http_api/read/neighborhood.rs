//! What is around a node: its relationships, the nodes at their other ends, how many there are, and those that lead to
//! another node. Of a node with few they are written at once; of one with many in passes, each of which takes the next of
//! their order from all of them, so that what is kept has a bound.

use std::{cmp::Ordering, ops::ControlFlow, sync::Arc};

use prony_graph_store::{Around, Direction, Overtaken, Read, Ref, Relationship, Side};
use prony_source::{
    http_api::{ApiResponse, Progress},
    threads::yield_processor,
};
use tokio::sync::Semaphore;

use super::{
    lookup::find,
    stream::{self, Deadline, LongBody, SLICE_VISITS, TooLong, is_full},
};
use crate::{
    databases::{
        Database,
        settle::{self, Untold},
    },
    http_api::{
        access::{CallView, RoleAccess, with_view},
        json::{begin_ok, write_integer},
        path::{Aspect, Name, NodeName, RelationshipFilter},
    },
};

/// Of nodes with more the response is streamed: to put these in order and write them takes about a millisecond.
const FEW: u64 = 4096;
/// What a pass keeps: 24 bytes each, and twice as many while it searches.
const PASS_MAX: usize = 1 << 18;
/// Of a pass that is sorted, between two moments at which others of the processor go first: some hundred microseconds.
const COMPARISONS_A_TURN: usize = 1 << 15;
/// Passes at a time, on threads of their own.
static PASSES: Semaphore = Semaphore::const_new(2);

/// What the store is asked, of names that live elsewhere.
fn filter<'a>(direction: Option<Direction>, types: Option<&'a [&'a str]>) -> Around<'a> {
    Around { direction, types }
}

/// Responds to a GET of what is around one node.
pub(super) fn respond(
    database: &Arc<Database>,
    view: &CallView<'_>,
    name: &NodeName<'_>,
    aspect: Aspect,
    relationships: &RelationshipFilter<'_>,
    response: &mut ApiResponse,
) -> Progress {
    let read = view.read;
    let node = find(view, name).map(|node| node.at);
    let types = names(relationships);
    let filter = filter(relationships.direction, types.as_deref());
    let most = || node.map_or(0, |node| read.degree_at_most(node, filter));
    let body = begin_ok(response);
    let mut written = Written::new(aspect, view);
    let Some(node) = node else {
        written.end(body);
        return Progress::Done;
    };
    let is_many = read.has_many(node) && most() > FEW;
    if aspect == Aspect::Degree && view.role().is_none() && (!is_many || read.knows_degrees()) {
        written.members = read.degree(node, filter);
        written.end(body);
        return Progress::Done;
    }
    if !is_many && written.write_all(view, read.around(node, filter), body) {
        return Progress::Done;
    }
    LargeNeighborhood::new(database, view, (node, None), aspect, relationships).respond(response)
}

/// Responds to a GET of the relationships between two nodes.
pub(super) fn connected(
    database: &Arc<Database>,
    view: &CallView<'_>,
    (from, to): (&NodeName<'_>, &NodeName<'_>),
    relationships: &RelationshipFilter<'_>,
    response: &mut ApiResponse,
) -> Progress {
    let body = begin_ok(response);
    let aspect = Aspect::Relationships;
    let mut written = Written::new(aspect, view);
    let Some((from, to)) = find(view, from).zip(find(view, to)) else {
        written.end(body);
        return Progress::Done;
    };
    let types = names(relationships);
    let types = types.as_deref();
    let most = |node, direction| view.read.degree_at_most(node, filter(direction, types));
    let of_other = relationships.direction.map(Direction::opposite);
    let is_few = most(from.at, relationships.direction).min(most(to.at, of_other)) <= FEW;
    let between = || view.read.between(from.at, to.at, filter(relationships.direction, types));
    if is_few && written.write_all(view, between(), body) {
        return Progress::Done;
    }
    let ends = (from.at, Some(to.at));
    LargeNeighborhood::new(database, view, ends, aspect, relationships).respond(response)
}

/// The body of a response, as far as it is written: a list, or how many are counted.
#[derive(Debug, Clone)]
struct Written {
    aspect: Aspect,
    is_opened: bool,
    /// Written or counted.
    members: u64,
    /// The most members that a list may have.
    limit: u64,
}

impl Written {
    fn new(aspect: Aspect, view: &CallView<'_>) -> Self {
        let highest = match aspect {
            Aspect::Relationships => view.limit(Side::Relationships, None),
            Aspect::Neighbors => view.limit(Side::Nodes, None),
            Aspect::Degree => None,
        };
        Self { aspect, is_opened: false, members: 0, limit: highest.map_or(u64::MAX, u64::from) }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.is_opened, true) {
            out.extend_from_slice(if self.aspect == Aspect::Degree { b"{\"degree\": " } else { b"[" });
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.open(out);
        if self.aspect == Aspect::Degree {
            write_integer(out, self.members);
        }
        out.push(if self.aspect == Aspect::Degree { b'}' } else { b']' });
    }

    fn is_full(&self) -> bool {
        self.members >= self.limit
    }

    /// Writes a whole body; false where a role's patterns have to search more text for it than may be searched at once.
    fn write_all(
        &mut self,
        view: &CallView<'_>,
        found: Vec<(Direction, Relationship<'_>)>,
        out: &mut Vec<u8>,
    ) -> bool {
        self.open(out);
        let mut searched = 0;
        for (direction, relationship) in found {
            if self.is_full() {
                break;
            }
            self.write_one(view, direction, &relationship, out);
            searched += view.take_searched_visits();
            if searched > SLICE_VISITS {
                return false;
            }
        }
        self.end(out);
        true
    }

    /// Writes or counts one that can be seen. A neighbour that has gone since its relationship was read is none any more.
    fn write_one(
        &mut self,
        view: &CallView<'_>,
        direction: Direction,
        relationship: &Relationship<'_>,
        out: &mut Vec<u8>,
    ) {
        if !view.shows_relationship(relationship) {
            return;
        }
        let neighbour = match self.aspect {
            Aspect::Neighbors => match view.read.node(relationship.other(direction)) {
                Some(neighbour) => Some(neighbour),
                None => return,
            },
            Aspect::Relationships | Aspect::Degree => None,
        };
        self.members += 1;
        if self.aspect == Aspect::Degree {
            return;
        }
        if self.members > 1 {
            out.extend_from_slice(b", ");
        }
        match neighbour {
            Some(neighbour) => view.write_node(out, &neighbour),
            None => view.write_relationship(out, relationship),
        }
    }
}

fn names<'a>(relationships: &'a RelationshipFilter<'_>) -> Option<Vec<&'a str>> {
    Some(relationships.types.as_ref()?.iter().map(|name| &**name).collect())
}

/// The order of relationships around a node: shard, direction and type; the other node's id; their own.
type OrderKey = (u32, u64, u64);

fn order_key(direction: Direction, of: &Relationship<'_>) -> OrderKey {
    let group = u32::from(of.at.shard()) << 17 | u32::from(direction == Direction::Incoming) << 16;
    (group | u32::from(of.at.type_number()), of.other(direction).id(), of.at.id())
}

const fn direction_of((group, ..): OrderKey) -> Direction {
    if group >> 16 & 1 == 0 { Direction::Outgoing } else { Direction::Incoming }
}

/// What is around a node with many relationships, as it is being written. Cheap to clone: a slice is written by a clone, which counts once
/// what it has seen does.
#[derive(Debug, Clone)]
pub(super) struct LargeNeighborhood {
    search: Arc<NeighborSearch>,
    role: Option<RoleAccess>,
    written: Written,
    /// In order.
    pass: Arc<[OrderKey]>,
    /// How many of the pass are written.
    place: usize,
    /// The last that a pass has found.
    after: Option<OrderKey>,
    is_last_pass: bool,
}

/// What passes search for.
#[derive(Debug)]
struct NeighborSearch {
    database: Arc<Database>,
    node: Ref,
    /// Only those to or from this one.
    other: Option<Ref>,
    direction: Option<Direction>,
    types: Option<Vec<String>>,
}

impl LongBody for LargeNeighborhood {
    async fn write_slice(
        &mut self,
        out: &mut Vec<u8>,
        untold: &mut Untold,
        deadline: Deadline,
    ) -> Result<bool, TooLong> {
        if self.is_pass_over() && !self.is_last_pass {
            let found = self.search(untold, deadline).await?;
            self.is_last_pass = found.len() < PASS_MAX;
            self.after = found.last().copied().or(self.after);
            (self.pass, self.place) = (found, 0);
        }
        self.written.open(out);
        let begin = out.len();
        let (next, fence) = settle::look(&self.search.database, |read| {
            out.truncate(begin);
            let mut next = self.clone();
            with_view(read, self.role.as_ref(), |view| next.write_some(view, out));
            next
        });
        untold.add(fence);
        *self = next;
        let has_left = !self.is_last_pass || !self.is_pass_over();
        let has_more = has_left && !self.written.is_full();
        if !has_more {
            self.written.end(out);
        }
        Ok(has_more)
    }

    fn database(&self) -> Option<&Arc<Database>> {
        Some(&self.search.database)
    }

    fn has_content(&self) -> bool {
        self.written.members > 0 && self.written.aspect != Aspect::Degree
    }
}

impl LargeNeighborhood {
    fn new(
        database: &Arc<Database>,
        view: &CallView<'_>,
        (node, other): (Ref, Option<Ref>),
        aspect: Aspect,
        relationships: &RelationshipFilter<'_>,
    ) -> Self {
        let owned = |types: &Vec<Name<'_>>| types.iter().map(|name| (**name).to_owned()).collect();
        let types = relationships.types.as_ref().map(owned);
        let database = Arc::clone(database);
        let search = NeighborSearch { database, node, other, direction: relationships.direction, types };
        Self {
            search: Arc::new(search),
            role: view.role().cloned(),
            written: Written::new(aspect, view),
            pass: Arc::default(),
            place: 0,
            after: None,
            is_last_pass: false,
        }
    }

    fn respond(self, response: &mut ApiResponse) -> Progress {
        begin_ok(response);
        let limit = self.search.database.time_limit;
        stream::go_on(self, response, limit)
    }

    fn is_pass_over(&self) -> bool {
        self.place >= self.pass.len()
    }

    /// The next of the order, of which there may be more where there are as many as a pass keeps.
    async fn search(&self, untold: &mut Untold, deadline: Deadline) -> Result<Arc<[OrderKey]>, TooLong> {
        let turn = deadline.within(PASSES.acquire()).await?.expect("it is never closed");
        let (search, after) = (Arc::clone(&self.search), self.after);
        let wanted = Arc::new(());
        let asked = Arc::downgrade(&wanted);
        let searching = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let go_on =
                || if asked.strong_count() == 0 { Ok(false) } else { deadline.check().map(|()| true) };
            let look = |read: &Read| search.first_behind(read, after, PASS_MAX, go_on);
            let looked = settle::look_for_long(&search.database, look, || matches!(go_on(), Ok(true)));
            // Here, because a core's thread is not to copy megabytes.
            looked.map(|(found, fence)| (found.map(Arc::from), fence))
        });
        let searched = searching.await;
        drop(wanted);
        match searched {
            Ok(Ok((found, fence))) => {
                untold.add(fence);
                found
            }
            // The time is over, or nobody waits.
            Ok(Err(Overtaken)) => deadline.check().map(|()| Arc::default()),
            Err(_) => Ok(Arc::default()),
        }
    }

    fn write_some(&mut self, view: &CallView<'_>, out: &mut Vec<u8>) {
        let mut visits = 0;
        while visits < SLICE_VISITS && !is_full(out) && !self.written.is_full() {
            let Some(&key) = self.pass.get(self.place) else { break };
            self.place += 1;
            let direction = direction_of(key);
            let relationship = Ref::from_id(key.2).and_then(|at| view.read.relationship(at));
            // It may have gone since, and its slot may be another's.
            let is_own = |of: &Relationship<'_>| of.other(direction.opposite()) == self.search.node;
            if let Some(relationship) = relationship.filter(is_own) {
                self.written.write_one(view, direction, &relationship, out);
            }
            visits += 1 + view.take_searched_visits();
        }
    }
}

impl NeighborSearch {
    /// The first `count` behind a key, in order; all are visited. `goes_on` is asked again and again whether somebody waits for it.
    ///
    /// # Errors
    /// It says that the time is over.
    fn first_behind(
        &self,
        read: &Read,
        after: Option<OrderKey>,
        count: usize,
        goes_on: impl Fn() -> Result<bool, TooLong>,
    ) -> Result<Vec<OrderKey>, TooLong> {
        let types: Option<Vec<&str>> =
            self.types.as_ref().map(|types| types.iter().map(String::as_str).collect());
        let mut kept: Vec<OrderKey> = Vec::new();
        // Those behind it cannot be among the first.
        let mut end: Option<OrderKey> = None;
        let mut visits: usize = 0;
        let mut outcome = Ok(true);
        let _ended =
            read.each_around(self.node, filter(self.direction, types.as_deref()), |direction, of| {
                visits += 1;
                if visits.is_multiple_of(SLICE_VISITS) {
                    yield_processor();
                    outcome = goes_on();
                    if !matches!(outcome, Ok(true)) {
                        return ControlFlow::Break(());
                    }
                }
                let key = order_key(direction, &of);
                let is_wanted = self.other.is_none_or(|other| of.other(direction) == other);
                if !is_wanted || after.is_some_and(|after| key <= after) || end.is_some_and(|end| key > end) {
                    return ControlFlow::Continue(());
                }
                kept.push(key);
                if kept.len() == 2 * count {
                    kept.select_nth_unstable_by(count - 1, giving_way());
                    kept.truncate(count);
                    end = kept.last().copied();
                }
                ControlFlow::Continue(())
            });
        outcome?;
        kept.sort_unstable_by(giving_way());
        kept.truncate(count);
        Ok(kept)
    }
}

/// Compares, and lets others of the processor go first now and then: a pass is sorted for ten milliseconds and more.
fn giving_way() -> impl FnMut(&OrderKey, &OrderKey) -> Ordering {
    let mut comparisons: usize = 0;
    move |a, b| {
        comparisons += 1;
        if comparisons.is_multiple_of(COMPARISONS_A_TURN) {
            yield_processor();
        }
        a.cmp(b)
    }
}

#[cfg(test)]
mod tests {
    use prony_graph_store::{Durability, Options, Store};

    use super::*;

    /// Passes of any length, one after the other, give the order of a node with few.
    #[test]
    fn passes_are_in_the_order_of_the_whole() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let store =
            Store::open(directory.path(), Options::new(Durability::Off)).expect("the graph can be made");
        let hub = store.write_and_wait(|write| {
            let nodes: Vec<Ref> =
                (0..50).map(|key| write.create_node("N", &key.to_string(), &[])).collect::<Result<_, _>>()?;
            for (number, &node) in nodes.iter().enumerate() {
                for of in 0..=number % 3 {
                    write.create_relationship(&format!("T{of}"), nodes[0], node, &[])?;
                    write.create_relationship(&format!("T{}", number % 2), node, nodes[0], &[])?;
                }
            }
            Ok(nodes[0])
        });
        let hub = hub.expect("the graph can be written");
        let database = Arc::new(Database::new("test", store));
        for direction in [None, Some(Direction::Outgoing), Some(Direction::Incoming)] {
            let read = database.store.read();
            let whole = read.around(hub, filter(direction, None));
            let whole: Vec<OrderKey> =
                whole.iter().map(|(direction, of)| order_key(*direction, of)).collect();
            for count in [1, 7, whole.len(), 1000] {
                let (node, database) = (hub, Arc::clone(&database));
                let search = NeighborSearch { database, node, other: None, direction, types: None };
                let mut found = Vec::new();
                loop {
                    let pass = search.first_behind(&read, found.last().copied(), count, || Ok(true));
                    let pass = pass.expect("there is time");
                    let is_last = pass.len() < count;
                    found.extend(pass);
                    if is_last {
                        break;
                    }
                }
                assert_eq!(found, whole, "{direction:?} {count}");
            }
        }
    }

    /// A pass over a node with very many ends where nobody waits for it, or the time is over.
    #[test]
    fn a_pass_is_broken_off() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let store =
            Store::open(directory.path(), Options::new(Durability::Off)).expect("the graph can be made");
        let hub = store.write_and_wait(|write| {
            let hub = write.create_node("N", "hub", &[])?;
            for key in 0..3 * SLICE_VISITS {
                let other = write.create_node("N", &key.to_string(), &[])?;
                write.create_relationship("T", hub, other, &[])?;
            }
            Ok(hub)
        });
        let node = hub.expect("the graph can be written");
        let database = Arc::new(Database::new("test", store));
        let search = NeighborSearch { database, node, other: None, direction: None, types: None };
        let asked = std::cell::Cell::new(0);
        let pass = |goes_on: Result<bool, TooLong>| {
            asked.set(0);
            let found = search.first_behind(&search.database.store.read(), None, PASS_MAX, || {
                asked.set(asked.get() + 1);
                goes_on
            });
            (found.map(|found| found.len()), asked.get())
        };
        assert_eq!(pass(Ok(true)), (Ok(3 * SLICE_VISITS), 3));
        assert_eq!(pass(Ok(false)), (Ok(SLICE_VISITS - 1), 1));
        let too_long = stream::too_long(std::time::Duration::from_millis(7));
        assert_eq!(pass(Err(too_long)), (Err(too_long), 1));
    }
}
