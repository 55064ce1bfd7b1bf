//! Texts: each one once, in the order in which they come, and for each row the number of its text.

use super::bits::{Packed, pack, width};
use foldhash::fast::RandomState;
use prony_log::codec::{Damage, Input, put_bytes, put_length};
use std::collections::HashMap;
use std::sync::Arc;

/// Texts of rows, of which equal ones are kept once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Texts {
    dictionary: Vec<Arc<str>>,
    /// For each row, its text's place.
    places: Vec<u32>,
}

impl Texts {
    pub(crate) fn get(&self, row: usize) -> &Arc<str> {
        &self.dictionary[self.places[row] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<str>> {
        self.places.iter().map(|place| &self.dictionary[*place as usize])
    }
}

pub(crate) fn write<'a>(to: &mut Vec<u8>, texts: impl Iterator<Item = &'a str>) {
    let (mut numbers, mut dictionary, mut places) =
        (HashMap::<_, _, RandomState>::default(), Vec::new(), Vec::new());
    for text in texts {
        places.push(*numbers.entry(text).or_insert_with(|| {
            dictionary.push(text);
            dictionary.len() as u64 - 1
        }));
    }
    put_length(to, dictionary.len());
    for text in &dictionary {
        put_bytes(to, text.as_bytes());
    }
    pack(to, places.into_iter(), width((dictionary.len() as u64).saturating_sub(1)));
}

/// Reads as many texts as were written.
pub(crate) fn read(input: &mut Input<'_>, count: usize) -> Result<Texts, Damage> {
    let dictionary = input.list(1, |input| Ok(Arc::from(input.text()?)))?;
    let packed = Packed::read(input, count, width((dictionary.len() as u64).saturating_sub(1)))?;
    let places: Vec<u32> = (0..count).map(|row| packed.get(row) as u32).collect();
    if places.iter().any(|place| *place as usize >= dictionary.len()) {
        return Err(Damage("a text is not in the dictionary"));
    }
    Ok(Texts { dictionary, places })
}
