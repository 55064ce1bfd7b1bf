//! Where a drafted plan goes, and what is told of it.

use std::{
    fmt::Write as _,
    fs::OpenOptions,
    io::{ErrorKind, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, bail};
use prony_drafts::Draft;

use crate::run::shell_word;

#[derive(Debug, clap::Args)]
pub(crate) struct Destination {
    /// Write the plan to a file, which must not be there yet; by default it is printed.
    #[arg(short, long, value_name = "PLAN.toml")]
    output: Option<PathBuf>,
    /// Replace the file.
    #[arg(long, requires = "output")]
    force: bool,
}

/// Without the folder, which says nothing to others.
pub(crate) fn command_of(name: &str, file: &Path) -> String {
    format!("prony {name} {}", file.file_name().unwrap_or_default().to_string_lossy())
}

impl Destination {
    pub(crate) fn write(&self, draft: Draft, command: &str) -> anyhow::Result<ExitCode> {
        let made = draft.write(command);
        let Some(path) = &self.output else {
            crate::print(&made.plan)?;
            return Ok(ExitCode::SUCCESS);
        };
        let mut options = OpenOptions::new();
        options.write(true);
        if self.force {
            options.create(true).truncate(true);
        } else {
            options.create_new(true);
        }
        let file = options.open(path);
        if file.as_ref().is_err_and(|error| error.kind() == ErrorKind::AlreadyExists) {
            bail!("{} is there already; --force replaces it", path.display());
        }
        file.and_then(|mut file| file.write_all(made.plan.as_bytes()))
            .with_context(|| format!("cannot write {}", path.display()))?;
        let path = path.display();
        let plural = if made.requests == 1 { "" } else { "s" };
        let mut text = format!("{path}: {} request{plural}\n", made.requests);
        for note in &made.notes {
            // Infallible: a text takes everything.
            let _ = writeln!(text, "  {note}");
        }
        let path = shell_word(&path.to_string());
        let _ = write!(
            text,
            "\nWhat it would do: prony run --explain {path}\nTo run it:        prony run {path}\n"
        );
        crate::print(&text)?;
        Ok(ExitCode::SUCCESS)
    }
}
