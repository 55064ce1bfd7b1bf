//! Where the log of a script goes and how it looks, as k6's flags say it.

use super::log::{Level, Log, Reader, Style};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// `--verbose`, `--log-output`, `--log-format`, `--console-output`.
#[derive(Debug, Clone, Default)]
pub struct LogSettings {
    pub is_verbose: bool,
    pub target: LogTarget,
    /// Lines of less weight are left out.
    pub least: Option<Level>,
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
    #[error(
        "--log-output `{0}` is none of stderr, stdout, none, file=PATH and file=PATH,level=LEVEL, with one of debug, info, warning and error"
    )]
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
        let mut least = None;
        let target = match output {
            None | Some("" | "stderr") => LogTarget::Errors,
            Some("stdout") => LogTarget::Output,
            Some("none") => LogTarget::None,
            Some(text) if text.starts_with("loki") => return Err(LogSettingsError::Loki(text.to_owned())),
            Some(text) => {
                let (path, level) = file_of(text).ok_or_else(|| LogSettingsError::Target(text.to_owned()))?;
                least = level;
                LogTarget::File(created(path)?)
            }
        };
        let style = match format {
            None | Some("" | "text") => None,
            Some("json") => Some(Style::Json),
            Some("raw") => Some(Style::Raw),
            Some(other) => return Err(LogSettingsError::Format(other.to_owned())),
        };
        let console = console.map(created).transpose()?;
        Ok(Self { is_verbose, target, least, style, console })
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
        if let Some(least) = self.least {
            log.set_least(least);
        }
        if let Some(file) = &self.console {
            log.set_console(Log::to(Box::new(Arc::clone(file)), plain));
        }
    }
}

/// The path of `file=PATH` and of `file=PATH,level=LEVEL`, with the level.
fn file_of(text: &str) -> Option<(&Path, Option<Level>)> {
    let file = text.strip_prefix("file=")?;
    let (path, level) = match file.split_once(",level=") {
        Some((path, level)) => (path, Some(Level::find(level)?)),
        None => (file, None),
    };
    (!path.is_empty()).then_some((Path::new(path), level))
}

fn created(path: &Path) -> Result<Arc<File>, LogSettingsError> {
    let refused = |cause| LogSettingsError::File { path: path.display().to_string(), cause };
    File::create(path).map(Arc::new).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_logs_may_have_a_level() {
        let path = |text| file_of(text).map(|(path, level)| (path.display().to_string(), level));
        assert_eq!(path("file=a.log"), Some(("a.log".to_owned(), None)));
        assert_eq!(path("file=./a,b.log,level=ERROR"), Some(("./a,b.log".to_owned(), Some(Level::Error))));
        for wrong in ["file=", "file=,level=info", "file=a.log,level=loud", "a.log", "file"] {
            assert_eq!(path(wrong), None, "{wrong}");
        }
        let kept = tempfile::NamedTempFile::new().expect("a temporary file");
        let log = Log::to(Box::new(kept.reopen().expect("it is there")), Style::Raw);
        log.set_least(Level::Warning);
        for level in [Level::Debug, Level::Info, Level::Warning, Level::Error] {
            log.write(level, &format!("{level:?}"), &[]);
        }
        log.flush();
        let text = std::fs::read_to_string(kept.path()).expect("it is there");
        assert_eq!(text, "Warning\nError\n");
    }
}
