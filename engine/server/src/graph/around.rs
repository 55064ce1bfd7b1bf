//! What is around a node: its relationships, the nodes at their other ends, how many there are, and those that lead to
//! another node. Of a node with few they are written at once; of one with many in passes, each of which takes the next of
//! their order from all of them, so that what is kept has a bound.

use prony_graph::databases::Database;
use std::sync::Arc;

use prony_graph_store::{Around as Wanted, Direction, Read, Ref, Relationship};
use tokio::sync::Semaphore;

use super::{
    answer::Answer,
    json::{write_integer, write_list, write_node, write_relationship},
    path::{Around, Aspect, NodeName},
    pieces::{Pieces, SLICE_VISITS, is_full},
    read::find,
};

/// Nodes with more are answered in pieces: to put these in order and write them takes about a millisecond.
const FEW: u64 = 4096;
/// What a pass keeps: 24 bytes each, and twice as many while it looks.
const PASS_MAX: usize = 1 << 18;
/// Passes that look at a time, on threads of their own.
static PASSES: Semaphore = Semaphore::const_new(2);

/// An answer's usual size; most are a few relationships.
const BODY_BYTES: usize = 128;

/// What the store is asked, of names that live elsewhere.
fn wanted<'a>(direction: Option<Direction>, types: Option<&'a [&'a str]>) -> Wanted<'a> {
    Wanted { direction, types }
}

/// Answers a GET of what is around one node.
pub(super) fn answer(
    database: &Arc<Database>,
    read: &Read,
    name: &NodeName<'_>,
    aspect: Aspect,
    around: &Around<'_>,
) -> Answer {
    let node = find(read, name).map(|node| node.at);
    let types = names(around);
    let asked = wanted(around.direction, types.as_deref());
    let degree = || node.map_or(0, |node| read.degree(node, asked));
    if aspect == Aspect::Degree {
        let mut body = b"{\"degree\": ".to_vec();
        write_integer(&mut body, degree());
        body.push(b'}');
        return Answer::ok(body);
    }
    let Some(node) = node else { return Answer::ok(&b"[]"[..]) };
    if read.has_many(node) && degree() > FEW {
        let surroundings = Surroundings::new(database, node, None, aspect, around);
        return Answer::in_pieces(read, Pieces::Around(surroundings));
    }
    let found = read.around(node, asked);
    let mut body = Vec::with_capacity(2 + found.len() * BODY_BYTES);
    if aspect == Aspect::Relationships {
        write_list(&mut body, &found, |out, (_, relationship)| write_relationship(out, relationship));
    } else {
        // A neighbour that has gone since its relationship was read is none any more.
        let neighbours =
            found.iter().filter_map(|(direction, relationship)| read.node(relationship.other(*direction)));
        write_list(&mut body, neighbours, |out, node| write_node(out, &node));
    }
    Answer::ok(body)
}

/// Answers a GET of the relationships between two nodes.
pub(super) fn connected(
    database: &Arc<Database>,
    read: &Read,
    from: &NodeName<'_>,
    to: &NodeName<'_>,
    around: &Around<'_>,
) -> Answer {
    let Some((from, to)) = find(read, from).zip(find(read, to)) else { return Answer::ok(&b"[]"[..]) };
    let types = names(around);
    let types = types.as_deref();
    let degree = |node, direction| read.degree(node, wanted(direction, types));
    let of_other = around.direction.map(Direction::opposite);
    if degree(from.at, around.direction).min(degree(to.at, of_other)) > FEW {
        let aspect = Aspect::Relationships;
        let surroundings = Surroundings::new(database, from.at, Some(to.at), aspect, around);
        return Answer::in_pieces(read, Pieces::Around(surroundings));
    }
    let mut body = Vec::with_capacity(BODY_BYTES);
    let found = read.between(from.at, to.at, wanted(around.direction, types));
    write_list(&mut body, &found, |out, (_, of)| write_relationship(out, of));
    Answer::ok(body)
}

fn names<'a>(around: &'a Around<'_>) -> Option<Vec<&'a str>> {
    Some(around.types.as_ref()?.iter().map(|name| &**name).collect())
}

/// The order of relationships around a node: shard, direction and type; the other node's id; their own.
type Place = (u32, u64, u64);

fn place(direction: Direction, of: &Relationship<'_>) -> Place {
    let group = u32::from(of.at.shard()) << 17 | u32::from(direction == Direction::Incoming) << 16;
    (group | u32::from(of.at.type_number()), of.other(direction).id(), of.at.id())
}

const fn direction_of((group, ..): Place) -> Direction {
    if group >> 16 & 1 == 0 { Direction::Outgoing } else { Direction::Incoming }
}

/// What is around a node with many relationships, as it is being written.
#[derive(Debug)]
pub(super) struct Surroundings {
    asked: Arc<Asked>,
    aspect: Aspect,
    /// In order, and what is left of it.
    pass: std::vec::IntoIter<Place>,
    /// The last that a pass has found.
    after: Option<Place>,
    is_last_pass: bool,
    is_opened: bool,
    has_members: bool,
}

/// What passes look for.
#[derive(Debug)]
struct Asked {
    database: Arc<Database>,
    node: Ref,
    /// Only those to or from this one.
    other: Option<Ref>,
    direction: Option<Direction>,
    types: Option<Vec<String>>,
}

impl Surroundings {
    fn new(
        database: &Arc<Database>,
        node: Ref,
        other: Option<Ref>,
        aspect: Aspect,
        around: &Around<'_>,
    ) -> Self {
        let types = around.types.as_ref().map(|types| types.iter().map(|name| (**name).to_owned()).collect());
        let database = Arc::clone(database);
        let asked = Asked { database, node, other, direction: around.direction, types };
        Self {
            asked: Arc::new(asked),
            aspect,
            pass: Vec::new().into_iter(),
            after: None,
            is_last_pass: false,
            is_opened: false,
            has_members: false,
        }
    }

    /// Writes the next members; true where there may be more.
    pub(super) async fn write_slice(&mut self, out: &mut Vec<u8>) -> bool {
        if self.pass.as_slice().is_empty() && !self.is_last_pass {
            let found = self.look().await;
            self.is_last_pass = found.len() < PASS_MAX;
            self.after = found.last().copied().or(self.after);
            self.pass = found.into_iter();
        }
        if !std::mem::replace(&mut self.is_opened, true) {
            out.push(b'[');
        }
        let asked = Arc::clone(&self.asked);
        let read = asked.database.store.read();
        for _ in 0..SLICE_VISITS {
            if is_full(out) {
                break;
            }
            let Some(place) = self.pass.next() else { break };
            self.write_one(&read, place, out);
        }
        let has_more = !self.is_last_pass || !self.pass.as_slice().is_empty();
        if !has_more {
            out.push(b']');
        }
        has_more
    }

    /// The next of the order, of which there may be more where there are as many as a pass keeps.
    async fn look(&self) -> Vec<Place> {
        let _turn = PASSES.acquire().await.expect("it is never closed");
        let (asked, after) = (Arc::clone(&self.asked), self.after);
        let looking = tokio::task::spawn_blocking(move || asked.first_behind(after, PASS_MAX));
        looking.await.unwrap_or_default()
    }

    fn write_one(&mut self, read: &Read, place: Place, out: &mut Vec<u8>) {
        let direction = direction_of(place);
        let relationship = Ref::from_id(place.2).and_then(|at| read.relationship(at));
        // It may have gone since, and its slot may be another's.
        let is_own = |of: &Relationship<'_>| of.other(direction.opposite()) == self.asked.node;
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

impl Asked {
    /// The first `count` behind a place, in order; all are looked at.
    fn first_behind(&self, after: Option<Place>, count: usize) -> Vec<Place> {
        let read = self.database.store.read();
        let types: Option<Vec<&str>> =
            self.types.as_ref().map(|types| types.iter().map(String::as_str).collect());
        let mut kept: Vec<Place> = Vec::new();
        // Those behind it cannot be among the first.
        let mut end: Option<Place> = None;
        read.each_around(self.node, wanted(self.direction, types.as_deref()), |direction, of| {
            let place = place(direction, &of);
            let is_wanted = self.other.is_none_or(|other| of.other(direction) == other);
            if !is_wanted || after.is_some_and(|after| place <= after) || end.is_some_and(|end| place > end) {
                return;
            }
            kept.push(place);
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
            let whole = read.around(hub, wanted(direction, None));
            let whole: Vec<Place> = whole.iter().map(|(direction, of)| place(*direction, of)).collect();
            for count in [1, 7, whole.len(), 1000] {
                let (node, database) = (hub, Arc::clone(&database));
                let asked = Asked { database, node, other: None, direction, types: None };
                let mut found = Vec::new();
                loop {
                    let pass = asked.first_behind(found.last().copied(), count);
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
