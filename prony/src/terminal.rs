//! What the terminal can show: a screen where somebody watches a measurement, lines elsewhere, and whether texts have colours.

use prony_report::{
    ErrorLines, ProgressDisplay, ScreenLooks, TextLooks, allow_screen, leave_screen, output_columns,
    refresh_screen,
};
use std::env;
use std::io::{IsTerminal as _, Write as _};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

/// How often it is looked whether the terminal has another size.
const LOOK: Duration = Duration::from_millis(200);
/// A drawing takes far less; a terminal that takes nothing takes forever.
const LEAVE_TRIES: u32 = 20;
const LEAVE_PAUSE: Duration = Duration::from_millis(5);

/// Whether a screen or lines are shown, and not nothing.
static SETTLED: OnceLock<()> = OnceLock::new();

#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct TerminalFlags {
    /// Whether the screen and what is printed have colours: auto has them on a terminal, unless the variable `NO_COLOR` is set;
    /// always in files and pipes too.
    #[arg(long, value_name = "WHEN", value_enum, default_value_t, global = true)]
    pub color: ColorChoice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum ColorChoice {
    #[default]
    Auto,
    Always,
    Never,
}

impl ColorChoice {
    /// Whether nobody has asked for no colours.
    pub(crate) fn allows_colors(self) -> bool {
        match self {
            Self::Auto => !is_set("NO_COLOR"),
            Self::Always => true,
            Self::Never => false,
        }
    }

    /// Of what goes to a terminal, or to a file or a pipe: the one place that decides.
    fn has_colors(self, is_terminal: bool) -> bool {
        let can_show = is_terminal && !env::var("TERM").is_ok_and(|term| term == "dumb");
        self == Self::Always || can_show && self.allows_colors()
    }

    /// Of standard output.
    pub(crate) fn output_looks(self) -> TextLooks {
        let is_terminal = std::io::stdout().is_terminal();
        let columns = if is_terminal { output_columns() } else { None };
        TextLooks { has_colors: self.has_colors(is_terminal), columns }
    }

    /// Of standard error.
    pub(crate) fn error_looks(self) -> TextLooks {
        TextLooks { has_colors: self.has_colors(std::io::stderr().is_terminal()), columns: None }
    }
}

/// Of one run. `title`: what is run.
pub(crate) fn run_display(title: &str, is_quiet: bool, color: ColorChoice) -> ProgressDisplay {
    if is_quiet {
        return ProgressDisplay::quiet();
    }
    settle(color);
    ProgressDisplay::of_run(title)
}

/// Of many runs.
pub(crate) fn steps_display(title: &str, is_quiet: bool, color: ColorChoice) -> ProgressDisplay {
    if is_quiet {
        return ProgressDisplay::quiet();
    }
    settle(color);
    ProgressDisplay::of_steps(title)
}

/// Says once what the terminal can show, and keeps to its size from then on.
pub(crate) fn settle(color: ColorChoice) {
    SETTLED.get_or_init(|| {
        if !can_show_screen() {
            return;
        }
        // xterm and the console of Linux cut off what a narrower window has no room for.
        let reflows = !is_set("XTERM_VERSION") && env::var("TERM").is_ok_and(|term| term != "linux");
        allow_screen(ScreenLooks { has_colors: color.allows_colors(), reflows });
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            leave();
            previous(panic);
        }));
        // Without it the screen follows a new size a second later.
        let _ = thread::Builder::new().name("prony-screen".to_owned()).spawn(follow_size);
    });
}

/// Ends with the process.
fn follow_size() {
    loop {
        thread::sleep(LOOK);
        refresh_screen();
    }
}

/// Nobody watches the log of a pipeline, also where it is called a terminal.
fn can_show_screen() -> bool {
    let has_term = env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb");
    has_term && !is_set("CI") && std::io::stderr().is_terminal()
}

/// Whether a variable of the environment has a value; an empty one is none (<https://no-color.org>).
pub(crate) fn is_set(variable: &str) -> bool {
    env::var_os(variable).is_some_and(|value| !value.is_empty())
}

/// The process ends, or says why it cannot go on: nothing is drawn any more.
pub(crate) fn leave() {
    for _ in 0..LEAVE_TRIES {
        if leave_screen() {
            return;
        }
        thread::sleep(LEAVE_PAUSE);
    }
}

/// Nothing is said where nobody watches.
pub(crate) fn tell_whoever_watches(line: &str) {
    if SETTLED.get().is_some() && can_show_screen() {
        tell(line);
    }
}

/// A line on standard error, above the screen. One that cannot be shown is no reason to end.
pub(crate) fn tell(line: &str) {
    let _ = ErrorLines.write_all(format!("{line}\n").as_bytes());
}
