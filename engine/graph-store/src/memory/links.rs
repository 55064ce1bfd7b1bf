//! The relationships of one node: a short list for most, groups by direction and type for nodes with many.
//!
//! Readers walk them while the writer adds and removes. An entry says which relationship, its direction and, in the
//! relationship's own name, its type; whether it still stands is for the reader to look up.

use crate::index::{KeyIndex, KeyIndexState};
use crate::memory::cell::SliceCell;
use crate::memory::slab::Slab;
use crate::types::id::Ref;
use crossbeam_epoch::Guard;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A node with more relationships gets groups, which cost more memory and less time.
const SHORT_MAX: usize = 128;
const INCOMING: u64 = 1 << 63;
/// In the first entry, where it is not [`EMPTY`]: the rest of it is the number of the node's groups.
const IS_HUB: u64 = 1 << 62;
/// A place without a relationship.
const EMPTY: u64 = u64::MAX;

/// Which end of a relationship a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The relationship starts here.
    Outgoing,
    Incoming,
}

impl Direction {
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Outgoing => Self::Incoming,
            Self::Incoming => Self::Outgoing,
        }
    }
}

/// A relationship at one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) relationship: Ref,
    pub(crate) direction: Direction,
}

impl Link {
    pub(crate) const fn bits(self) -> u64 {
        match self.direction {
            Direction::Outgoing => self.relationship.bits(),
            Direction::Incoming => self.relationship.bits() | INCOMING,
        }
    }

    const fn from_bits(bits: u64) -> Self {
        let direction = if bits & INCOMING == 0 { Direction::Outgoing } else { Direction::Incoming };
        Self { relationship: Ref::from_bits(bits), direction }
    }
}

/// Eight bytes, and eight and eight a relationship where there are some: the entries, then [`EMPTY`] where there is room
/// for more. Of a node with groups, their number alone.
#[derive(Debug, Default)]
pub(crate) struct Links(SliceCell<AtomicU64>);

/// The groups of nodes that have many relationships, by the numbers that their first words name.
pub(crate) type Hubs = Slab<OnceLock<Box<Hub>>, 64>;

impl Links {
    /// All of them, until `each` breaks off; some may have gone when they are looked up.
    pub(crate) fn walk(
        &self,
        hubs: &Hubs,
        guard: &Guard,
        each: &mut impl FnMut(Link) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.form(hubs, guard) {
            Form::None => ControlFlow::Continue(()),
            Form::Short(entries) => {
                entries.iter().try_for_each(|entry| each(Link::from_bits(entry.load(Relaxed))))
            }
            Form::Hub(hub) => hub.groups().try_for_each(|group| group.walk(each)),
        }
    }

    /// As [`Self::walk`], for one direction and type; of a node with many, only these are looked at.
    pub(crate) fn walk_group(
        &self,
        hubs: &Hubs,
        direction: Direction,
        type_number: u16,
        guard: &Guard,
        each: &mut impl FnMut(Link) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let fits =
            |link: &Link| link.direction == direction && link.relationship.type_number() == type_number;
        match self.form(hubs, guard) {
            Form::None => ControlFlow::Continue(()),
            Form::Short(entries) => {
                let links = entries.iter().map(|entry| Link::from_bits(entry.load(Relaxed)));
                links.filter(fits).try_for_each(each)
            }
            Form::Hub(hub) => match hub.group(direction, type_number) {
                Some(group) => group.walk(each),
                None => ControlFlow::Continue(()),
            },
        }
    }

    /// Looks at each where there are few; how many.
    pub(crate) fn walk_few(&self, hubs: &Hubs, guard: &Guard, each: impl Fn(Link)) -> usize {
        let Form::Short(entries) = self.form(hubs, guard) else { return 0 };
        for entry in entries {
            each(Link::from_bits(entry.load(Relaxed)));
        }
        entries.len()
    }

