//! The page of a run while it goes, for one machine's browsers: the report, sent anew as the result grows, and a button that stops the run.
//!
//! Knows results as values, and a flag that ends a run; nothing of how load is made or measured.

mod address;
mod drawing;
mod events;
mod respond;
mod server;
mod state;
mod token;

pub use address::{Address, LiveError, looks_like_address};

use prony_model::Nanos;
use prony_model::program::StopFlag;
use prony_model::result::{ResultWatcher, StandingResult};
use prony_report::{LiveMoment, LivePage, NamedDocument};
use state::Shared;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use tokio::sync::mpsc;

/// What is drawn.
#[derive(Debug)]
pub(crate) enum Order {
    Draw(Box<StandingResult>),
    /// Draws the last page, waits until those who look have it, and ends.
    End(Box<LivePage>),
}

/// A page that is served until it is finished or dropped.
pub struct Live {
    shared: Arc<Shared>,
    address: SocketAddr,
    orders: mpsc::Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("address", &self.address).finish_non_exhaustive()
    }
}

impl Live {
    /// Begins to serve. `title`: what is run; `label`: what its result is called, such as the file where it will stand; `stop`: what the page's button sets.
    pub fn open(address: &Address, title: &str, label: &str, stop: StopFlag) -> Result<Self, LiveError> {
        let listener = address.bind()?;
        let cannot = |cause| LiveError::Thread { cause };
        let address_bound = listener.local_addr().map_err(cannot)?;
        let token = token::fresh().map_err(cannot)?;
        let named = address.host.clone();
        let shared = Arc::new(Shared::new(title.to_owned(), label.to_owned(), token, named, stop));
        // One result at a time is on its way: none is gathered before the last one is drawn.
        let (orders, drawn) = mpsc::channel(2);
        let handed = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("prony-live".to_owned())
            .spawn(move || server::run(listener, handed, drawn))
            .map_err(cannot)?;
        Ok(Self { shared, address: address_bound, orders, thread: Some(thread) })
    }

    /// Where the page is. The token stands behind `#`, which browsers keep to themselves.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            // Reached from elsewhere by an address of this machine; this one is right here.
            address.set_ip(match address {
                SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
                SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
            });
        }
        format!("http://{address}/#{}", self.shared.token)
    }

    /// Shows results while the run goes.
    pub fn watcher(&self) -> Arc<dyn ResultWatcher> {
        Arc::new(Watcher { shared: Arc::clone(&self.shared), orders: self.orders.clone() })
    }

    /// Says which of many runs the page shows.
    pub fn steps(&self) -> LiveSteps {
        LiveSteps(Arc::clone(&self.shared))
    }

    /// The run is over, this is its result, and `said` says where that is. Waits until every page that is open has it, some
    /// seconds at most.
    pub fn finish(mut self, documents: &[NamedDocument], said: &str) {
        self.end(documents, said);
    }

    fn end(&mut self, documents: &[NamedDocument], said: &str) {
        let Some(thread) = self.thread.take() else { return };
        let (elapsed, duration) = self.shared.moment();
        let title = self.shared.title.clone();
        let moment = LiveMoment { title, elapsed, duration, step: String::new(), end: Some(said.to_owned()) };
        let page = LivePage::new(documents, &moment);
        if self.orders.blocking_send(Order::End(Box::new(page))).is_ok() {
            // A page that could not be shown is no reason to lose the result.
            let _ = thread.join();
        }
    }
}

/// Where many runs follow each other, which one of them the page shows.
#[derive(Debug, Clone)]
pub struct LiveSteps(Arc<Shared>);

impl LiveSteps {
    /// The run of which the page is drawn from now on.
    pub fn say(&self, step: String) {
        self.0.begin_step(step);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let said = "The run ended without a result; the terminal says why.";
        let last = self.shared.last_result();
        self.end(&last.into_iter().collect::<Vec<_>>(), said);
    }
}

/// What the run tells.
struct Watcher {
    shared: Arc<Shared>,
    orders: mpsc::Sender<Order>,
}

impl ResultWatcher for Watcher {
    fn is_due(&self) -> bool {
        self.shared.is_due()
    }

    fn show(&self, standing: StandingResult) {
        self.shared.begin_drawing(standing.elapsed, standing.duration);
        if self.orders.try_send(Order::Draw(Box::new(standing))).is_err() {
            self.shared.drawn(Nanos::ZERO);
        }
    }
}
