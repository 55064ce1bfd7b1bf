//! Splices the rows of all levels into one JSON text, and lets nulls rise to the nearest nullable member
//! (GraphQL specification, section 6.4.4).

use prony_graphql::{
    error::{ErrorCode, GraphqlError, PathSegment},
    json,
    response::FieldResult,
};

use crate::plan::{AggregateKind, AggregatePlan};

use crate::nest::{
    Child, ChildKind, Limits, NestPlan,
    plan::LevelSource,
    tree::{Branch, Tree},
};

/// Errors beyond this many say nothing new.
const MAX_ERRORS: usize = 100;

/// Why nothing can be written where a value was expected.
enum Stop {
    /// A non-null value is missing; the error is noted.
    Null,
    /// The whole answer is given up.
    Abort(GraphqlError),
}

enum Frame<'p> {
    Key(&'p str),
    Index(usize),
}

struct Splicer<'p> {
    plan: &'p NestPlan,
    limits: Limits,
    out: Vec<u8>,
    path: Vec<Frame<'p>>,
    errors: Vec<GraphqlError>,
}

/// The answer of a root field.
pub(super) fn splice(plan: &NestPlan, tree: &Tree, limits: Limits) -> FieldResult {
    let path = vec![Frame::Key(&plan.response_key)];
    let mut splicer = Splicer { plan, limits, out: Vec::new(), path, errors: Vec::new() };
    let written = match plan.root().source {
        LevelSource::Aggregate(_) => splicer.only_row(0, tree, 0),
        LevelSource::List { .. } | LevelSource::One { .. } => splicer.rows(0, tree, Some(0)),
    };
    match written {
        Ok(()) => FieldResult { data: Some(splicer.out), errors: splicer.errors },
        Err(Stop::Null) => FieldResult { data: None, errors: splicer.errors },
        Err(Stop::Abort(error)) => FieldResult::failed(at_root(plan, error)),
    }
}

/// Gives an error of the whole field its place and path.
pub(super) fn at_root(plan: &NestPlan, mut error: GraphqlError) -> GraphqlError {
    if error.path.is_empty() {
        error.path.push(PathSegment::Key(plan.response_key.clone()));
    }
    if error.positions.is_empty() {
        error.positions.push(plan.position);
    }
    error
}

impl<'p> Splicer<'p> {
    fn rows(&mut self, level: usize, tree: &Tree, key: Option<usize>) -> Result<(), Stop> {
        self.out.push(b'[');
        let rows = key.map_or(0..0, |key| tree.answer.of_key(key));
        for (index, row) in rows.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.path.push(Frame::Index(index));
            self.row(level, tree, row)?;
            self.path.pop();
        }
        self.out.push(b']');
        Ok(())
    }

    fn row(&mut self, level: usize, tree: &Tree, row: usize) -> Result<(), Stop> {
        let rows = &tree.answer.rows;
        let mut fatal = false;
        for error in rows.errors_of(row) {
            self.note(error.error.clone());
            fatal |= error.fatal;
        }
        if fatal {
            return Err(Stop::Null);
        }
        let plan = self.plan;
        self.out.extend_from_slice(rows.segment(row, 0));
        for (index, (child, branch)) in plan.levels[level].children.iter().zip(&tree.below).enumerate() {
            self.path.push(Frame::Key(&child.response_key));
            self.child(child, branch, row)?;
            self.path.pop();
            self.out.extend_from_slice(rows.segment(row, index + 1));
        }
        self.check_size()
    }

    fn child(&mut self, child: &'p Child, branch: &Branch, row: usize) -> Result<(), Stop> {
        let key = branch.key_of_row.get(&row).copied();
        match child.kind {
            ChildKind::Many => self.rows(child.level, &branch.tree, key),
            ChildKind::One => self.one(child.level, &branch.tree, key),
            ChildKind::Aggregate => match key {
                Some(key) => self.only_row(child.level, &branch.tree, key),
                // A parent without a key has no rows; a dialect answers aggregates for keys only.
                None => self.nothing_aggregated(child.level),
            },
        }
    }

    fn one(&mut self, level: usize, tree: &Tree, key: Option<usize>) -> Result<(), Stop> {
        let Some(row) = key.and_then(|key| tree.answer.of_key(key).next()) else {
            self.out.extend_from_slice(b"null");
            return Ok(());
        };
        let (start, depth) = (self.out.len(), self.path.len());
        match self.row(level, tree, row) {
            Err(Stop::Null) => {
                self.out.truncate(start);
                self.path.truncate(depth);
                self.out.extend_from_slice(b"null");
                Ok(())
            }
            other => other,
        }
    }

    fn only_row(&mut self, level: usize, tree: &Tree, key: usize) -> Result<(), Stop> {
        match tree.answer.of_key(key).next() {
            Some(row) => self.row(level, tree, row),
            None => self.nothing_aggregated(level),
        }
    }

    fn nothing_aggregated(&mut self, level: usize) -> Result<(), Stop> {
        if let LevelSource::Aggregate(aggregate) = &self.plan.levels[level].source {
            write_empty_aggregate(aggregate, &mut self.out);
        }
        self.check_size()
    }

    fn check_size(&self) -> Result<(), Stop> {
        if self.out.len() <= self.limits.max_response_bytes {
            return Ok(());
        }
        Err(Stop::Abort(response_too_large(self.limits.max_response_bytes)))
    }

    fn note(&mut self, mut error: GraphqlError) {
        if self.errors.len() == MAX_ERRORS {
            return;
        }
        let mut path: Vec<PathSegment> = self.path.iter().map(Frame::segment).collect();
        path.append(&mut error.path);
        error.path = path;
        self.errors.push(error);
    }
}

impl Frame<'_> {
    fn segment(&self) -> PathSegment {
        match self {
            Self::Key(key) => PathSegment::Key((*key).into()),
            Self::Index(index) => PathSegment::Index(*index),
        }
    }
}

/// The aggregate over no rows: `count` is 0 and every other field null.
pub fn write_empty_aggregate(plan: &AggregatePlan, out: &mut Vec<u8>) {
    out.push(b'{');
    for (index, output) in plan.outputs.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&json::member_prefix(&output.response_key));
        match &output.kind {
            AggregateKind::Typename(name) => json::write_string(out, name),
            AggregateKind::Count => out.push(b'0'),
            AggregateKind::Fields(..) => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

/// The error of an answer that outgrows `max_response_bytes`.
pub fn response_too_large(max_response_bytes: usize) -> GraphqlError {
    GraphqlError::new(
        ErrorCode::LimitExceeded,
        format!(
            "the answer of this field is larger than {max_response_bytes} bytes (max_response_bytes): ask for \
             fewer rows or columns"
        ),
    )
}
