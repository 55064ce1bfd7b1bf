//! Writing answers as JSON bytes: only what is selected, in the order of the selection, without a tree between.
//!
//! Each value is written through [`complete`](Writer::complete), which is the specification's value completion
//! (section 6.4.3): an error or an unfit null turns the nearest nullable value around it into null.

mod leaf;
mod members;
mod value;

use std::fmt;

use prony_graphql::error::{ErrorCode, GraphqlError, PathSegment, Position};
use serde::Serialize;

use crate::write::{members::Place, value::ValueWriter};
use crate::{
    api::{answer::Answer, error::MASKED},
    execute::{
        plan::{LeafPlan, ObjectPlan, OutputKind, OutputPlan},
        rows::Column,
        run::Scope,
    },
};

/// The value cannot be written, and neither can what needs it. The error is told already.
#[derive(Debug)]
pub struct Nulled;

/// Errors of one root field that are told; further ones rarely tell more.
const MAX_ERRORS: usize = 100;

/// Where in the response a value is, from it upwards; lives on the stack.
#[derive(Debug, Clone, Copy)]
pub struct Path<'p> {
    above: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Debug, Clone, Copy)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    pub(crate) fn root(response_key: &'p str) -> Self {
        Self { above: None, step: Step::Key(response_key) }
    }

    fn key(&'p self, key: &'p str) -> Self {
        Self { above: Some(self), step: Step::Key(key) }
    }

    fn index(&'p self, index: usize) -> Self {
        Self { above: Some(self), step: Step::Index(index) }
    }

    /// From the root downwards.
    pub(crate) fn segments(&self) -> Vec<PathSegment> {
        let mut segments = self.above.map_or_else(Vec::new, Path::segments);
        segments.push(match self.step {
            Step::Key(key) => PathSegment::Key(key.into()),
            Step::Index(index) => PathSegment::Index(index),
        });
        segments
    }
}

/// What functions answered for the calls of one object type, spliced as its objects are written.
pub(crate) struct Level {
    /// By the object's calls.
    pub(crate) columns: Vec<Column>,
    /// Objects of the type that were begun.
    pub(crate) begun: usize,
}

/// Bytes under way, and the errors met.
pub struct Writer<'w> {
    pub(crate) out: Vec<u8>,
    pub(crate) errors: Vec<GraphqlError>,
    scope: Scope<'w>,
    /// For the object types of the answer at hand, in the order of its plan; empty where nothing is called.
    levels: Vec<Level>,
    /// Members that came before their turn, and which they are; both used as stacks.
    stash: Vec<u8>,
    stashed: Vec<Stashed>,
    /// Errors told, those above the limit included.
    told: usize,
}

/// A member written before its turn.
#[derive(Debug, Clone, Copy)]
struct Stashed {
    slot: usize,
    from: usize,
    to: usize,
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Writer").field("bytes", &self.out.len()).finish_non_exhaustive()
    }
}

impl<'w> Writer<'w> {
    pub(crate) fn new(scope: Scope<'w>, capacity_bytes: usize, levels: Vec<Level>) -> Self {
        Self {
            out: Vec::with_capacity(capacity_bytes),
            errors: Vec::new(),
            scope,
            levels,
            stash: Vec::new(),
            stashed: Vec::new(),
            told: 0,
        }
    }

