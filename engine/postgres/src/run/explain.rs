//! The plan that PostgreSQL has for a statement whose values it does not know: the one that held statements run with. The statement is
//! prepared by SQL for that, so that no value comes into the text of the plan, and is not run.

use std::{
    fmt::Write as _,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use prony_sql::database::StatementPlan;

use crate::{
    connect::{
        link::{Link, StatementText},
        pool::Permit,
        slow::PlanLines,
    },
    error::Failure,
};

/// What reading a table costs, by the planner's measure, from which on an index is worth its keep: some thousand rows.
const WORTH_AN_INDEX: f64 = 25.0;

/// What is sent to be told the plan of a statement.
#[derive(Debug)]
pub(crate) struct Explain {
    begin: String,
    ask: StatementText,
    end: String,
}

impl Explain {
    /// `begin` are the commands that a transaction begins with.
    pub(crate) fn new(begin: Option<&str>, sql: &str, types: &[&str]) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let name = format!("prony_explain_{}", NEXT.fetch_add(1, Relaxed));
        let mut declared = String::new();
        let mut values = String::new();
        for (index, declared_type) in types.iter().enumerate() {
            let (open, separator) = if index == 0 { ("(", "(") } else { (", ", ", ") };
            // Writing to a string cannot fail.
            let _ = write!(declared, "{open}{declared_type}");
            let _ = write!(values, "{separator}null");
        }
        if !types.is_empty() {
            declared.push(')');
            values.push(')');
        }
        let begin = begin.unwrap_or("rollback; begin");
        Self {
            begin: format!(
                "{begin}; set local plan_cache_mode = force_generic_plan; prepare {name}{declared} as {sql}"
            ),
            ask: StatementText::new(
                format!("explain (format text, costs) execute {name}{values}"),
                Vec::new(),
            ),
            // What is prepared outlives its transaction.
            end: format!("rollback; deallocate {name}"),
        }
    }

    /// On a connection that nobody else has meanwhile.
    pub(crate) async fn ask(self, permit: Permit) -> Result<StatementPlan, Failure> {
        let link: Rc<Link> = Rc::clone(&permit.link);
        let plan = match link.batch(&self.begin).await {
            Ok(()) => link.rows_once(&self.ask, PlanLines::default()).await,
            Err(failure) => Err(failure),
        };
        // Where it was not prepared there is nothing to be let go of, and the transaction has ended all the same.
        let _ = link.batch(&self.end).await;
        drop(permit);
        plan.map(|PlanLines { lines }| StatementPlan { scanned: scanned(&lines), lines })
    }
}

/// Aliases of tables that are read whole to find rows by a condition, and are not small.
fn scanned(lines: &[String]) -> Vec<Box<str>> {
    let mut found = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let Some((_, scan)) = line.split_once("Seq Scan on ") else { continue };
        let Some((table, costs)) = scan.split_once("  (cost=") else { continue };
        let total = costs.split_once("..").and_then(|(_, rest)| rest.split(' ').next()?.parse::<f64>().ok());
        let is_node = |line: &&String| line.contains("->") || line.contains("Plan ");
        let mut details = lines[index + 1..].iter().take_while(|line| !is_node(line));
        let has_condition = details.any(|line| line.trim_start().starts_with("Filter: "));
        if has_condition && total.is_some_and(|total| total >= WORTH_AN_INDEX) {
            found.extend(table.rsplit(' ').next().map(Into::into));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_that_are_read_whole_for_a_condition_are_found() {
        let plan = "\
Limit  (cost=0.00..1943.00 rows=50 width=4)
  ->  Seq Scan on orders t1  (cost=0.00..1943.00 rows=50 width=4)
        Filter: (customer_id = $1)
        SubPlan 1
          ->  Aggregate  (cost=1.00..2.00 rows=1 width=8)
                ->  Seq Scan on small t2  (cost=0.00..1.05 rows=1 width=4)
                      Filter: (id = t1.id)
  ->  Seq Scan on \"Odd name\" t3  (cost=0.00..1943.00 rows=50000 width=4)
  ->  Index Scan using orders_pkey on orders t4  (cost=0.00..1943.00 rows=50 width=4)
        Filter: (customer_id = $1)";
        let lines: Vec<String> = plan.lines().map(str::to_owned).collect();
        assert_eq!(scanned(&lines), ["t1".into()]);
    }

    #[test]
    fn values_are_places_in_the_text() {
        let explain = Explain::new(None, "select $1, $2", &["int4", "_text"]);
        assert!(explain.begin.contains("(int4, _text) as select $1, $2"), "{explain:?}");
        assert!(explain.ask.sql.ends_with("(null, null)"), "{explain:?}");
        let explain = Explain::new(Some("begin; set local role a"), "select 1", &[]);
        assert!(
            explain.begin.starts_with("begin; set local role a; set local plan_cache_mode"),
            "{explain:?}"
        );
        assert!(!explain.ask.sql.contains("null"), "{explain:?}");
    }
}
