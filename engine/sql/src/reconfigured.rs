//! What a database would offer by other settings of its tables, until that is taken or dropped. Which settings can change while it is
//! served is said by the settings.

use std::sync::{Arc, Mutex};

use prony_source::{Reconfigured, SourceSchema};
use tokio::sync::OwnedMutexGuard;

use crate::{
    database::Database,
    follow::Following,
    settings::RelationalSettings,
    source::{Offered, RelationalSource},
};

/// What is offered once other settings count.
#[derive(Debug)]
struct NextOffer<D> {
    next: Offered<D>,
    offered: Arc<Mutex<Offered<D>>>,
    following: Arc<Following>,
    /// Nothing else comes to be offered meanwhile.
    _offering: OwnedMutexGuard<()>,
}

impl<D: Database> RelationalSource<D> {
    /// What would be offered of the tables of now by other settings, none where they say the same of what can change while it is
    /// served.
    ///
    /// # Errors
    /// Settings that do not fit the tables, or that a restart alone changes, or tables that cannot be looked at.
    pub(crate) async fn next_offer(
        &self,
        given: &RelationalSettings,
    ) -> Result<Option<Box<dyn Reconfigured>>, String> {
        let offering = Arc::clone(&self.following.offering).lock_owned().await;
        let before = Arc::clone(&self.offered().settings);
        let Some(settings) = before.changed_by(given, self.database.settings())? else { return Ok(None) };
        let (mut reader, _) = self.database.follow();
        let (_, catalog, _) = self.following.read(&mut reader).await.map_err(|reason| {
            format!("its tables cannot be looked at: {reason}; send SIGHUP once the database can be asked")
        })?;
        let next = self.next(&catalog, &Arc::new(settings))?;
        let (offered, following) = (Arc::clone(&self.offered), Arc::clone(&self.following));
        Ok(Some(Box::new(NextOffer { next, offered, following, _offering: offering })))
    }
}

impl<D: Database> Reconfigured for NextOffer<D> {
    fn schema(&self) -> Arc<dyn SourceSchema> {
        Arc::clone(&self.next.schema) as _
    }

    fn take(self: Box<Self>) {
        self.next.put_in(&self.offered);
        self.following.set_fault(None);
    }
}
