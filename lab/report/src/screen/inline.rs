//! A screen at the end of a terminal, and the lines of others above it.

use super::painter::{Painter, ScreenLooks, ScreenSize};
use super::state::ScreenState;
use super::view::ScreenView;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::widgets::Widget as _;
use std::io::{self, Write};

/// A line without an end waits for it; one that is longer is shown as it is.
const UNFINISHED_BYTES_MAX: usize = 64 * 1024;

/// What is drawn where `out` leads.
#[derive(Debug)]
pub(crate) struct InlineScreen<W> {
    pub(crate) state: ScreenState,
    painter: Painter,
    size: ScreenSize,
    /// The beginning of a line of others.
    unfinished: Vec<u8>,
    out: W,
}

impl<W: Write> InlineScreen<W> {
    pub(crate) const fn new(state: ScreenState, looks: ScreenLooks, size: ScreenSize, out: W) -> Self {
        Self { state, painter: Painter::new(looks), size, unfinished: Vec::new(), out }
    }

    /// Draws what the state is now, in a terminal of this size.
    pub(crate) fn draw(&mut self, size: ScreenSize) -> io::Result<()> {
        self.draw_below(size, &[])
    }

    /// Draws again where the terminal has another size than it had.
    pub(crate) fn resize(&mut self, size: ScreenSize) -> io::Result<()> {
        if size == self.size { Ok(()) } else { self.draw(size) }
    }

    /// Puts the whole lines among these, and what stood before them of the first, above the screen.
    pub(crate) fn write_above(&mut self, size: ScreenSize, bytes: &[u8]) -> io::Result<()> {
        self.unfinished.extend_from_slice(bytes);
        let end = match self.unfinished.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None if self.unfinished.len() > UNFINISHED_BYTES_MAX => {
                self.unfinished.push(b'\n');
                self.unfinished.len()
            }
            None => return Ok(()),
        };
        let rest = self.unfinished.split_off(end);
        let lines = std::mem::replace(&mut self.unfinished, rest);
        self.draw_below(size, &lines)
    }

    /// Takes the screen away for as long as `between` writes elsewhere on the same terminal.
    pub(crate) fn aside<T>(&mut self, size: ScreenSize, between: impl FnOnce() -> T) -> io::Result<T> {
        self.erase(size)?;
        let value = between();
        self.draw(size)?;
        Ok(value)
    }

    /// The terminal is as if there had been no screen.
    pub(crate) fn close(&mut self, size: ScreenSize) -> io::Result<()> {
        self.erase(size)?;
        self.out.write_all(&std::mem::take(&mut self.unfinished))?;
        self.out.flush()
    }

    #[cfg(test)]
    pub(super) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    fn erase(&mut self, size: ScreenSize) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.painter.erase(&mut bytes, size)?;
        self.out.write_all(&bytes)?;
        self.out.flush()
    }

    fn draw_below(&mut self, size: ScreenSize, lines: &[u8]) -> io::Result<()> {
        self.size = size;
        // Below the last row is the cursor's line. The last column stays free: what is written there makes some terminals wrap.
        let view = ScreenView::new(&self.state, size.rows.saturating_sub(1));
        let area = Rect::new(0, 0, size.columns.saturating_sub(1), view.rows());
        let mut drawing = Buffer::empty(area);
        view.render(area, &mut drawing);
        let mut bytes = Vec::new();
        self.painter.paint(&mut bytes, size, lines, &drawing)?;
        // At once: a part of a drawing is never seen.
        self.out.write_all(&bytes)?;
        self.out.flush()
    }
}
