//! Where the log of a script goes and how it looks, as k6's flags say it.

use super::log::{Log, Reader, Style};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// `--verbose`, `--log-output`, `--log-format`, `--console-output`.
#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    pub is_verbose: bool,
    pub target: LogTarget,
    /// What suits the target, where none is given.
    pub style: Option<Style>,
    /// Where lines of `console` go, if not with the others.
    pub console: Option<Arc<File>>,
}

#[derive(Debug, Clone, Default)]
pub enum LogTarget {
    #[default]
    Errors,
    Output,
    None,
    File(Arc<File>),
}

/// Why a log cannot be written as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum LogSettingsError {
    #[error("--log-output `{0}` is none of stderr, stdout, none and file=PATH")]
    Target(String),
    #[error("--log-output `{0}`: logs are not sent to Loki; write file=PATH and send that")]
    Loki(String),
    #[error("--log-format `{0}` is none of text, json and raw")]
    Format(String),
    #[error("cannot write the log to {path}: {cause}")]
    File { path: String, cause: io::Error },
}

impl LogSettings {
    /// Opens the files.
    pub fn parse(
        is_verbose: bool,
        output: Option<&str>,
        format: Option<&str>,
        console: Option<&Path>,
    ) -> Result<Self, LogSettingsError> {
        let target = match output {
            None | Some("" | "stderr") => LogTarget::Errors,
            Some("stdout") => LogTarget::Output,
            Some("none") => LogTarget::None,
            Some(text) if text.starts_with("loki") => return Err(LogSettingsError::Loki(text.to_owned())),
            Some(text) => match text.strip_prefix("file=") {
                Some(path) if !path.is_empty() && !path.contains(",level=") => {
                    LogTarget::File(created(Path::new(path))?)
                }
                _ => return Err(LogSettingsError::Target(text.to_owned())),
            },
        };
        let style = match format {
            None | Some("" | "text") => None,
            Some("json") => Some(Style::Json),
            Some("raw") => Some(Style::Raw),
            Some(other) => return Err(LogSettingsError::Format(other.to_owned())),
        };
        let console = console.map(created).transpose()?;
        Ok(Self { is_verbose, target, style, console })
    }

    /// How lines on standard error look.
    pub fn style_of_errors(&self) -> Style {
        self.style.unwrap_or_else(Style::of_errors)
    }

    pub(crate) fn apply(&self, log: &Log) {
        log.set_verbose(self.is_verbose);
        let plain = self.style.unwrap_or(Style::Plain);
        match &self.target {
            LogTarget::Errors => {
                log.set_output(Box::new(io::stderr()), self.style_of_errors(), Reader::of(&io::stderr()));
            }
            LogTarget::Output => log.set_output(Box::new(io::stdout()), plain, Reader::of(&io::stdout())),
            LogTarget::None => log.set_output(Box::new(io::sink()), plain, Reader::Any),
            LogTarget::File(file) => log.set_output(Box::new(Arc::clone(file)), plain, Reader::Any),
        }
        if let Some(file) = &self.console {
            log.set_console(Log::to(Box::new(Arc::clone(file)), plain));
        }
    }
}

fn created(path: &Path) -> Result<Arc<File>, LogSettingsError> {
    let refused = |cause| LogSettingsError::File { path: path.display().to_string(), cause };
    File::create(path).map(Arc::new).map_err(refused)
}
