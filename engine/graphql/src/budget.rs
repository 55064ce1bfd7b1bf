//! How many bytes responses may have: those of one operation together, of one connection's operations, of all the process. Bytes
//! are charged while they are written, in steps, and given back when the response is gone.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use crate::error::{ErrorCode, GraphqlError};

/// Bytes that are charged at once. The first step of each root field costs nothing: most responses are shorter.
const STEP_BYTES: usize = 64 << 10;

/// Bytes that the responses of one operation, connection or process may have at a time.
#[derive(Debug)]
pub struct ResponseBudget {
    limit: ResponseLimit,
    max_bytes: usize,
    used_bytes: AtomicUsize,
    /// Of which this one is a part.
    whole: Option<Arc<ResponseBudget>>,
}

/// What a budget is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseLimit {
    Operation,
    Connection,
    Process,
}

/// More bytes than there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TooLarge {
    /// The response of one root field has more than so many bytes.
    Field { max_bytes: usize },
    /// All that are counted together have more.
    Together { limit: ResponseLimit, max_bytes: usize },
}

impl ResponseBudget {
    pub fn new(limit: ResponseLimit, max_bytes: usize) -> Arc<Self> {
        Arc::new(Self { limit, max_bytes, used_bytes: AtomicUsize::new(0), whole: None })
    }

    /// A part of this one: what is charged to the part is charged to the whole, until the part is dropped.
    #[must_use]
    pub fn part(self: &Arc<Self>, limit: ResponseLimit, max_bytes: usize) -> Arc<Self> {
        let whole = Some(Arc::clone(self));
        Arc::new(Self { limit, max_bytes, used_bytes: AtomicUsize::new(0), whole })
    }

    /// Charges bytes that are there already, until what is returned is dropped; none, and nothing is charged, where they are no more
    /// than the first step.
    ///
    /// # Errors
    /// Where they are more than there may be.
    pub fn hold(self: &Arc<Self>, bytes: usize) -> Result<Option<Arc<Self>>, TooLarge> {
        if bytes <= STEP_BYTES {
            return Ok(None);
        }
        let held = self.part(self.limit, usize::MAX);
        held.charge(bytes)?;
        Ok(Some(held))
    }

    /// Bytes that are charged now.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Relaxed)
    }

    fn charge(&self, bytes: usize) -> Result<(), TooLarge> {
        let used = self.used_bytes.fetch_add(bytes, Relaxed);
        let charged = if used.saturating_add(bytes) > self.max_bytes {
            Err(TooLarge::Together { limit: self.limit, max_bytes: self.max_bytes })
        } else {
            self.whole.as_ref().map_or(Ok(()), |whole| whole.charge(bytes))
        };
        if charged.is_err() {
            self.used_bytes.fetch_sub(bytes, Relaxed);
        }
        charged
    }

    fn give_back(&self, bytes: usize) {
        self.used_bytes.fetch_sub(bytes, Relaxed);
        if let Some(whole) = &self.whole {
            whole.give_back(bytes);
        }
    }
}

impl Drop for ResponseBudget {
    fn drop(&mut self) {
        if let Some(whole) = &self.whole {
            whole.give_back(*self.used_bytes.get_mut());
        }
    }
}

/// Counts the bytes of one root field's response while they are written.
#[derive(Debug)]
pub struct ResponseMeter {
    /// More than these are looked at.
    allowed_bytes: usize,
    charged_bytes: usize,
    max_bytes: usize,
    budget: Option<Arc<ResponseBudget>>,
}

impl ResponseMeter {
    /// `max_bytes` are those of the root field alone; without a budget nothing else is counted.
    pub fn new(max_bytes: usize, budget: Option<&Arc<ResponseBudget>>) -> Self {
        let allowed_bytes = if budget.is_some() { max_bytes.min(STEP_BYTES) } else { max_bytes };
        Self { allowed_bytes, charged_bytes: 0, max_bytes, budget: budget.cloned() }
    }

    /// Takes note of the bytes that are written so far.
    ///
    /// # Errors
    /// Where they are more than there may be.
    #[inline]
    pub fn check(&mut self, written_bytes: usize) -> Result<(), TooLarge> {
        if written_bytes <= self.allowed_bytes { Ok(()) } else { self.charge(written_bytes) }
    }

    #[cold]
    fn charge(&mut self, written_bytes: usize) -> Result<(), TooLarge> {
        if written_bytes > self.max_bytes {
            return Err(TooLarge::Field { max_bytes: self.max_bytes });
        }
        let wanted = written_bytes.next_multiple_of(STEP_BYTES);
        if let Some(budget) = &self.budget {
            budget.charge(wanted - self.charged_bytes)?;
        }
        self.charged_bytes = wanted;
        self.allowed_bytes = wanted.min(self.max_bytes);
        Ok(())
    }
}

