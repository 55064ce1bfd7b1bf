//! Opens connections of a pool, and watches them until they end: broken, silent, of a server that is no primary any more, or given
//! back because others have none.

use std::{
    rc::{Rc, Weak},
    sync::Arc,
    time::Duration,
};

use prony_postgres_connect::{Connected, Slot, describe};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_local},
    time::timeout,
};
use tokio_postgres::error::SqlState;

use crate::connect::{
    config::{PlanMode, Target},
    link::{Chore, Link},
    session_setup,
};

/// How often a connection is looked at.
const WATCH_INTERVAL: Duration = Duration::from_millis(250);
/// A backend that is silent for this much longer than a statement may run is taken to be gone.
const SILENCE_GRACE: Duration = Duration::from_secs(5);

/// The driver's half of a connection, with its room in the budget.
pub(crate) type ConnectionTask = JoinHandle<Result<(), tokio_postgres::Error>>;

/// Why a connection is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It is wanted again.
    Lost,
    /// Others have none, or the server wants none that is idle: it is opened again when it is needed.
    GivenBack,
}

/// Opens connections of one pool.
#[derive(Clone)]
pub(crate) struct Opener {
    pub(crate) target: Arc<Target>,
    pub(crate) mode: PlanMode,
    /// No transaction spans several statements on its connections.
    pub(crate) takes_statements_alone: bool,
    pub(crate) chores: mpsc::UnboundedSender<Chore>,
}

impl Opener {
    /// Opens a connection and sets its session up, within a bound.
    pub(crate) async fn open(&self, slot: Slot) -> Result<(Rc<Link>, ConnectionTask), String> {
        let generation = self.target.generation();
        let connected = self.target.connector.connect().await.map_err(|error| error.reason)?;
        let limit = self.target.attempt_limit();
        timeout(limit, self.set_up(connected, generation, slot))
            .await
            .unwrap_or_else(|_| Err(format!("no answer within {} s", limit.as_secs())))
    }

    /// Connects and leaves again, so that all cores know whether the database lets anybody in.
    pub(crate) async fn probe(self, slot: Slot) {
        match self.target.connector.connect().await {
            Ok(Connected { client, connection, .. }) => {
                // The connection says goodbye, and ends.
                drop(client);
                spawn_local(async move {
                    let _ended = connection.await;
                    drop(slot);
                });
                self.target.attempted(None);
            }
            Err(error) => self.target.attempted(Some(&error.reason)),
        }
    }

    async fn set_up(
        &self,
        connected: Connected,
        generation: u64,
        slot: Slot,
    ) -> Result<(Rc<Link>, ConnectionTask), String> {
        let Connected { client, connection, canceller } = connected;
        let task = spawn_local(async move {
            let ended = connection.await;
            drop(slot);
            ended
        });
        let state = session_setup::apply(&client, &self.target, self.mode).await?;
        let (alone, chores) = (self.takes_statements_alone, self.chores.clone());
        let link = Link::new(client, canceller, &self.target, generation, state, alone, chores);
        Ok((Rc::new(link), task))
    }
}

/// Returns when the connection has ended, or is to end.
pub(crate) async fn watch(link: &Weak<Link>, target: &Target, mut connection: ConnectionTask) -> Ended {
    loop {
        match timeout(WATCH_INTERVAL, &mut connection).await {
            // To open it again at once would leave the server as many sessions as before.
            Ok(Ok(Err(error))) if error.code() == Some(&SqlState::IDLE_SESSION_TIMEOUT) => {
                tracing::debug!(reason = %describe(&error), "connection ended by the server");
                return Ended::GivenBack;
            }
            Ok(Ok(Err(error))) => {
                tracing::warn!(reason = %describe(&error), "connection lost");
                return Ended::Lost;
            }
            Ok(_) => return Ended::Lost,
            Err(_) => {
                let Some(link) = link.upgrade() else { return Ended::Lost };
                let is_idle = link.busy_for().is_none() && Rc::strong_count(&link) <= 2;
                if link.overdue().is_some_and(|overdue| overdue > SILENCE_GRACE) {
                    tracing::warn!("the database does not answer; closing the connection");
                    connection.abort();
                    return Ended::Lost;
                }
                if is_idle && link.is_outdated() {
                    return Ended::Lost;
                }
                if is_idle && target.budget.is_wanted() {
                    return Ended::GivenBack;
                }
            }
        }
    }
}
