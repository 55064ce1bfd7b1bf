//! The value of a root field while it is written: its bytes, where in it the next value belongs, and its errors. Nulls
//! propagate to the nearest nullable value (GraphQL specification, section 6.4.4).

use prony_graphql::{
    budget::ResponseMeter,
    error::{GraphqlError, PathSegment},
    response::FieldResult,
};

/// Errors of one field; further ones say nothing new.
const MAX_ERRORS: usize = 100;

/// Why a value was not written; `E` is what else can go wrong.
#[derive(Debug)]
pub enum Unwritten<E> {
    /// A value that must not be null is missing; the error is noted.
    Null,
    /// The field fails as a whole.
    Failed(E),
}

impl<E> From<E> for Unwritten<E> {
    fn from(error: E) -> Self {
        Self::Failed(error)
    }
}

#[derive(Debug)]
enum Step<'p> {
    Key(&'p str),
    Index(usize),
}

/// Where a nullable value begins.
#[derive(Debug, Clone, Copy)]
pub struct ValueStart {
    bytes: usize,
    steps: usize,
}

/// Writes values; whoever uses it appends to `out` and says which values it enters and leaves. Paths of errors begin below
/// the root field.
#[derive(Debug)]
pub struct FieldWriter<'p> {
    pub out: Vec<u8>,
    path: Vec<Step<'p>>,
    errors: Vec<GraphqlError>,
    meter: ResponseMeter,
}

impl<'p> FieldWriter<'p> {
    pub fn new(capacity_bytes: usize, meter: ResponseMeter) -> Self {
        Self { out: Vec::with_capacity(capacity_bytes), path: Vec::new(), errors: Vec::new(), meter }
    }

    /// What is written next is a member's value.
    pub fn enter_member(&mut self, response_key: &'p str) {
        self.path.push(Step::Key(response_key));
    }

    /// What is written next is an item of a list.
    pub fn enter_item(&mut self, index: usize) {
        self.path.push(Step::Index(index));
    }

    /// The value that was entered last is written.
    pub fn leave(&mut self) {
        self.path.pop();
    }

    /// A nullable value begins here.
    pub fn start(&self) -> ValueStart {
        ValueStart { bytes: self.out.len(), steps: self.path.len() }
    }

    /// Ends a nullable value: null stands for it where a part that must not be null is missing.
    ///
    /// # Errors
    /// What `written` fails with.
    pub fn nullable<E>(
        &mut self,
        start: ValueStart,
        written: Result<(), Unwritten<E>>,
    ) -> Result<(), Unwritten<E>> {
        if let Err(Unwritten::Null) = written {
            self.out.truncate(start.bytes);
            self.path.truncate(start.steps);
            self.out.extend_from_slice(b"null");
            return Ok(());
        }
        written
    }

    /// Keeps an error, whose own path starts at the value that was entered last.
    pub fn note(&mut self, mut error: GraphqlError) {
        if self.errors.len() == MAX_ERRORS {
            return;
        }
        let above = self.path.iter().map(|step| match step {
            Step::Key(key) => PathSegment::Key((*key).into()),
            Step::Index(index) => PathSegment::Index(*index),
        });
        error.path = above.chain(std::mem::take(&mut error.path)).collect();
        self.errors.push(error);
    }

    /// How many errors are noted.
    pub fn error_count(&self) -> usize {
        self.errors.len()
    }

    /// The errors so far; none are left.
    pub fn take_errors(&mut self) -> Vec<GraphqlError> {
        std::mem::take(&mut self.errors)
    }

    /// # Errors
    /// Where more bytes are written than a response may have.
    #[inline]
    pub fn check_size(&mut self) -> Result<(), GraphqlError> {
        Ok(self.meter.check(self.out.len())?)
    }

    /// What the source answers for the field.
    ///
    /// # Errors
    /// What it has failed with as a whole.
    pub fn finish<E>(self, written: Result<(), Unwritten<E>>) -> Result<FieldResult, E> {
        let data = match written {
            Ok(()) => Some(self.out),
            Err(Unwritten::Null) => None,
            Err(Unwritten::Failed(error)) => return Err(error),
        };
        Ok(FieldResult { data, errors: self.errors })
    }
}
