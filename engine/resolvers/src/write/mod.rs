//! Writing answers as JSON bytes: only what is selected, in the order of the selection, without a tree between.
//!
//! Each value is written through [`complete`](Writer::complete), which is the specification's value completion
//! (section 6.4.3): an error or an unfit null turns the nearest nullable value around it into null.

mod leaf;
mod members;
mod value;

use std::fmt;

use prony_graphql::error::{ErrorCode, GraphqlError, PathSegment, Position};

use crate::{
    api::error::MASKED,
    execute::{
        guard::Scope,
        plan::{ObjectPlan, OutputPlan},
        rows::Column,
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

    pub(crate) fn index(&'p self, index: usize) -> Self {
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

/// Which object type of the plan, and which object of it; objects inside others have no calls and need neither.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    level: usize,
    row: usize,
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
    pub(crate) fn complete(
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
    pub(crate) fn nonsense(
        &mut self,
        detail: &str,
        position: Position,
        path: Path<'_>,
    ) -> Result<(), Nulled> {
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
