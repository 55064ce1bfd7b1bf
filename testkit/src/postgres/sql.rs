//! Statements for a test's preparation, on a thread of their own so that callers may be async or not.

use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::PostgresError;

/// Runs statements at `url`; `database` is for the error's text.
pub(super) fn execute(url: &str, database: &str, statements: &str) -> Result<(), PostgresError> {
    run(url, database, statements).map(drop)
}

/// The rows of a query as text.
pub(super) fn query(
    url: &str,
    database: &str,
    query: &str,
) -> Result<Vec<Vec<Option<String>>>, PostgresError> {
    let messages = run(url, database, query)?;
    Ok(messages
        .iter()
        .filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => {
                Some((0..row.len()).map(|index| row.get(index).map(str::to_owned)).collect())
            }
            _ => None,
        })
        .collect())
}

fn run(url: &str, database: &str, statements: &str) -> Result<Vec<SimpleQueryMessage>, PostgresError> {
    let failed = |message: String| PostgresError::StatementFailed { database: database.to_owned(), message };
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map_err(|error| error.to_string())?.block_on(async {
                let connected = tokio_postgres::connect(url, NoTls).await;
                let (client, connection) = connected.map_err(|error| describe(&error))?;
                let connection = tokio::spawn(connection);
                let answer = client.simple_query(statements).await.map_err(|error| describe(&error));
                drop(client);
                // Its own end is of no interest; waiting for it lets the server see a clean goodbye.
                let _ = connection.await;
                answer
            })
        });
        worker.join().expect("the worker does not panic").map_err(failed)
    })
}

fn describe(error: &tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |database| database.message().to_owned())
}
