//! What a root field becomes at a database, told without executing it: its statements, the shapes of their values, the plans
//! that the database has for them, and which tables a plan reads whole to find some rows.

mod hints;
mod shapes;

use std::sync::Arc;

use prony_graphql::{error::GraphqlError, variables::Variables};
use prony_source::{ExplainedStatement, Explanation, Runs, ValueShape};

use self::{hints::hints, shapes::shape};
use crate::{
    builder::{ComparedTable, Parameter},
    database::{
        Database, DatabaseSession as _, FieldStatements, Prepared, StatementPlan, Statements,
        WrittenStatement,
    },
    model::Model,
};

/// The statements of a query, with the plans that the database has for them.
pub(crate) async fn explain_query<D: Database>(
    session: &D::Session,
    field: &Prepared<D>,
    variables: &Variables,
) -> Explanation {
    let mut explanation = Explanation::default();
    for (statement, runs) in written(field) {
        let mut explained = described(field, &statement, runs, variables);
        let compared = statement.compared;
        let plan = session.plan(statement, variables).await;
        add_plan(&mut explained, plan, &field.model, compared);
        explanation.statements.push(explained);
    }
    explanation
}

fn add_plan(
    explained: &mut ExplainedStatement,
    plan: Result<StatementPlan, GraphqlError>,
    model: &Model,
    compared: &[ComparedTable],
) {
    match plan {
        Ok(StatementPlan { lines, scanned }) => {
            explained.hints = hints(model, compared, &scanned);
            explained.plan = Some(lines);
        }
        Err(error) => explained.plan_fault = Some(error.message),
    }
}

/// The statements of what is not run to be explained: a mutation, or what an event of a subscription asks.
pub(crate) fn tell_statements<'p, D: Database>(
    fields: impl IntoIterator<Item = &'p Arc<Prepared<D>>>,
    runs: Option<Runs>,
    variables: &Variables,
) -> Explanation {
    let mut explanation = Explanation::default();
    for field in fields {
        for (statement, usually) in written(field) {
            let explained = described(field, &statement, runs.unwrap_or(usually), variables);
            explanation.statements.push(explained);
        }
    }
    explanation
}

/// What the values of a statement's parameters are like.
pub fn value_shapes(model: &Model, parameters: &[Parameter], variables: &Variables) -> Vec<ValueShape> {
    parameters.iter().map(|parameter| shape(model, parameter, variables)).collect()
}

fn described<D: Database>(
    field: &Prepared<D>,
    &WrittenStatement { sql, parameters, .. }: &WrittenStatement<'_>,
    runs: Runs,
    variables: &Variables,
) -> ExplainedStatement {
    let values = value_shapes(&field.model, parameters, variables);
    ExplainedStatement { sql: sql.to_owned(), runs, values, plan: None, plan_fault: None, hints: Vec::new() }
}

/// The statements of a field, and how often each runs.
fn written<D: Database>(field: &Prepared<D>) -> Vec<(WrittenStatement<'_>, Runs)> {
    let first_and_rest = |statements: Vec<_>, rest| {
        statements.into_iter().enumerate().map(move |(index, statement)| {
            let runs = if index == 0 { Runs::Once } else { rest };
            (statement, runs)
        })
    };
    match &field.statements {
        FieldStatements::Select(select) => first_and_rest(select.written(), Runs::ForEachRow).collect(),
        FieldStatements::Levels(levels) => {
            let all = levels.levels.iter().flat_map(|level| level.statement.written()).collect();
            first_and_rest(all, Runs::OnceALevel).collect()
        }
        FieldStatements::Mutation(mutation) => first_and_rest(mutation.written(), Runs::Once).collect(),
    }
}
