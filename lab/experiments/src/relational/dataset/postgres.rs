//! The data set in a PostgreSQL database that the user names: made by COPY in one transaction, known by the
//! comments on its tables, and never put over tables of somebody else.

use std::fmt::Write;

use futures_util::SinkExt;
use prony_load::StopFlag;
use tokio_postgres::{Client, NoTls, Transaction};

use super::{
    DatasetError,
    rows::{DatasetPlan, DatasetTable, Value, for_each_row},
};

const SCHEMA: &str = "
    CREATE TABLE venues (
        id serial PRIMARY KEY, name varchar(128) NOT NULL, postal_code varchar(32) NOT NULL);
    CREATE TABLE members (
        id serial PRIMARY KEY, first_name varchar(128) NOT NULL, last_name varchar(128) NOT NULL,
        email varchar(128) NOT NULL);
    CREATE TABLE meetups (
        id serial PRIMARY KEY, title varchar(128) NOT NULL, start_at timestamp NOT NULL,
        venue_id integer NOT NULL REFERENCES venues (id));
    CREATE TABLE meetups_members (
        meetup_id integer NOT NULL REFERENCES meetups (id), member_id integer NOT NULL REFERENCES members (id),
        PRIMARY KEY (meetup_id, member_id));
";

const INDEXES: &str = "
    CREATE INDEX meetups_venue_id ON meetups (venue_id);
    CREATE INDEX meetups_members_member_id ON meetups_members (member_id);
    SELECT setval('venues_id_seq', (SELECT max(id) FROM venues));
    SELECT setval('members_id_seq', (SELECT max(id) FROM members));
    SELECT setval('meetups_id_seq', (SELECT max(id) FROM meetups));
";

/// How much text goes into one message of COPY.
const CHUNK_BYTES: usize = 256 << 10;

/// What stands in the way of making the tables.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    Nothing,
    /// This data set.
    Current,
    /// Another version, seed or size of ours.
    Outdated,
    /// Tables of these names that we did not make.
    Foreign(Vec<String>),
}

/// Makes sure that the database has the data set and nothing that a run added; says whether it was made now.
pub fn provide(plan: DatasetPlan, url: &str, stop: &StopFlag) -> Result<bool, DatasetError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(super::io_error("start a runtime"))?;
    runtime.block_on(async {
        let (mut client, connection) = tokio_postgres::connect(url, NoTls).await?;
        let connection = tokio::spawn(connection);
        let outcome = provide_at(plan, &mut client, stop).await;
        drop(client);
        // Its own end is of no interest: what the client was told counts.
        let _ = connection.await;
        outcome
    })
}

async fn provide_at(plan: DatasetPlan, client: &mut Client, stop: &StopFlag) -> Result<bool, DatasetError> {
    let found = inspect(plan, client).await?;
    match &found {
        Found::Foreign(tables) => return Err(DatasetError::ForeignTables { tables: tables.join(", ") }),
        Found::Current => {
            // Rows that an earlier run's mutations added.
            client.execute("DELETE FROM venues WHERE id > $1::int8", &[&i64::from(plan.rows)]).await?;
        }
        Found::Nothing | Found::Outdated => {
            let transaction = client.transaction().await?;
            if found == Found::Outdated {
                transaction.batch_execute("DROP TABLE meetups_members, meetups, members, venues").await?;
            }
            create(plan, &transaction, stop).await?;
            transaction.commit().await?;
        }
    }
    client.batch_execute("VACUUM ANALYZE venues, members, meetups, meetups_members").await?;
    Ok(found != Found::Current)
}

async fn inspect(plan: DatasetPlan, client: &Client) -> Result<Found, DatasetError> {
    let names: Vec<&str> = DatasetTable::ALL.iter().map(|table| table.name()).collect();
    let sql = "SELECT c.relname::text, obj_description(c.oid, 'pg_class') FROM pg_class c
        WHERE c.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = current_schema())
        AND c.relname = ANY($1::text[]) ORDER BY 1";
    let rows = client.query(sql, &[&names]).await?;
    let tables: Vec<(String, Option<String>)> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    Ok(judge(plan, &tables))
}

fn judge(plan: DatasetPlan, tables: &[(String, Option<String>)]) -> Found {
    // The words before the version: whatever comes after them, the table is ours.
    let ours =
        |comment: &Option<String>| comment.as_ref().is_some_and(|text| text.starts_with("meetup data set, "));
    let foreign: Vec<String> =
        tables.iter().filter(|(_, comment)| !ours(comment)).map(|(name, _)| name.clone()).collect();
    if !foreign.is_empty() {
        return Found::Foreign(foreign);
    }
    let current = |(_, comment): &(String, Option<String>)| comment.as_ref() == Some(&plan.fingerprint());
    match tables.len() {
        0 => Found::Nothing,
        count if count == DatasetTable::ALL.len() && tables.iter().all(current) => Found::Current,
        _ => Found::Outdated,
    }
}

