//! What a root field becomes at its source, for people who look for what is slow: statements with the shapes of their values and
//! the database's plans, or requests to other servers. Nothing of it is executed to tell it.

use serde::Serialize;

/// What is known of a root field; empty where its source knows nothing to tell.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Explanation {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<ExplainedStatement>,
    /// Documents of GraphQL that another server is sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<String>,
}

/// One statement of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedStatement {
    pub sql: String,
    pub runs: Runs,
    /// Of its parameters, in their order.
    pub values: Vec<ValueShape>,
    /// The database's plan, line by line; none where it was not asked for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Vec<String>>,
    /// Why the database has told no plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_fault: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hints: Vec<PlanHint>,
}

/// How often a statement runs for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Runs {
    Once,
    /// Once for each row that a statement before it gives.
    ForEachRow,
    /// Once for all rows of the level above.
    OnceALevel,
    /// After each event of the subscription.
    ForEachEvent,
}

/// What the value of a parameter is like, without the value.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ValueShape {
    /// What it is compared with, or is: `albums.ArtistId` or `public.albums.artist_id`, `limit`, `offset`, `row above`.
    pub of: String,
    /// As the database calls it.
    #[serde(rename = "type")]
    pub value_type: String,
    /// Characters of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// Values of a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<usize>,
    #[serde(skip_serializing_if = "is_false")]
    pub is_null: bool,
}

/// A table that a plan reads whole to find some of its rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct PlanHint {
    pub table: String,
    pub columns: Vec<String>,
    pub message: String,
}

impl PlanHint {
    pub fn new(table: &str, columns: Vec<String>) -> Self {
        let listed = columns.join(", ");
        let message = format!(
            "the plan reads all of {table} to find rows by {listed}: an index on {table}({listed}) would help"
        );
        Self { table: table.to_owned(), columns, message }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_false(value: &bool) -> bool {
    !value
}
