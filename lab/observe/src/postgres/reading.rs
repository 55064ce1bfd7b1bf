//! What one look asks PostgreSQL for, and its rows read: the statements and the reading belong together. Sending
//! them is left to `session`.

use prony_model::measurement::observation::ObservedUnit::{self, BytesPerSecond, PerSecond};
use std::collections::BTreeMap;

/// Written into all that the observer asks, so that it does not count itself among the statements.
pub(super) const MARK: &str = "/* prony observer */";

/// The kinds that are told apart, by a statement's first word; all further ones are `other`.
const KINDS: [&str; 5] = ["select", "insert", "update", "delete", "other"];
/// Connections in no other state are there always, so these are noted where they are none.
const STATES: [&str; 3] = ["active", "idle", "idle in transaction"];
/// What the server does not show to this role.
const HIDDEN: &str = "hidden";

/// One row of an answer: what it is of, its name, its value.
pub(super) type Row = (String, String, f64);

/// Figures of this database and its connections. `pg_stat_database` is described in PostgreSQL's manual, "The
/// Cumulative Statistics System"; all columns are there since 9.6, `backend_type` since 10. A connection has no state
/// before its first transaction, which is not the same as a state that is hidden from this role.
const DATABASE: &str = "\
select /* prony observer */ 'reset' as part, coalesce(stats_reset::text, '') as name, 0 as value
from pg_stat_database where datname = current_database()
union all
select 'count', name, value from pg_stat_database, lateral (values
    ('commits', xact_commit), ('rollbacks', xact_rollback), ('rows returned', tup_returned),
    ('rows fetched', tup_fetched), ('rows inserted', tup_inserted), ('rows updated', tup_updated),
    ('rows deleted', tup_deleted), ('blocks hit', blks_hit), ('blocks read', blks_read),
    ('temporary bytes', temp_bytes), ('deadlocks', deadlocks)) as counted (name, value)
where datname = current_database()
union all
select 'connections', case when query = '<insufficient privilege>' or state = 'disabled' then 'hidden'
    when state is null then 'starting' when state like 'idle in transaction%' then 'idle in transaction'
    when state = 'idle' then 'idle' else 'active' end,
    count(*) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
    and coalesce(backend_type, 'client backend') = 'client backend'
group by 2";

/// The first word comes after spaces, comments and brackets. All quantifiers are greedy: PostgreSQL's expressions
/// take the first one's manner for all.
const FIRST_WORD: &str = r"^(?:\s|--[^\n]*\n|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/|\()*(\w+)";

/// What one look asks for; `extension` is the schema of `pg_stat_statements` where that can be read.
pub(super) fn statement(extension: Option<&str>) -> String {
    let Some(schema) = extension else { return DATABASE.to_owned() };
    format!(
        "{DATABASE};
select {MARK} 'statements', kind, sum(calls) from (
    select calls, case when query = '<insufficient privilege>' then '{HIDDEN}'
        else lower(substring(left(query, 1000) from '{FIRST_WORD}')) end as kind
    from {schema}.pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database())
        and query not like '%{MARK}%') as counted
group by kind"
    )
}

/// What one look saw.
#[derive(Debug, Default, PartialEq)]
pub(super) struct DatabaseReading {
    /// When the statistics were last started anew, in the server's words.
    pub(super) reset: String,
    /// Only ever rise, by the series' names.
    pub(super) counts: BTreeMap<String, f64>,
    pub(super) connections: BTreeMap<String, f64>,
    pub(super) is_partly_hidden: bool,
}

impl DatabaseReading {
    pub(super) fn of(rows: Vec<Row>) -> Self {
        let mut reading = Self::default();
        for state in STATES {
            reading.connections.insert(connections(state), 0.0);
        }
        if rows.iter().any(|(of, ..)| of == "statements") {
            for kind in KINDS {
                reading.counts.insert(statements(kind), 0.0);
            }
        }
        for (of, name, value) in rows {
            reading.is_partly_hidden |= name == HIDDEN;
            match of.as_str() {
                "reset" => reading.reset = name,
                "connections" => *reading.connections.entry(connections(&name)).or_default() += value,
                "statements" => {
                    let is_known = KINDS.contains(&name.as_str()) || name == HIDDEN;
                    let kind = if is_known { &name } else { "other" };
                    *reading.counts.entry(statements(kind)).or_default() += value;
                }
                _ => {
                    reading.counts.insert(format!("{name} a second"), value);
                }
            }
        }
        reading
    }
}

pub(super) fn unit_of_rate(series: &str) -> ObservedUnit {
    if series.contains("bytes") { BytesPerSecond } else { PerSecond }
}

fn connections(state: &str) -> String {
    format!("connections {state}")
}

fn statements(kind: &str) -> String {
    format!("{kind} statements a second")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn rows_become_series_and_kinds_are_few() {
        let row = |of: &str, name: &str, value| (of.to_owned(), name.to_owned(), value);
        let reading = DatabaseReading::of(vec![
            row("reset", "2026-01-02 03:04:05+00", 0.0),
            row("count", "commits", 7.0),
            row("count", "temporary bytes", 8_192.0),
            row("connections", "active", 3.0),
            row("connections", "hidden", 1.0),
            row("statements", "select", 5.0),
            row("statements", "vacuum", 1.0),
            row("statements", "", 2.0),
            row("statements", "hidden", 4.0),
        ]);
        expect![[r#"
            DatabaseReading {
                reset: "2026-01-02 03:04:05+00",
                counts: {
                    "commits a second": 7.0,
                    "delete statements a second": 0.0,
                    "hidden statements a second": 4.0,
                    "insert statements a second": 0.0,
                    "other statements a second": 3.0,
                    "select statements a second": 5.0,
                    "temporary bytes a second": 8192.0,
                    "update statements a second": 0.0,
                },
                connections: {
                    "connections active": 3.0,
                    "connections hidden": 1.0,
                    "connections idle": 0.0,
                    "connections idle in transaction": 0.0,
                },
                is_partly_hidden: true,
            }
        "#]]
        .assert_debug_eq(&reading);
        assert_eq!(unit_of_rate("temporary bytes a second"), BytesPerSecond);
    }
}