async fn create(
    plan: DatasetPlan,
    transaction: &Transaction<'_>,
    stop: &StopFlag,
) -> Result<(), DatasetError> {
    transaction.batch_execute(SCHEMA).await?;
    for table in DatasetTable::ALL {
        copy(chunks(plan, table, stop)?, table, transaction, stop).await?;
        let comment = format!("COMMENT ON TABLE {} IS '{}'", table.name(), plan.fingerprint());
        transaction.batch_execute(&comment).await?;
    }
    transaction.batch_execute(INDEXES).await?;
    Ok(())
}

/// Where it is stopped, what was sent goes with the transaction.
async fn copy(
    chunks: Vec<String>,
    table: DatasetTable,
    transaction: &Transaction<'_>,
    stop: &StopFlag,
) -> Result<(), DatasetError> {
    let sql = format!("COPY {} ({}) FROM STDIN", table.name(), table.columns().join(", "));
    let sink = transaction.copy_in::<_, bytes::Bytes>(&sql).await?;
    futures_util::pin_mut!(sink);
    for chunk in chunks {
        if stop.is_stopped() {
            return Err(DatasetError::Stopped);
        }
        sink.send(chunk.into()).await?;
    }
    sink.finish().await?;
    Ok(())
}

/// COPY's text format: columns between tabs, a line a row; our values hold nothing to escape.
fn chunks(plan: DatasetPlan, table: DatasetTable, stop: &StopFlag) -> Result<Vec<String>, DatasetError> {
    let mut chunks = vec![String::new()];
    for_each_row(plan, table, |row| {
        if stop.is_stopped() {
            return Err(DatasetError::Stopped);
        }
        if chunks.last().is_some_and(|chunk| chunk.len() > CHUNK_BYTES) {
            chunks.push(String::new());
        }
        let chunk = chunks.last_mut().expect("it begins with one chunk");
        for (index, value) in row.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\t" };
            match value {
                Value::Integer(number) => write!(chunk, "{separator}{number}"),
                Value::Text(text) => write!(chunk, "{separator}{text}"),
            }
            .expect("a String takes everything");
        }
        chunk.push('\n');
        Ok(())
    })?;
    Ok(chunks)
}

#[cfg(test)]
mod tests {
    use prony_testkit::TestDatabase;

    use super::*;

    const PLAN: DatasetPlan = DatasetPlan { seed: 7, rows: 50 };

    #[test]
    fn it_is_made_once_and_cleaned_of_what_runs_added() {
        let database = TestDatabase::create();
        assert!(provide(PLAN, &database.url(), &StopFlag::default()).unwrap());
        database.execute("INSERT INTO venues (name, postal_code) VALUES ('x', 'y')");
        assert!(!provide(PLAN, &database.url(), &StopFlag::default()).unwrap());
        let counts = database.query(
            "SELECT (SELECT count(*) FROM venues), (SELECT count(*) FROM meetups_members), (SELECT max(id) FROM meetups)",
        );
        assert_eq!(counts, [[Some("50".to_owned()), Some("50".to_owned()), Some("50".to_owned())]]);
    }

    #[test]
    fn another_data_set_of_ours_is_replaced() {
        let database = TestDatabase::create();
        provide(PLAN, &database.url(), &StopFlag::default()).unwrap();
        assert!(provide(DatasetPlan { rows: 20, ..PLAN }, &database.url(), &StopFlag::default()).unwrap());
        assert_eq!(database.query("SELECT count(*) FROM members"), [[Some("20".to_owned())]]);
    }

    #[test]
    fn tables_of_others_are_left_alone() {
        let database = TestDatabase::create();
        database.execute("CREATE TABLE venues (id int); INSERT INTO venues VALUES (1)");
        let error = provide(PLAN, &database.url(), &StopFlag::default()).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the database has tables of the same names that this experiment did not make: venues; \
             name another database, or another schema with ?options=-csearch_path%3DNAME"
        );
        assert_eq!(database.query("SELECT id FROM venues"), [[Some("1".to_owned())]]);
    }

    #[test]
    fn a_stop_leaves_the_database_as_it_was() {
        let database = TestDatabase::create();
        let stop = StopFlag::default();
        stop.stop();
        let error = provide(PLAN, &database.url(), &stop).unwrap_err();
        assert!(matches!(error, DatasetError::Stopped), "{error}");
        assert_eq!(database.query("SELECT to_regclass('venues') IS NULL"), [[Some("t".to_owned())]]);
    }
}
