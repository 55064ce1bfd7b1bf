//! Connections to servers of PostgreSQL: TLS and what it must prove, files and variables, several hosts, servers that are not up yet.

mod hosts;
mod tls;

use prony_postgres_connect::{Address, ConnectError, Connected, Connector, Environment};
use tokio_postgres::SimpleQueryMessage;

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime can be made").block_on(test)
}

fn connector(address: &str) -> Result<Connector, ConnectError> {
    let environment = Environment::of(&[("USER", "postgres"), ("HOME", "/nowhere")]);
    Address::resolve(address, &environment, "prony tests").map(Connector::new)
}

async fn connect(address: &str) -> Result<Connected, ConnectError> {
    connector(address)?.connect().await
}

/// The first value of a query's answer.
async fn ask(connected: Connected, query: &str) -> Option<String> {
    let driver = tokio::spawn(connected.connection);
    let messages = connected.client.simple_query(query).await.expect("the query is right");
    drop(connected.client);
    let _ = driver.await;
    messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    })
}