    /// Whether they are in groups.
    pub(crate) fn are_many(&self, guard: &Guard) -> bool {
        self.0.load(guard).is_some_and(|all| all[0].load(Acquire) & IS_HUB != 0)
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self, hubs: &Hubs, guard: &Guard) -> bool {
        match self.form(hubs, guard) {
            Form::None => true,
            Form::Short(entries) => entries.is_empty(),
            Form::Hub(hub) => hub.groups().all(|group| group.living.load(Acquire) == 0),
        }
    }

    /// How many there are of a direction, and of a type where one is named; of a node with many without walking.
    pub(crate) fn degree(
        &self,
        hubs: &Hubs,
        direction: Direction,
        type_number: Option<u16>,
        guard: &Guard,
    ) -> u64 {
        let fits =
            |of: Direction, number: u16| of == direction && type_number.is_none_or(|wanted| wanted == number);
        match self.form(hubs, guard) {
            Form::None => 0,
            Form::Short(entries) => {
                let links = entries.iter().map(|entry| Link::from_bits(entry.load(Relaxed)));
                links.filter(|link| fits(link.direction, link.relationship.type_number())).count() as u64
            }
            Form::Hub(hub) => {
                let groups = hub.groups().filter(|group| fits(group.direction, group.type_number));
                groups.map(|group| group.living.load(Acquire)).sum()
            }
        }
    }

    /// One writer at a time. `hubs_end` is the number of the next node that gets groups.
    pub(crate) fn add(&self, link: Link, hubs: &Hubs, hubs_end: &mut u32, guard: &Guard) {
        match self.form(hubs, guard) {
            Form::None => self.write_short(&[], link, guard),
            Form::Hub(hub) => hub.add(link, guard),
            Form::Short(entries) if entries.len() == SHORT_MAX => {
                let hub = Hub::default();
                for entry in entries {
                    hub.add(Link::from_bits(entry.load(Relaxed)), guard);
                }
                hub.add(link, guard);
                let number = *hubs_end;
                *hubs_end += 1;
                hubs.make(number).get_or_init(|| Box::new(hub));
                let first = AtomicU64::new(IS_HUB | u64::from(number));
                self.0.replace(std::iter::once(first), guard);
            }
            Form::Short(entries) => {
                let all = self.0.load(guard).expect("a short list has entries");
                match all.get(entries.len()) {
                    Some(place) => place.store(link.bits(), Release),
                    None => self.write_short(entries, link, guard),
                }
            }
        }
    }

    /// All of them at once and in order, for a node that has none yet. `hubs_end` as in [`Self::add`].
    pub(crate) fn fill(&self, links: &[u64], hubs: &Hubs, hubs_end: &AtomicU32, guard: &Guard) {
        if links.len() <= SHORT_MAX {
            if !links.is_empty() {
                self.write(links.iter().copied(), links.len(), guard);
            }
            return;
        }
        let hub = Hub::default();
        let group_of = |bits: u64| {
            let link = Link::from_bits(bits);
            (link.direction, link.relationship.type_number())
        };
        for links in links.chunk_by(|a, b| group_of(*a) == group_of(*b)) {
            let (direction, type_number) = group_of(links[0]);
            hub.add_group(direction, type_number).fill(links, guard);
        }
        let number = hubs_end.fetch_add(1, Relaxed);
        hubs.make(number).get_or_init(|| Box::new(hub));
        self.0.replace(std::iter::once(AtomicU64::new(IS_HUB | u64::from(number))), guard);
    }

    /// False where it was not there.
    pub(crate) fn remove(&self, link: Link, hubs: &Hubs, guard: &Guard) -> bool {
        match self.form(hubs, guard) {
            Form::None => false,
            Form::Hub(hub) => hub
                .group(link.direction, link.relationship.type_number())
                .is_some_and(|group| group.remove(link.bits(), guard)),
            Form::Short(entries) => {
                let rest: Vec<u64> = entries.iter().map(|entry| entry.load(Relaxed)).collect();
                let Some(at) = rest.iter().position(|bits| *bits == link.bits()) else { return false };
                if rest.len() == 1 {
                    self.0.clear(guard);
                } else {
                    let kept =
                        rest.iter().enumerate().filter(|(index, _)| *index != at).map(|(_, bits)| *bits);
                    self.write(kept, rest.len() - 1, guard);
                }
                true
            }
        }
    }

