//! One user's connection: its bytes and the scanner that finds where answers end.

use crate::http::scanner::Scanner;
use crate::transport::Transport;

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) transport: Transport,
    pub(crate) scanner: Scanner,
}

impl Connection {
    pub(crate) fn new(transport: Transport) -> Self {
        Self { transport, scanner: Scanner::new() }
    }
}
