//! One connection of its own, beside the pool: for the catalog and for what is installed.

use std::time::Duration;

use prony_postgres_connect::ConnectError;
use tokio_postgres::Client;

use super::config::Target;

/// Tried for so long where the reason may pass by itself.
pub(crate) async fn connect(target: &Target, patience: Duration) -> Result<Client, ConnectError> {
    let connected = target.connector.connect_patiently(patience).await?;
    // Ends with the client.
    tokio::spawn(connected.connection);
    Ok(connected.client)
}