    /// All are gone. Groups keep their memory until the graph goes.
    pub(crate) fn clear(&self, guard: &Guard) {
        self.0.clear(guard);
    }

    fn form<'g>(&'g self, hubs: &'g Hubs, guard: &'g Guard) -> Form<'g> {
        let Some(all) = self.0.load(guard) else { return Form::None };
        let first = all[0].load(Acquire);
        if first & IS_HUB == 0 {
            // Whoever sees an entry sees those before it.
            let room = all.iter().rev().take_while(|entry| entry.load(Acquire) == EMPTY).count();
            return Form::Short(&all[..all.len() - room]);
        }
        let hub = hubs.get((first & !IS_HUB) as u32).and_then(OnceLock::get);
        Form::Hub(hub.expect("a node's groups are made before its first word names them"))
    }

    fn write_short(&self, entries: &[AtomicU64], link: Link, guard: &Guard) {
        let all = entries.iter().map(|entry| entry.load(Relaxed)).chain([link.bits()]);
        self.write(all, entries.len() + 1, guard);
    }

    fn write(&self, entries: impl Iterator<Item = u64>, count: usize, guard: &Guard) {
        let mut all = entries.chain(std::iter::repeat(EMPTY));
        let values = (0..room_for(count)).map(|_| AtomicU64::new(all.next().unwrap_or(EMPTY)));
        self.0.replace(values, guard);
    }
}

/// Entries for which memory is taken when there are `count`: an even number, which with their length and what an allocator
/// keeps before that makes sizes that allocators have.
const fn room_for(count: usize) -> usize {
    let room = if count < 16 { count } else { count + count / 4 };
    if room > SHORT_MAX { SHORT_MAX } else { room.next_multiple_of(2) }
}

enum Form<'g> {
    None,
    Short(&'g [AtomicU64]),
    Hub(&'g Hub),
}

/// A node with many relationships.
#[derive(Debug, Default)]
pub(crate) struct Hub {
    first: OnceLock<Box<Group>>,
}

/// The relationships of one direction and type.
#[derive(Debug)]
struct Group {
    direction: Direction,
    type_number: u16,
    entries: Slab<AtomicU64, 64>,
    /// Places that have been used, removed ones included.
    end: AtomicU64,
    living: AtomicU64,
    places: KeyIndex,
    /// The writer's own; nobody waits for it.
    state: Mutex<PlacesState>,
    next: OnceLock<Box<Group>>,
}

/// What only the writer knows of a group: how it finds where an entry stands, and which places are free.
#[derive(Debug, Default)]
struct PlacesState {
    places: KeyIndexState,
    free: Vec<u32>,
}

impl Hub {
    fn groups(&self) -> impl Iterator<Item = &Group> {
        std::iter::successors(self.first.get(), |group| group.next.get()).map(|group| &**group)
    }

    fn group(&self, direction: Direction, type_number: u16) -> Option<&Group> {
        self.groups().find(|group| group.direction == direction && group.type_number == type_number)
    }

    fn add(&self, link: Link, guard: &Guard) {
        let (direction, type_number) = (link.direction, link.relationship.type_number());
        if let Some(group) = self.group(direction, type_number) {
            return group.add(link.bits(), guard);
        }
        self.add_group(direction, type_number).add(link.bits(), guard);
    }

    /// For a direction and type that has none yet.
    fn add_group(&self, direction: Direction, type_number: u16) -> &Group {
        let mut last = &self.first;
        while let Some(group) = last.get() {
            last = &group.next;
        }
        last.get_or_init(|| {
            Box::new(Group {
                direction,
                type_number,
                entries: Slab::default(),
                end: AtomicU64::new(0),
                living: AtomicU64::new(0),
                places: KeyIndex::default(),
                state: Mutex::default(),
                next: OnceLock::new(),
            })
        })
    }
}

impl Group {
    fn walk(&self, each: &mut impl FnMut(Link) -> ControlFlow<()>) -> ControlFlow<()> {
        let end = self.end.load(Acquire) as u32;
        let links = (0..end).map(|place| self.entry(place)).filter(|bits| *bits != EMPTY);
        links.map(Link::from_bits).try_for_each(each)
    }

    fn entry(&self, place: u32) -> u64 {
        self.entries.get(place).map_or(EMPTY, |entry| entry.load(Acquire))
    }

    fn hash_at(&self, place: u32) -> Option<u64> {
        Some(self.entry(place)).filter(|bits| *bits != EMPTY).map(spread)
    }

    fn add(&self, bits: u64, guard: &Guard) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let free = state.free.pop();
        let place = free.unwrap_or_else(|| self.end.load(Relaxed) as u32);
        self.places.insert(&mut state.places, spread(bits), place, |place| self.hash_at(place), guard);
        self.entries.make(place).store(bits, Release);
        if free.is_none() {
            self.end.store(u64::from(place) + 1, Release);
        }
        self.living.fetch_add(1, Release);
    }

    /// As [`Self::add`] one by one, for a group that has none.
    fn fill(&self, links: &[u64], guard: &Guard) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (place, bits) in (0..).zip(links) {
            self.entries.make(place).store(*bits, Release);
        }
        let places = links.iter().map(|bits| spread(*bits)).zip(0..);
        state.places = self.places.fill(links.len(), places, guard);
        self.end.store(links.len() as u64, Release);
        self.living.store(links.len() as u64, Release);
    }

    fn remove(&self, bits: u64, guard: &Guard) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut candidates = self.places.candidates(spread(bits), guard);
        let Some(place) = candidates.find(|place| self.entry(*place) == bits) else { return false };
        drop(candidates);
        self.places.remove(&mut state.places, spread(bits), place, guard);
        self.entries.make(place).store(EMPTY, Release);
        state.free.push(place);
        self.living.fetch_sub(1, Release);
        true
    }
}

