//! What an argument is that names something to run. Decided here alone, for every command.

use crate::k6::GivenError;
use crate::subject::Subject;
use crate::wrk::OnStuck;
use crate::{k6, plan, url, wrk};
use prony_load::{PlanError, UrlError};
use prony_model::LoadModel;
use prony_model::plan::PlanFaults;
use prony_script_k6::SessionError;
use prony_script_wrk::ScriptError;

/// All kinds; an argument is of the first one that claims its text. A new kind is a line here and a file with its value.
pub const KINDS: [&Kind; 4] = [&k6::KIND, &url::KIND, &wrk::KIND, &plan::KIND];

/// One kind of argument.
#[derive(Debug)]
pub struct Kind {
    /// With its article, for messages.
    pub name: &'static str,
    /// Whose flags `prony run` reads with it.
    pub flags: Flags,
    /// True where the address that is loaded is an argument of its own, after this one.
    pub needs_url: bool,
    /// Whether a text, such as the name of a file, means this kind.
    pub(crate) is_named: fn(&str) -> bool,
    pub(crate) open: Open,
}

/// Makes an argument of a kind ready to be run again and again.
pub(crate) type Open = fn(&Argument, &OpenSettings) -> Result<Box<dyn Subject>, OpenError>;

/// Whose flags describe a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flags {
    /// The plan says all of it.
    Plan,
    /// wrk's and wrk2's.
    Wrk,
    K6,
}

impl Kind {
    pub fn of(text: &str) -> &'static Self {
        KINDS.into_iter().find(|kind| (kind.is_named)(text)).unwrap_or(&plan::KIND)
    }
}

/// One thing to run, and the address that it loads where that is not its own.
#[derive(Debug)]
pub struct Argument {
    pub text: String,
    pub kind: &'static Kind,
    /// Given exactly where the kind needs one.
    pub url: Option<String>,
}

/// A script without the URL that it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script `{script}` needs a URL: {command} {script} http://…")]
pub struct ArgumentError {
    pub command: String,
    pub script: String,
}

/// What is opened with defaults of its own.
#[derive(Debug, Clone)]
pub struct OpenSettings {
    /// Of an address, which says nothing of its load.
    pub load: LoadModel,
    /// Of k6 scripts: `NAME=VALUE` of `__ENV`.
    pub environment: Vec<String>,
    /// Of wrk scripts.
    pub on_stuck: OnStuck,
}

/// Why an argument cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error(transparent)]
    Faults(#[from] PlanFaults),
    #[error(transparent)]
    Given(#[from] GivenError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    WrkScript(#[from] ScriptError),
}

impl Argument {
    /// Reads what stands on a command line, in its order. A URL belongs to the scripts right before it that need one.
    pub fn read_all<'a>(
        command: &str,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Self>, ArgumentError> {
        let mut arguments: Vec<Self> = Vec::new();
        for text in texts {
            let kind = Kind::of(text);
            let is_url = std::ptr::eq(kind, &raw const url::KIND);
            let waiting =
                arguments.iter().rev().take_while(|argument| is_url && argument.waits_for_url()).count();
            if waiting == 0 {
                arguments.push(Self { text: text.to_owned(), kind, url: None });
            } else {
                arguments
                    .iter_mut()
                    .rev()
                    .take(waiting)
                    .for_each(|script| script.url = Some(text.to_owned()));
            }
        }
        match arguments.iter().find(|argument| argument.waits_for_url()) {
            Some(Self { text, .. }) => {
                Err(ArgumentError { command: command.to_owned(), script: text.clone() })
            }
            None => Ok(arguments),
        }
    }

    fn waits_for_url(&self) -> bool {
        self.kind.needs_url && self.url.is_none()
    }

    /// Makes it ready to be run again and again.
    pub fn open(&self, settings: &OpenSettings) -> Result<Box<dyn Subject>, OpenError> {
        (self.kind.open)(self, settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let shown = match Argument::read_all("prony run", line.split(' ')) {
            Ok(arguments) => {
                let show = |argument: &Argument| match &argument.url {
                    Some(url) => format!("{} {} with {url}", argument.kind.name, argument.text),
                    None => format!("{} {}", argument.kind.name, argument.text),
                };
                arguments.iter().map(show).collect()
            }
            Err(error) => vec![error.to_string()],
        };
        assert_eq!(shown, expected, "{line}");
    }

    #[test]
    fn texts_have_one_kind() {
        check("plan.toml", &["a plan plan.toml"]);
        check("-", &["a k6 script -"]);
        check("dir/a.ts", &["a k6 script dir/a.ts"]);
        check("http://host/app.js", &["a URL http://host/app.js"]);
        check("http://host/app.lua", &["a URL http://host/app.lua"]);
    }

    #[test]
    fn scripts_of_wrk_take_the_url_that_follows() {
        check("a.lua http://x", &["a wrk script a.lua with http://x"]);
        check(
            "a.lua http://x b.LUA http://y",
            &["a wrk script a.lua with http://x", "a wrk script b.LUA with http://y"],
        );
        check(
            "a.lua b.lua http://x",
            &["a wrk script a.lua with http://x", "a wrk script b.lua with http://x"],
        );
        check("a.lua http://x http://y", &["a wrk script a.lua with http://x", "a URL http://y"]);
        check("a.js b.lua http://x", &["a k6 script a.js", "a wrk script b.lua with http://x"]);
        check("a.lua", &["the script `a.lua` needs a URL: prony run a.lua http://…"]);
        check("a.lua plan.toml", &["the script `a.lua` needs a URL: prony run a.lua http://…"]);
    }
}
