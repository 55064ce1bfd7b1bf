//! Members of an object, from serde's calls, in the order of the selection.
//!
//! A member whose turn it is goes straight to the response. One that comes early is put on the stash, and taken
//! from it when its turn comes; members that are not selected are not serialized at all.

use std::fmt::{self, Write as _};

use prony_graphql::error::Position;
use serde::{Serialize, ser};

use crate::execute::plan::{Content, ObjectPlan};
use crate::write::{Nulled, Path, Place, Stashed, Writer};

/// An object about to be written.
pub(super) struct Object<'w, 's, 'p> {
    pub(super) writer: &'w mut Writer<'s>,
    pub(super) plan: &'p ObjectPlan,
    pub(super) position: Position,
    pub(super) place: Place,
    pub(super) path: Path<'p>,
}

impl<'w, 's, 'p> Object<'w, 's, 'p> {
    pub(super) fn begin(self) -> Result<Members<'w, 's, 'p>, Nulled> {
        let (stash_from, stashed_from) = (self.writer.stash.len(), self.writer.stashed.len());
        let mut members = Members { object: self, next: 0, key: String::new(), stash_from, stashed_from };
        members.advance()?;
        Ok(members)
    }
}

pub(super) struct Members<'w, 's, 'p> {
    object: Object<'w, 's, 'p>,
    /// The slot whose turn it is.
    next: usize,
    /// Of a map's entry.
    key: String,
    stash_from: usize,
    stashed_from: usize,
}

impl Members<'_, '_, '_> {
    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Nulled> {
        let plan = self.object.plan;
        if let Some(Content::Member(expected, output)) = plan.slots.get(self.next).map(|slot| &slot.content)
            && **expected == *name
        {
            let slot = &plan.slots[self.next];
            let Object { writer, path, .. } = &mut self.object;
            writer.out.extend_from_slice(&slot.prefix);
            writer.value(value, output, path.key(&slot.response_key))?;
            self.next += 1;
            if plan.repeats {
                self.early(name, value)?;
            }
            return self.advance();
        }
        self.early(name, value)
    }

    /// Stashes what other slots want of the member.
    fn early<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Nulled> {
        let Object { writer, path, plan, .. } = &mut self.object;
        for (index, slot) in plan.slots.iter().enumerate().skip(self.next) {
            let Content::Member(wanted, output) = &slot.content else { continue };
            if **wanted != *name {
                continue;
            }
            let start = writer.out.len();
            writer.value(value, output, path.key(&slot.response_key))?;
            let from = writer.stash.len();
            writer.stash.extend_from_slice(&writer.out[start..]);
            writer.out.truncate(start);
            writer.stashed.push(Stashed { slot: index, from, to: writer.stash.len() });
            if !plan.repeats {
                break;
            }
        }
        Ok(())
    }

    /// Writes the slots whose turn it is and whose content is there.
    fn advance(&mut self) -> Result<(), Nulled> {
        let Object { writer, path, place, plan, .. } = &mut self.object;
        while let Some(slot) = plan.slots.get(self.next) {
            match &slot.content {
                Content::Typename(text) => {
                    writer.out.extend_from_slice(&slot.prefix);
                    writer.out.extend_from_slice(text);
                }
                Content::Call(call) => {
                    writer.out.extend_from_slice(&slot.prefix);
                    writer.splice(plan, *call, *place, *path)?;
                }
                Content::Refused(error, output) => {
                    writer.out.extend_from_slice(&slot.prefix);
                    writer.fail((**error).clone(), output, path.key(&slot.response_key))?;
                }
                Content::Member(..) => {
                    let early = &writer.stashed[self.stashed_from..];
                    let Some(&early) = early.iter().find(|early| early.slot == self.next) else { break };
                    writer.out.extend_from_slice(&slot.prefix);
                    writer.out.extend_from_slice(&writer.stash[early.from..early.to]);
                }
            }
            self.next += 1;
        }
        Ok(())
    }

    /// Members that serde left out are null.
    fn finish(mut self) -> Result<(), Nulled> {
        let plan = self.object.plan;
        while let Some(slot) = plan.slots.get(self.next) {
            let Object { writer, path, .. } = &mut self.object;
            writer.out.extend_from_slice(&slot.prefix);
            if let Content::Member(name, output) = &slot.content {
                let path = path.key(&slot.response_key);
                if output.non_null {
                    let detail = format!("the object of {} has no member {name}", plan.type_name);
                    return writer.nonsense(&detail, output.position, path);
                }
                writer.null(output, path)?;
            }
            self.next += 1;
            self.advance()?;
        }
        let writer = self.object.writer;
        writer.stash.truncate(self.stash_from);
        writer.stashed.truncate(self.stashed_from);
        writer.out.extend_from_slice(if plan.slots.is_empty() { b"{}" } else { b"}" });
        Ok(())
    }
}

impl ser::SerializeStruct for Members<'_, '_, '_> {
    type Ok = ();
    type Error = Nulled;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Nulled> {
        self.member(key, value)
    }

    fn end(self) -> Result<(), Nulled> {
        self.finish()
    }
}

impl ser::SerializeMap for Members<'_, '_, '_> {
    type Ok = ();
    type Error = Nulled;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Nulled> {
        self.key.clear();
        if write!(self.key, "{}", Key(key)).is_ok() {
            return Ok(());
        }
        let Object { writer, path, position, .. } = &mut self.object;
        writer.nonsense("an object's key is no text", *position, *path)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Nulled> {
        let key = std::mem::take(&mut self.key);
        let written = self.member(&key, value);
        self.key = key;
        written
    }

    fn end(self) -> Result<(), Nulled> {
        self.finish()
    }
}

/// A map's key as text; serde's own serializer for formatters takes texts, numbers and unit variants.
struct Key<'k, K: ?Sized>(&'k K);

impl<K: Serialize + ?Sized> fmt::Display for Key<'_, K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(formatter)
    }
}
