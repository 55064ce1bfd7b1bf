//! What is around a node: its relationships, the nodes at their other ends, how many there are, and those that lead to
//! another node. Of a node with few they are written at once; of one with many in passes, each of which takes the next of
//! their order from all of them, so that what is kept has a bound.

use std::sync::Arc;

use prony_graph_store::{Around, Direction, Read, Ref, Relationship};
use prony_source::http_api::{ApiResponse, Progress};
use tokio::sync::Semaphore;

use super::{
    lookup::find,
    stream::{self, LongBody, SLICE_VISITS, is_full},
};
use crate::{
    databases::Database,
    http_api::{
        json::{begin_ok, write_integer, write_list, write_node, write_relationship},
        path::{Aspect, Name, NodeName, RelationshipFilter},
    },
};

/// Of nodes with more the response is streamed: to put these in order and write them takes about a millisecond.
const FEW: u64 = 4096;
/// What a pass keeps: 24 bytes each, and twice as many while it searches.
const PASS_MAX: usize = 1 << 18;
/// Passes at a time, on threads of their own.
static PASSES: Semaphore = Semaphore::const_new(2);

/// What the store is asked, of names that live elsewhere.
fn filter<'a>(direction: Option<Direction>, types: Option<&'a [&'a str]>) -> Around<'a> {
    Around { direction, types }
}

/// Responds to a GET of what is around one node.
pub(super) fn respond(
    database: &Arc<Database>,
    read: &Read,
    name: &NodeName<'_>,
    aspect: Aspect,
    relationships: &RelationshipFilter<'_>,
    response: &mut ApiResponse,
) -> Progress {
    let node = find(read, name).map(|node| node.at);
    let types = names(relationships);
    let filter = filter(relationships.direction, types.as_deref());
    let degree = || node.map_or(0, |node| read.degree(node, filter));
    let body = begin_ok(response);
    if aspect == Aspect::Degree {
        body.extend_from_slice(b"{\"degree\": ");
        write_integer(body, degree());
        body.push(b'}');
        return Progress::Done;
    }
    let Some(node) = node else {
        body.extend_from_slice(b"[]");
        return Progress::Done;
    };
    if read.has_many(node) && degree() > FEW {
        return LargeNeighborhood::new(database, node, None, aspect, relationships).stream();
    }
    let found = read.around(node, filter);
    if aspect == Aspect::Relationships {
        write_list(body, &found, |out, (_, relationship)| write_relationship(out, relationship));
    } else {
        // A neighbour that has gone since its relationship was read is none any more.
        let neighbours =
            found.iter().filter_map(|(direction, relationship)| read.node(relationship.other(*direction)));
        write_list(body, neighbours, |out, node| write_node(out, &node));
    }
    Progress::Done
}

/// Responds to a GET of the relationships between two nodes.
pub(super) fn connected(
    database: &Arc<Database>,
    read: &Read,
    (from, to): (&NodeName<'_>, &NodeName<'_>),
    relationships: &RelationshipFilter<'_>,
    response: &mut ApiResponse,
) -> Progress {
    let body = begin_ok(response);
    let Some((from, to)) = find(read, from).zip(find(read, to)) else {
        body.extend_from_slice(b"[]");
        return Progress::Done;
    };
    let types = names(relationships);
    let types = types.as_deref();
    let degree = |node, direction| read.degree(node, filter(direction, types));
    let of_other = relationships.direction.map(Direction::opposite);
    if degree(from.at, relationships.direction).min(degree(to.at, of_other)) > FEW {
        let aspect = Aspect::Relationships;
        return LargeNeighborhood::new(database, from.at, Some(to.at), aspect, relationships).stream();
    }
    let found = read.between(from.at, to.at, filter(relationships.direction, types));
    write_list(body, &found, |out, (_, of)| write_relationship(out, of));
    Progress::Done
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

/// What is around a node with many relationships, as it is being written.
#[derive(Debug)]
pub(super) struct LargeNeighborhood {
    search: Arc<NeighborSearch>,
    aspect: Aspect,
    /// In order, and what is left of it.
    pass: std::vec::IntoIter<OrderKey>,
    /// The last that a pass has found.
    after: Option<OrderKey>,
    is_last_pass: bool,
    is_opened: bool,
    has_members: bool,
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
    async fn write_slice(&mut self, out: &mut Vec<u8>) -> bool {
        if self.pass.as_slice().is_empty() && !self.is_last_pass {
            let found = self.search().await;
            self.is_last_pass = found.len() < PASS_MAX;
            self.after = found.last().copied().or(self.after);
            self.pass = found.into_iter();
        }
        if !std::mem::replace(&mut self.is_opened, true) {
            out.push(b'[');
        }
        let search = Arc::clone(&self.search);
        let read = search.database.store.read();
        for _ in 0..SLICE_VISITS {
            if is_full(out) {
                break;
            }
            let Some(key) = self.pass.next() else { break };
            self.write_one(&read, key, out);
        }
        let has_more = !self.is_last_pass || !self.pass.as_slice().is_empty();
        if !has_more {
            out.push(b']');
        }
        has_more
    }
}

impl LargeNeighborhood {
    fn new(
        database: &Arc<Database>,
        node: Ref,
        other: Option<Ref>,
        aspect: Aspect,
        relationships: &RelationshipFilter<'_>,
    ) -> Self {
        let owned = |types: &Vec<Name<'_>>| types.iter().map(|name| (**name).to_owned()).collect();
        let types = relationships.types.as_ref().map(owned);
        let database = Arc::clone(database);
        let search = NeighborSearch { database, node, other, direction: relationships.direction, types };
        Self {
            search: Arc::new(search),
            aspect,
            pass: Vec::new().into_iter(),
            after: None,
            is_last_pass: false,
            is_opened: false,
            has_members: false,
        }
    }

    fn stream(self) -> Progress {
        Progress::Streams(stream::of(self))
    }

    /// The next of the order, of which there may be more where there are as many as a pass keeps.
    async fn search(&self) -> Vec<OrderKey> {
        let _turn = PASSES.acquire().await.expect("it is never closed");
        let (search, after) = (Arc::clone(&self.search), self.after);
        let searching = tokio::task::spawn_blocking(move || search.first_behind(after, PASS_MAX));
        searching.await.unwrap_or_default()
    }

    fn write_one(&mut self, read: &Read, key: OrderKey, out: &mut Vec<u8>) {
        let direction = direction_of(key);
        let relationship = Ref::from_id(key.2).and_then(|at| read.relationship(at));
        // It may have gone since, and its slot may be another's.
        let is_own = |of: &Relationship<'_>| of.other(direction.opposite()) == self.search.node;
        let Some(relationship) = relationship.filter(is_own) else { return };
        let neighbour = || read.node(relationship.other(direction));
        let neighbour = match self.aspect {
            Aspect::Neighbors => match neighbour() {
                Some(neighbour) => Some(neighbour),
                None => return,
            },
            Aspect::Relationships | Aspect::Degree => None,
        };
        if std::mem::replace(&mut self.has_members, true) {
            out.extend_from_slice(b", ");
        }
        match neighbour {
            Some(neighbour) => write_node(out, &neighbour),
            None => write_relationship(out, &relationship),
        }
    }
}

impl NeighborSearch {
    /// The first `count` behind a key, in order; all are visited.
    fn first_behind(&self, after: Option<OrderKey>, count: usize) -> Vec<OrderKey> {
        let read = self.database.store.read();
        let types: Option<Vec<&str>> =
            self.types.as_ref().map(|types| types.iter().map(String::as_str).collect());
        let mut kept: Vec<OrderKey> = Vec::new();
        // Those behind it cannot be among the first.
        let mut end: Option<OrderKey> = None;
        read.each_around(self.node, filter(self.direction, types.as_deref()), |direction, of| {
            let key = order_key(direction, &of);
            let is_wanted = self.other.is_none_or(|other| of.other(direction) == other);
            if !is_wanted || after.is_some_and(|after| key <= after) || end.is_some_and(|end| key > end) {
                return;
            }
            kept.push(key);
            if kept.len() == 2 * count {
                kept.select_nth_unstable(count - 1);
                kept.truncate(count);
                end = kept.last().copied();
            }
        });
        kept.sort_unstable();
        kept.truncate(count);
        kept
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
                    let pass = search.first_behind(found.last().copied(), count);
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
}
