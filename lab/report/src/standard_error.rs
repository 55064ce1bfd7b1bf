//! Standard error of this process: a screen at its end where the terminal can show one, and lines above it.
//!
//! There is one standard error, so there is one of this. Whoever knows the terminal says what it can show, with
//! [`allow_screen`]; without that there are lines alone. A screen that cannot be drawn is no reason to end a measurement, so that
//! errors of drawing are dropped here.

use crate::screen::{InlineScreen, ScreenLooks, ScreenSize, ScreenState};
use console::Term;
use std::io::{self, Stderr, Write};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Of a terminal that does not say how large it is.
const SIZE: ScreenSize = ScreenSize { columns: 80, rows: 24 };

static SHARED: Mutex<Shared> = Mutex::new(Shared { looks: None, screen: None });

struct Shared {
    /// None where there can be no screen.
    looks: Option<ScreenLooks>,
    screen: Option<InlineScreen<Stderr>>,
}

/// From now on there may be a screen: standard error is a terminal that somebody watches.
pub fn allow_screen(looks: ScreenLooks) {
    // What is asked for counts, and not what the environment says of colours.
    crossterm::style::force_color_output(looks.has_colors);
    shared().looks = Some(looks);
}

/// Draws the screen again where the terminal has another size; to be called some times a second.
pub fn refresh_screen() {
    if let Some(screen) = &mut shared().screen {
        let _ = screen.resize(size());
    }
}

/// Takes the screen away, if there is one: what follows stands where it stood.
pub fn close_screen() {
    if let Some(mut screen) = shared().screen.take() {
        let _ = screen.close(size());
    }
}

/// Leaves the screen as it stands and draws no other: the process is about to end. False while another thread draws.
pub fn leave_screen() -> bool {
    let mut shared = match SHARED.try_lock() {
        Ok(shared) => shared,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    shared.looks = None;
    shared.screen = None;
    true
}

/// Standard error for lines that stand above the screen, where there is one.
#[derive(Debug, Clone, Copy, Default)]
pub struct ErrorLines;

impl Write for ErrorLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut shared().screen {
            Some(screen) => screen.write_above(size(), bytes)?,
            None => io::stderr().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Standard output where it is the terminal that the screen is on: what is written stands above it.
#[derive(Debug, Clone, Copy, Default)]
pub struct OutputLines;

impl Write for OutputLines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let write = || io::stdout().write_all(bytes).and_then(|()| io::stdout().flush());
        match &mut shared().screen {
            Some(screen) => screen.aside(size(), write)??,
            None => write()?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

/// Of the terminal that standard output is; nothing where it is none, or does not say.
pub fn output_columns() -> Option<usize> {
    let size = Term::stdout().size_checked();
    size.map(|(_, columns)| usize::from(columns)).filter(|columns| *columns > 0)
}

/// Opens a screen, if there may be one.
pub(crate) fn open_screen(title: &str) -> bool {
    let mut shared = shared();
    let Some(looks) = shared.looks else { return false };
    let state = ScreenState { title: title.to_owned(), ..ScreenState::default() };
    let mut screen = InlineScreen::new(state, looks, size(), io::stderr());
    let _ = screen.draw(size());
    shared.screen = Some(screen);
    true
}

/// Changes what the screen shows, and draws it.
pub(crate) fn update_screen(change: impl FnOnce(&mut ScreenState)) {
    if let Some(screen) = &mut shared().screen {
        change(&mut screen.state);
        let _ = screen.draw(size());
    }
}

/// A line that cannot be shown is no reason to end a measurement.
pub(crate) fn say(line: &str) {
    let _ = ErrorLines.write_all(format!("{line}\n").as_bytes());
}

fn size() -> ScreenSize {
    let size = Term::stderr().size_checked().filter(|(rows, columns)| *rows > 0 && *columns > 0);
    size.map_or(SIZE, |(rows, columns)| ScreenSize { columns, rows })
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}