/// A hash of what differs in few bits (Knuth's multiplicative method, both halves of it used).
const fn spread(bits: u64) -> u64 {
    let hash = bits.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn link(number: u32) -> Link {
        let direction = if number.is_multiple_of(3) { Direction::Incoming } else { Direction::Outgoing };
        Link { relationship: Ref::new((number % 5) as u16 + 1, (number % 4) as u8, number), direction }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        /// As a plain set, also across the change from a short list to groups.
        #[test]
        fn links_are_a_set(steps in prop::collection::vec((any::<bool>(), 0..400_u32), 0..900)) {
            let (links, hubs, mut hubs_end) = (Links::default(), Hubs::default(), 0);
            let mut model = BTreeSet::new();
            let guard = crossbeam_epoch::pin();
            for (is_added, number) in steps {
                if is_added {
                    if model.insert(number) {
                        links.add(link(number), &hubs, &mut hubs_end, &guard);
                    }
                } else {
                    prop_assert_eq!(links.remove(link(number), &hubs, &guard), model.remove(&number));
                }
            }
            let mut found = BTreeSet::new();
            let ended = links.walk(&hubs, &guard, &mut |link| {
                found.insert(link.relationship.index());
                ControlFlow::Continue(())
            });
            prop_assert_eq!(ended, ControlFlow::Continue(()));
            prop_assert_eq!(&found, &model);
            for direction in [Direction::Outgoing, Direction::Incoming] {
                for type_number in 1..=5 {
                    let wanted: BTreeSet<_> = model.iter().copied()
                        .filter(|n| link(*n).direction == direction && link(*n).relationship.type_number() == type_number)
                        .collect();
                    let mut found = BTreeSet::new();
                    let ended = links.walk_group(&hubs, direction, type_number, &guard, &mut |link| {
                        found.insert(link.relationship.index());
                        ControlFlow::Continue(())
                    });
                    prop_assert_eq!(ended, ControlFlow::Continue(()));
                    prop_assert_eq!(&found, &wanted);
                    prop_assert_eq!(links.degree(&hubs, direction, Some(type_number), &guard), wanted.len() as u64);
                }
                let wanted = model.iter().filter(|number| link(**number).direction == direction).count();
                prop_assert_eq!(links.degree(&hubs, direction, None, &guard), wanted as u64);
            }
        }
    }
}
