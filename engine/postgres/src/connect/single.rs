//! One connection of its own, beside the pool: for the catalog and for what is installed.

use tokio::time::timeout;
use tokio_postgres::{Client, NoTls};

use super::config::Target;
use crate::error::{OpenError, OpenErrorKind};

pub(crate) async fn connect(target: &Target) -> Result<Client, OpenError> {
    let attempt = timeout(target.attempt_limit(), target.config.connect(NoTls)).await;
    let (client, connection) = attempt
        .map_err(|_| {
            let reason = format!(
                "no answer within {} s; check that host and port are right",
                target.attempt_limit().as_secs()
            );
            OpenError::new(OpenErrorKind::Unreachable, &target.description, reason)
        })?
        .map_err(|error| OpenError::connecting(&target.description, error))?;
    // Ends with the client.
    tokio::spawn(connection);
    Ok(client)
}
