//! What work writes into the log.

use std::{
    io,
    sync::{Arc, Mutex, PoisonError},
};

use tracing_subscriber::fmt::MakeWriter;

#[derive(Debug, Clone, Default)]
struct LogLines(Arc<Mutex<Vec<u8>>>);

impl io::Write for LogLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogLines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

/// The log of what is done on this thread, an event a line.
pub fn logged(work: impl FnOnce()) -> String {
    let lines = LogLines::default();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(lines.clone()).finish();
    tracing::subscriber::with_default(subscriber, work);
    let bytes = lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8_lossy(&bytes).into_owned()
}