impl TooLarge {
    /// How many there may be.
    pub fn max_bytes(self) -> usize {
        match self {
            Self::Field { max_bytes } | Self::Together { max_bytes, .. } => max_bytes,
        }
    }
}

impl ResponseLimit {
    /// The option that sets it.
    pub fn option(self) -> &'static str {
        match self {
            Self::Operation => "max_operation_bytes",
            Self::Connection => "max_connection_bytes",
            Self::Process => "max_responses_bytes",
        }
    }
}

impl From<TooLarge> for GraphqlError {
    fn from(error: TooLarge) -> Self {
        let message = match error {
            TooLarge::Field { max_bytes } => format!(
                "the answer of this field is larger than {max_bytes} bytes (max_response_bytes): ask for fewer rows or columns"
            ),
            TooLarge::Together { limit, max_bytes } => {
                let (whose, advice) = match limit {
                    ResponseLimit::Operation => (
                        "the root fields of this operation",
                        "ask for fewer rows, columns or root fields, or for shorter aliases",
                    ),
                    ResponseLimit::Connection => (
                        "the operations of this connection",
                        "run fewer at a time, or ask for fewer rows or columns",
                    ),
                    ResponseLimit::Process => {
                        ("all requests of this server", "try again, or ask for fewer rows or columns")
                    }
                };
                format!(
                    "the answers of {whose} have more than {max_bytes} bytes together ({}): {advice}",
                    limit.option()
                )
            }
        };
        Self::new(ErrorCode::LimitExceeded, message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn together(limit: ResponseLimit, max_bytes: usize) -> Result<(), TooLarge> {
        Err(TooLarge::Together { limit, max_bytes })
    }

    #[test]
    fn fields_of_an_operation_share_its_budget() {
        let process = ResponseBudget::new(ResponseLimit::Process, 8 * MIB);
        let operation = process.part(ResponseLimit::Operation, 2 * MIB);
        let mut meters = [(); 3].map(|()| ResponseMeter::new(MIB, Some(&operation)));
        assert_eq!(meters[0].check(MIB), Ok(()));
        assert_eq!(meters[0].check(MIB + 1), Err(TooLarge::Field { max_bytes: MIB }));
        assert_eq!(meters[1].check(MIB), Ok(()));
        assert_eq!(meters[2].check(STEP_BYTES), Ok(()), "the first step is free");
        assert_eq!(meters[2].check(STEP_BYTES + 1), together(ResponseLimit::Operation, 2 * MIB));
        assert_eq!((operation.used_bytes(), process.used_bytes()), (2 * MIB, 2 * MIB));
        drop((operation, meters));
        assert_eq!(process.used_bytes(), 0, "a response that is gone takes nothing");
    }

    #[test]
    fn operations_share_the_budgets_of_connection_and_process() {
        let process = ResponseBudget::new(ResponseLimit::Process, 3 * MIB);
        let [first, second] = [(); 2].map(|()| process.part(ResponseLimit::Connection, 2 * MIB));
        let meter = |of: &Arc<ResponseBudget>| {
            ResponseMeter::new(2 * MIB, Some(&of.part(ResponseLimit::Operation, 2 * MIB)))
        };
        let mut one = meter(&first);
        assert_eq!(one.check(MIB + 1), Ok(()));
        assert_eq!(meter(&first).check(MIB), together(ResponseLimit::Connection, 2 * MIB));
        assert_eq!(meter(&second).check(2 * MIB), together(ResponseLimit::Process, 3 * MIB));
        drop(one);
        assert_eq!(meter(&second).check(2 * MIB), Ok(()));
    }

    #[test]
    fn bytes_that_are_there_count_until_they_are_gone() {
        let process = ResponseBudget::new(ResponseLimit::Process, MIB);
        assert!(process.hold(STEP_BYTES).expect("nothing is charged").is_none());
        let held = process.hold(MIB - 1).expect("there is room").expect("they are many");
        assert_eq!(process.used_bytes(), MIB - 1);
        let refused = process.hold(STEP_BYTES + 1).map(|_| ());
        assert_eq!(refused, together(ResponseLimit::Process, MIB));
        assert_eq!(refused.map_err(TooLarge::max_bytes), Err(MIB));
        drop(held);
        assert_eq!(process.used_bytes(), 0);
    }

    /// Charges are steps, whatever the size of rows is.
    #[test]
    fn bytes_are_charged_in_steps() {
        let operation = ResponseBudget::new(ResponseLimit::Operation, MIB);
        let mut meter = ResponseMeter::new(MIB, Some(&operation));
        for bytes in 1..=MIB {
            assert_eq!(meter.check(bytes), Ok(()));
            let steps = if bytes <= STEP_BYTES { 0 } else { bytes.next_multiple_of(STEP_BYTES) };
            assert_eq!(operation.used_bytes(), steps);
        }
    }
}
