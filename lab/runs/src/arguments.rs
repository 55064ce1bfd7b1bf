//! What an argument is that names something to run. Decided here alone, for every command.

use crate::kind::{Argument, Kind};
use crate::{k6, plan, url, wrk};

/// All kinds; an argument is of the first one that claims its text. A new kind is a line here and a file with its value.
pub const KINDS: [&Kind; 4] = [&k6::KIND, &url::KIND, &wrk::KIND, &plan::KIND];

impl Kind {
    pub fn of(text: &str) -> &'static Self {
        KINDS.into_iter().find(|kind| (kind.is_named)(text)).unwrap_or(&plan::KIND)
    }
}

/// A script without the URL that it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the script `{script}` needs a URL: {command} {script} http://…")]
pub struct ArgumentError {
    pub command: String,
    pub script: String,
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
