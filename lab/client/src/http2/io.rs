//! Lets the h2 crate read and write a [`Transport`] from our own event loop: nothing is woken here, it is called when
//! the loop has seen an event.

use crate::transport::{Read, Transport};
use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Shared by all HTTP/2 connections of a thread: what one read takes from the kernel.
const READ_BUFFER_BYTES: usize = 64 * 1024;

/// Used within one read only.
pub(crate) type ReadBuffer = Rc<RefCell<Vec<u8>>>;

pub(crate) fn read_buffer() -> ReadBuffer {
    Rc::new(RefCell::new(vec![0; READ_BUFFER_BYTES]))
}

/// What the h2 crate's reader and writer shares with the connection that holds it.
#[derive(Debug)]
pub(crate) struct SharedTransport {
    pub transport: RefCell<Transport>,
    /// Plaintext since it was last asked for.
    pub bytes_read: Cell<u64>,
    /// Nothing can be read until an event says so.
    pub is_drained: Cell<bool>,
    /// The peer has sent its last byte: no further event tells of the end behind it.
    pub is_ending: Cell<bool>,
}

impl SharedTransport {
    pub(crate) fn new(transport: Transport) -> Rc<Self> {
        Rc::new(Self {
            transport: RefCell::new(transport),
            bytes_read: Cell::new(0),
            is_drained: Cell::new(false),
            is_ending: Cell::new(false),
        })
    }
}

#[derive(Debug)]
pub(crate) struct Io {
    shared: Rc<SharedTransport>,
    buffer: ReadBuffer,
    /// Read, but not taken yet; empty nearly always.
    left: Vec<u8>,
}

impl Io {
    pub(crate) fn new(shared: Rc<SharedTransport>, buffer: ReadBuffer) -> Self {
        Self { shared, buffer, left: Vec::new() }
    }
}

impl AsyncRead for Io {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.left.is_empty() {
            let count = this.left.len().min(out.remaining());
            out.put_slice(&this.left[..count]);
            this.left.drain(..count);
            return Poll::Ready(Ok(()));
        }
        let shared = &this.shared;
        if shared.is_drained.get() {
            return Poll::Pending;
        }
        let mut buffer = this.buffer.borrow_mut();
        match shared.transport.borrow_mut().read(&mut buffer) {
            Ok(Read::Bytes { count, is_all }) => {
                let taken = count.min(out.remaining());
                out.put_slice(&buffer[..taken]);
                this.left.extend_from_slice(&buffer[taken..count]);
                shared.bytes_read.set(shared.bytes_read.get() + count as u64);
                shared.is_drained.set(is_all && !shared.is_ending.get());
                Poll::Ready(Ok(()))
            }
            Ok(Read::Nothing) => {
                shared.is_drained.set(true);
                Poll::Pending
            }
            Ok(Read::End) => Poll::Ready(Ok(())),
            Err(fault) => Poll::Ready(Err(fault.cause)),
        }
    }
}

impl AsyncWrite for Io {
    /// Takes all while the kernel does, and nothing while something waits for it.
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut transport = self.shared.transport.borrow_mut();
        if transport.has_unsent() {
            return Poll::Pending;
        }
        Poll::Ready(transport.send(bytes).map(|()| bytes.len()).map_err(|fault| fault.cause))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.shared.transport.borrow_mut().flush().map_err(|fault| fault.cause))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
