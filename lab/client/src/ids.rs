//! What requests and connections are known by, and the arena that holds them: a place is used again, with the memory that
//! its last tenant left there, and an id of an earlier tenant finds nothing.

use std::marker::PhantomData;

/// An id of an arena.
pub(crate) trait Id: Copy {
    fn new(index: u32, generation: u32) -> Self;
    fn index(self) -> u32;
    fn generation(self) -> u32;
}

macro_rules! id {
    ($(#[$about:meta])* $visible:vis $name:ident) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        $visible struct $name {
            index: u32,
            generation: u32,
        }

        impl Id for $name {
            fn new(index: u32, generation: u32) -> Self {
                Self { index, generation }
            }

            fn index(self) -> u32 {
                self.index
            }

            fn generation(self) -> u32 {
                self.generation
            }
        }

        impl $name {
            pub(crate) const fn to_u64(self) -> u64 {
                (self.generation as u64) << 32 | self.index as u64
            }

            pub(crate) const fn of_u64(number: u64) -> Self {
                Self { index: number as u32, generation: (number >> 32) as u32 }
            }
        }
    };
}

id!(
    /// A request of a client, or the WebSocket that it has become. Never used for another one.
    pub RequestId
);
id!(
    /// A connection of a client. Never used for another one.
    pub(crate) ConnectionId
);

#[derive(Debug)]
pub(crate) struct Arena<I, T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
    ids: PhantomData<I>,
}

#[derive(Debug, Default)]
struct Place<T> {
    /// Odd while it has a tenant.
    generation: u32,
    value: T,
}

impl<I, T> Default for Arena<I, T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), ids: PhantomData }
    }
}

impl<I: Id, T: Default> Arena<I, T> {
    /// A place for a new tenant, which holds what [`Arena::release`] left in it.
    pub(crate) fn take(&mut self) -> I {
        self.take_place().0
    }

    /// As [`Arena::take`], with what stands in the place.
    pub(crate) fn take_place(&mut self) -> (I, &mut T) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[index as usize];
        place.generation = place.generation.wrapping_add(1);
        (I::new(index, place.generation), &mut place.value)
    }

    pub(crate) fn get(&self, id: I) -> Option<&T> {
        let place = self.places.get(id.index() as usize)?;
        (place.generation == id.generation()).then_some(&place.value)
    }

    pub(crate) fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let place = self.places.get_mut(id.index() as usize)?;
        (place.generation == id.generation()).then_some(&mut place.value)
    }

    /// What stands at a place, and the id of its tenant, if it has one.
    pub(crate) fn at(&mut self, index: u32) -> (Option<I>, &mut T) {
        let place = &mut self.places[index as usize];
        let is_taken = place.generation % 2 == 1;
        (is_taken.then(|| I::new(index, place.generation)), &mut place.value)
    }

    /// Ends a tenancy; what is left in the place is handed to the next tenant.
    pub(crate) fn release(&mut self, id: I) -> Option<&mut T> {
        let place = self.places.get_mut(id.index() as usize)?;
        if place.generation != id.generation() {
            return None;
        }
        place.generation = place.generation.wrapping_add(1);
        self.free.push(id.index());
        Some(&mut place.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_an_earlier_tenant_finds_nothing() {
        let mut arena: Arena<RequestId, u8> = Arena::default();
        let (first, other) = (arena.take(), arena.take());
        *arena.get_mut(first).unwrap() = 1;
        assert_eq!(arena.release(first).copied(), Some(1));
        assert_eq!(arena.get(first), None);
        assert_eq!(arena.release(first), None);
        let second = arena.take();
        assert_eq!((second.index(), arena.get(second)), (first.index(), Some(&1)));
        assert_ne!(first, second);
        assert_eq!(arena.at(second.index()).0, Some(second));
        assert_eq!(arena.get(first), None);
        arena.release(other);
        assert_eq!(arena.at(other.index()).0, None);
        assert_eq!(RequestId::of_u64(second.to_u64()), second);
    }
}
