//! Turns drawings into what a terminal reads: each takes the place of the one before it, wherever that has scrolled to.
//!
//! Rows are reached from the line below the drawing, where the cursor stands between two of them, and never by their number:
//! to ask a terminal where its cursor is would take its input away from whoever types. The cursor is hidden within a drawing
//! only, so that a program that is killed between two leaves the terminal as it was.

use crossterm::cursor::{Hide, MoveToColumn, MoveUp, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Color as TerminalColor, Print, SetAttribute, SetForegroundColor};
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate};
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use ratatui::text::Span;
use std::io;

/// How a terminal is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScreenLooks {
    pub has_colors: bool,
    /// Lines that become too long for a terminal that is made narrower go on in the next row, as nearly everywhere; in others
    /// they are cut off.
    pub reflows: bool,
}

/// Of a terminal, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ScreenSize {
    pub(crate) columns: u16,
    pub(crate) rows: u16,
}

#[derive(Debug)]
pub(crate) struct Painter {
    looks: ScreenLooks,
    /// The columns that each drawn row fills.
    drawn: Vec<u16>,
}

impl Painter {
    pub(crate) const fn new(looks: ScreenLooks) -> Self {
        Self { looks, drawn: Vec::new() }
    }

    /// Puts lines, each with its end, in the place of the drawing, and below them what is drawn next.
    pub(crate) fn paint(
        &mut self,
        out: &mut Vec<u8>,
        size: ScreenSize,
        lines_above: &[u8],
        drawing: &Buffer,
    ) -> io::Result<()> {
        queue!(out, BeginSynchronizedUpdate, Hide)?;
        self.go_up(out, size)?;
        if !lines_above.is_empty() {
            queue!(out, Clear(ClearType::FromCursorDown))?;
            out.extend_from_slice(lines_above);
        }
        for row in 0..drawing.area.height {
            let filled = self.paint_row(out, drawing, row)?;
            queue!(out, Clear(ClearType::UntilNewLine), Print("\r\n"))?;
            self.drawn.push(filled);
        }
        queue!(out, Clear(ClearType::FromCursorDown), Show, EndSynchronizedUpdate)
    }

    /// The terminal is as if nothing had been drawn.
    pub(crate) fn erase(&mut self, out: &mut Vec<u8>, size: ScreenSize) -> io::Result<()> {
        if self.drawn.is_empty() {
            return Ok(());
        }
        self.go_up(out, size)?;
        queue!(out, Clear(ClearType::FromCursorDown), Show)
    }

    /// To the beginning of the first row that was drawn.
    fn go_up(&mut self, out: &mut Vec<u8>, size: ScreenSize) -> io::Result<()> {
        let rows: u16 = self.drawn.drain(..).map(|filled| rows_of(filled, size, self.looks)).sum();
        queue!(out, MoveToColumn(0))?;
        // To go up by nothing is to go up by one.
        if rows > 0 { queue!(out, MoveUp(rows)) } else { Ok(()) }
    }

    /// Returns the columns that it fills; blanks at its end are left out.
    fn paint_row(&self, out: &mut Vec<u8>, drawing: &Buffer, row: u16) -> io::Result<u16> {
        let width = drawing.area.width;
        let is_filled = |column: &u16| drawing[(*column, row)].symbol() != " ";
        let filled = (0..width).rev().find(is_filled).map_or(0, |last| last + 1);
        let plain = (Color::Reset, Modifier::empty());
        let (mut column, mut current) = (0, plain);
        while column < filled {
            let cell = &drawing[(column, row)];
            if (cell.fg, cell.modifier) != current {
                current = (cell.fg, cell.modifier);
                self.paint_style(out, cell.fg, cell.modifier)?;
            }
            queue!(out, Print(cell.symbol()))?;
            // A wide character stands for the cells behind it too.
            column += (Span::raw(cell.symbol()).width() as u16).max(1);
        }
        if current != plain {
            queue!(out, SetAttribute(Attribute::Reset))?;
        }
        Ok(filled)
    }

    fn paint_style(&self, out: &mut Vec<u8>, color: Color, modifier: Modifier) -> io::Result<()> {
        queue!(out, SetAttribute(Attribute::Reset))?;
        if modifier.contains(Modifier::BOLD) {
            queue!(out, SetAttribute(Attribute::Bold))?;
        }
        if modifier.contains(Modifier::DIM) {
            queue!(out, SetAttribute(Attribute::Dim))?;
        }
        match terminal_color(color) {
            Some(color) if self.looks.has_colors => queue!(out, SetForegroundColor(color)),
            _ => Ok(()),
        }
    }
}

/// Rows that a row now takes that was drawn when the terminal may have been wider.
fn rows_of(filled: u16, size: ScreenSize, looks: ScreenLooks) -> u16 {
    if looks.reflows { filled.div_ceil(size.columns.max(1)).max(1) } else { 1 }
}

/// Those that the screen uses.
const fn terminal_color(color: Color) -> Option<TerminalColor> {
    match color {
        Color::Red => Some(TerminalColor::DarkRed),
        Color::Green => Some(TerminalColor::DarkGreen),
        Color::Yellow => Some(TerminalColor::DarkYellow),
        Color::Cyan => Some(TerminalColor::DarkCyan),
        _ => None,
    }
}
