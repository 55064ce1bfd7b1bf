//! What watches a run: joins the observers to the load, which knows only that something watches.

use prony_load::Observe;
use prony_model::measurement::observation::Observation;
use prony_observe::{Observers, SpecError};
use std::time::Instant;

pub use prony_observe::without_password;

struct Watching(Observers);

impl Observe for Watching {
    fn start(&mut self, epoch: Instant) {
        self.0.start(epoch);
    }

    fn observations(&mut self) -> Vec<Observation> {
        self.0.observations()
    }

    fn stop(&mut self) {
        self.0.stop();
    }
}

/// Some of what was to be watched cannot be.
#[derive(Debug, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n       "))]
pub struct ObserveError(pub Vec<SpecError>);

/// Makes first contact with all that is to be watched; the lab itself always is. One run's worth: open anew for
/// each run.
pub fn open(specs: &[String]) -> Result<Box<dyn Observe>, ObserveError> {
    let opened = Observers::parse(specs).and_then(|specs| Observers::open(&specs));
    Ok(Box::new(Watching(opened.map_err(ObserveError)?)))
}
