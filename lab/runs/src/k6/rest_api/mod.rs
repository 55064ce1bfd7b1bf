//! k6's REST API (`--address`), as tools of continuous integration use it: what is known of a run, and its pause and end.

mod resources;
mod server;

use super::control::LifeControl;
use prony_load::StopFlag;
use prony_script_k6::Session;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs as _};
use std::sync::{Arc, Mutex};
use std::thread;

/// What the API shows and changes.
#[derive(Debug)]
pub struct RestApi {
    pub control: Arc<LifeControl>,
    pub session: Arc<Session>,
    /// Ends the run.
    pub stop: StopFlag,
    /// Held while `setup` or `teardown` runs that was asked for here: one at a time.
    pub calls: Mutex<()>,
}

impl RestApi {
    /// Responds to requests at an address as long as the process lives, on a thread of its own. An address without a host is of
    /// all interfaces, as in k6.
    ///
    /// # Errors
    /// The address is none, or cannot be listened on.
    pub fn serve(self, address: &str) -> io::Result<SocketAddr> {
        let address = if address.starts_with(':') { format!("0.0.0.0{address}") } else { address.to_owned() };
        let addresses: Vec<SocketAddr> = address.to_socket_addrs()?.collect();
        let listener = TcpListener::bind(&addresses[..])?;
        let bound = listener.local_addr()?;
        thread::Builder::new()
            .name("rest-api".to_owned())
            .spawn(move || server::run(&listener, &Arc::new(self)))?;
        Ok(bound)
    }
}
