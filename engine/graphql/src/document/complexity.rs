//! What an operation may cost at most, estimated before a source is asked: each field counts once for each object that it
//! is on, and a list multiplies what is below it by its limit.

use crate::{
    error::{ErrorCode, GraphqlError},
    selection::{Field, Slot, Value},
    variables::Variables,
};

/// Items that a list without a limit counts for. Its source's default limit is higher, but lists below lists are
/// rarely all full.
const ITEMS_ASSUMED: u64 = 10;
/// Arguments that bound a list, in the dialects that are served.
const LIMITS: [&str; 3] = ["limit", "first", "last"];

/// The estimate of one operation: what is known when it is planned, and what its variables decide. Saturating.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Complexity {
    constant: u64,
    /// Lists whose limit is a variable, with what is below each.
    products: Vec<(Slot, Complexity)>,
}

impl Complexity {
    /// Introspection is left out: it has limits of its own.
    pub fn of(fields: &[Field]) -> Self {
        let mut sum = Self::default();
        for field in fields.iter().filter(|field| !field.is_introspection()) {
            sum.constant = sum.constant.saturating_add(1);
            sum.add_below(field);
        }
        sum
    }

    fn add_below(&mut self, field: &Field) {
        if field.selections.is_empty() {
            return;
        }
        let below = Self::of(&field.selections);
        let limit = LIMITS.iter().find_map(|name| field.argument(name));
        match (field.output.is_list(), limit) {
            (false, _) => self.add(below, 1),
            (true, Some(Value::Slot(slot))) => self.products.push((slot.clone(), below)),
            (true, Some(Value::Scalar(limit))) => self.add(below, limit.as_u64().unwrap_or(ITEMS_ASSUMED)),
            (true, _) => self.add(below, ITEMS_ASSUMED),
        }
    }

    fn add(&mut self, below: Self, factor: u64) {
        self.constant = self.constant.saturating_add(below.constant.saturating_mul(factor));
        for (slot, mut product) in below.products {
            product.scale(factor);
            self.products.push((slot, product));
        }
    }

    fn scale(&mut self, factor: u64) {
        self.constant = self.constant.saturating_mul(factor);
        self.products.iter_mut().for_each(|(_, product)| product.scale(factor));
    }

    /// The estimate with the variables of one request.
    pub fn with(&self, variables: &Variables) -> u64 {
        self.products.iter().fold(self.constant, |sum, (slot, below)| {
            let limit = variables.get(slot).and_then(serde_json::Value::as_u64).unwrap_or(ITEMS_ASSUMED);
            sum.saturating_add(limit.saturating_mul(below.with(variables)))
        })
    }

    /// Refuses a request over the limit.
    pub fn check(&self, variables: &Variables, limit: u64) -> Result<(), GraphqlError> {
        let estimate = self.with(variables);
        if estimate <= limit {
            return Ok(());
        }
        let message = format!(
            "the operation may answer with up to {estimate} fields (a list counts for its limit, or {ITEMS_ASSUMED} \
             without one); the limit is {limit} (max_complexity): lower the limits of its lists"
        );
        Err(GraphqlError::new(ErrorCode::LimitExceeded, message))
    }

    /// Bytes that it occupies.
    pub fn weight_bytes(&self) -> usize {
        size_of::<Self>()
            + self.products.iter().map(|(_, below)| size_of::<Slot>() + below.weight_bytes()).sum::<usize>()
    }
}
