//! What an operation may cost at most, estimated before a source is asked: each field counts once, or by its weight, for each
//! object that it is on, and a list multiplies what is below it by its limit.

use crate::{
    document::{tally::too_deep, weights::FieldWeights},
    error::{ErrorCode, GraphqlError},
    schema::Schema,
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
    products: Vec<Product>,
}

/// A list whose limit is a variable.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Product {
    limit: Slot,
    /// Items that it counts for where the variable has no value.
    items: u64,
    below: Complexity,
}

impl Complexity {
    /// Introspection is left out: it has limits of its own.
    pub fn of(fields: &[Field], weights: &FieldWeights) -> Self {
        let mut sum = Self::default();
        for field in fields.iter().filter(|field| !field.is_introspection()) {
            let weight = weights.find(&field.parent_type, &field.name);
            sum.constant = sum.constant.saturating_add(weight.weight.unwrap_or(1));
            sum.add_below(field, weight.items.unwrap_or(ITEMS_ASSUMED), weights);
        }
        sum
    }

    fn add_below(&mut self, field: &Field, items: u64, weights: &FieldWeights) {
        if field.selections.is_empty() {
            return;
        }
        let below = Self::of(&field.selections, weights);
        let limit = LIMITS.iter().find_map(|name| field.argument(name));
        match (field.output.is_list(), limit) {
            (false, _) => self.add(below, 1),
            (true, Some(Value::Slot(slot))) => {
                self.products.push(Product { limit: slot.clone(), items, below });
            }
            (true, Some(Value::Scalar(limit))) => self.add(below, limit.as_u64().unwrap_or(items)),
            (true, _) => self.add(below, items),
        }
    }

    fn add(&mut self, below: Self, factor: u64) {
        self.constant = self.constant.saturating_add(below.constant.saturating_mul(factor));
        for mut product in below.products {
            product.below.scale(factor);
            self.products.push(product);
        }
    }

    fn scale(&mut self, factor: u64) {
        self.constant = self.constant.saturating_mul(factor);
        self.products.iter_mut().for_each(|product| product.below.scale(factor));
    }

    /// The estimate with the variables of one request.
    pub fn with(&self, variables: &Variables) -> u64 {
        self.products.iter().fold(self.constant, |sum, Product { limit, items, below }| {
            let limit = variables.get(limit).and_then(serde_json::Value::as_u64).unwrap_or(*items);
            sum.saturating_add(limit.saturating_mul(below.with(variables)))
        })
    }

    /// Bytes that it occupies.
    pub fn weight_bytes(&self) -> usize {
        let products = self.products.iter();
        size_of::<Self>()
            + products.map(|product| size_of::<Product>() + product.below.weight_bytes()).sum::<usize>()
    }
}

/// Refuses a request whose estimate is over the limit.
pub fn check_estimate(estimate: u64, limit: u64) -> Result<(), GraphqlError> {
    if estimate <= limit {
        return Ok(());
    }
    let message = format!(
        "the operation may answer with up to {estimate} fields (a list counts for its limit, or {ITEMS_ASSUMED} \
             without one); the limit is {limit} (max_complexity): lower the limits of its lists"
    );
    Err(GraphqlError::new(ErrorCode::LimitExceeded, message))
}

/// Nested object levels below the root, as `max_depth` counts them.
pub fn depth(fields: &[Field]) -> usize {
    let below = |field: &Field| 1 + depth(&field.selections);
    let objects = fields.iter().filter(|field| !field.selections.is_empty() && !field.is_introspection());
    objects.map(below).max().unwrap_or(0)
}

/// Levels of rows below those of the root fields, as `max_nest_level` counts them: `{ meetups { venue { id } } }` has one. What
/// sums rows up adds none.
pub fn nest_level(fields: &[Field], schema: &Schema) -> usize {
    let below = |field: &Field| levels_below(&field.selections, schema);
    fields.iter().filter(|field| !field.is_introspection()).map(below).max().unwrap_or(0)
}

fn levels_below(fields: &[Field], schema: &Schema) -> usize {
    let is_level =
        |field: &&Field| !field.selections.is_empty() && !schema.is_summary(field.output.inner_named_type());
    let levels = |field: &Field| 1 + levels_below(&field.selections, schema);
    fields.iter().filter(is_level).map(levels).max().unwrap_or(0)
}

/// Refuses a request that is nested deeper than the limit.
pub fn check_depth(depth: usize, limit: usize) -> Result<(), GraphqlError> {
    if depth > limit { Err(too_deep("max_depth", depth, limit)) } else { Ok(()) }
}

/// As [`check_depth`], of levels as [`nest_level`] counts them.
pub fn check_nest_level(level: usize, limit: usize) -> Result<(), GraphqlError> {
    if level > limit { Err(too_deep("max_nest_level", level, limit)) } else { Ok(()) }
}