    /// Runs `write`; where it fails, takes its bytes back and writes null, if null may stand there.
    fn complete(
        &mut self,
        plan: &OutputPlan,
        path: Path<'_>,
        write: impl FnOnce(&mut Self) -> Result<(), Nulled>,
    ) -> Result<(), Nulled> {
        let (start, stashed, told) = (self.out.len(), self.stashed.len(), self.told);
        if write(self).is_ok() {
            return Ok(());
        }
        if self.told == told {
            // The type's own `Serialize` refuses; serde's interface has no place for what it says.
            let _ = self.nonsense("the value refuses to be serialized", plan.position, path);
        }
        self.out.truncate(start);
        self.stashed.truncate(stashed);
        self.stash.truncate(self.stashed.last().map_or(0, |stashed| stashed.to));
        if plan.non_null {
            return Err(Nulled);
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    /// A value that is not there.
    pub(crate) fn null(&mut self, plan: &OutputPlan, path: Path<'_>) -> Result<(), Nulled> {
        if plan.non_null {
            return self.nonsense("the schema allows no null here", plan.position, path);
        }
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    /// An error of the function in the value's place.
    pub(crate) fn fail(
        &mut self,
        error: GraphqlError,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        self.complete(plan, path, |writer| {
            writer.tell(error, plan.position, path);
            Err(Nulled)
        })
    }

    /// A value that does not fit the schema: masked for clients, explained in the log.
    #[cold]
    fn nonsense(&mut self, detail: &str, position: Position, path: Path<'_>) -> Result<(), Nulled> {
        let error = GraphqlError::new(ErrorCode::SourceFailed, MASKED).with_detail(detail);
        self.tell(error, position, path);
        Err(Nulled)
    }

    #[cold]
    fn tell(&mut self, mut error: GraphqlError, position: Position, path: Path<'_>) {
        self.told += 1;
        if self.errors.len() < MAX_ERRORS {
            if error.positions.is_empty() {
                error = error.at(position);
            }
            self.errors.push(error.with_path(path.segments()));
        }
    }

    /// Any value, told apart by the plan.
    pub(crate) fn value<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        match &plan.kind {
            OutputKind::Leaf(leaf) if leaf.is_custom() || !leaf.directives.is_empty() => {
                self.complete(plan, path, |writer| writer.changed_leaf(value, leaf, plan, path))
            }
            _ => self.complete(plan, path, |writer| {
                value.serialize(ValueWriter { writer, plan, path, place: Place::default() })
            }),
        }
    }

    /// A leaf of any form, or one that directives change.
    fn changed_leaf<T: Serialize + ?Sized>(
        &mut self,
        value: &T,
        leaf: &LeafPlan,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let start = self.out.len();
        if leaf.is_custom() {
            if let Err(error) = serde_json::to_writer(&mut self.out, value) {
                return self.nonsense(&format!("the value is no JSON: {error}"), plan.position, path);
            }
        } else {
            value.serialize(ValueWriter { writer: self, plan, path, place: Place::default() })?;
        }
        if &self.out[start..] == b"null" {
            self.out.truncate(start);
            return self.null(plan, path);
        }
        for directive in &leaf.directives {
            let changed =
                directive.function.apply(&self.out[start..], &directive.arguments, self.scope.variables);
            match changed {
                Ok(changed) => {
                    self.out.truncate(start);
                    self.out.extend_from_slice(&changed);
                }
                Err(error) => {
                    self.tell(error.to_graphql(), plan.position, path);
                    return Err(Nulled);
                }
            }
        }
        Ok(())
    }

    /// An object that functions may add to.
    pub(crate) fn object<T: Serialize>(
        &mut self,
        object: &T,
        name: &str,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let objects = plan.kind.objects();
        let Some(index) = objects.iter().position(|object| object.type_name == name) else {
            return self.complete(plan, path, |writer| {
                writer.nonsense(&format!("{name} may not stand here"), plan.position, path)
            });
        };
        let row = match self.levels.get_mut(index) {
            Some(level) => {
                level.begun += 1;
                level.begun - 1
            }
            None => 0,
        };
        self.complete(plan, path, |writer| {
            object.serialize(ValueWriter { writer, plan, path, place: Place { level: index, row } })
        })
    }

    pub(crate) fn list<'a, A: Answer>(
        &mut self,
        items: impl Iterator<Item = &'a A>,
        plan: &OutputPlan,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let OutputKind::List(item_plan) = &plan.kind else {
            let write = |writer: &mut Self| writer.nonsense("a list may not stand here", plan.position, path);
            return self.complete(plan, path, write);
        };
        self.complete(plan, path, |writer| {
            writer.out.push(b'[');
            for (index, item) in items.enumerate() {
                if index > 0 {
                    writer.out.push(b',');
                }
                item.write(item_plan, path.index(index), writer)?;
            }
            writer.out.push(b']');
            Ok(())
        })
    }

    /// What a function answered for this object; its errors get the object's path before theirs.
    fn splice(
        &mut self,
        object: &ObjectPlan,
        call: usize,
        place: Place,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
        let Place { level, row } = place;
        let Some(column) = self.levels.get_mut(level).and_then(|level| level.columns.get_mut(call)) else {
            let detail = format!("nothing was called for {}", object.type_name);
            return self.nonsense(&detail, object.calls[call].position, path);
        };
        for mut error in column.take_errors(row) {
            let mut segments = path.segments();
            segments.append(&mut error.path);
            if self.errors.len() < MAX_ERRORS {
                self.errors.push(error.with_path(segments));
            }
        }
        let Some(bytes) = column.bytes_of(row) else {
            self.told += 1;
            return Err(Nulled);
        };
        self.out.extend_from_slice(bytes);
        Ok(())
    }
}
