//! What an argument is that names something to run. Decided here alone, for every command.

use crate::kind::{Argument, Kind};
use crate::{jmeter, k6, plan, url, wrk};
use std::net::IpAddr;
use std::path::Path;

/// All kinds; an argument is of the first one that claims its text. A new kind is a line here and a file with its value.
pub const KINDS: [&Kind; 5] = [&k6::KIND, &jmeter::KIND, &url::KIND, &wrk::KIND, &plan::KIND];

impl Kind {
    pub fn of(text: &str) -> &'static Self {
        KINDS.into_iter().find(|kind| (kind.is_named)(text)).unwrap_or(&plan::KIND)
    }
}

/// Arguments that name nothing that could be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    #[error("the script `{script}` needs a URL: {command} {script} http://…")]
    WithoutUrl { command: String, script: String },
    /// `line` is what to type instead.
    #[error("`{text}` is no file, and a URL begins with http:// or https://; write: {line}")]
    WithoutScheme { text: String, line: String },
}

/// Endings of names of hosts that are seldom those of files.
const DOMAINS: [&str; 7] = ["com", "org", "net", "io", "dev", "app", "local"];

/// The address that a text without a scheme means, where it is no file: `host:port`, `localhost/path`, `example.com`.
fn address_without_scheme(text: &str) -> Option<String> {
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let has_port =
        port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()));
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_address = bare.parse::<IpAddr>().is_ok();
    let is_name = host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
    let domain = host.rsplit_once('.').map(|(_, domain)| domain.to_ascii_lowercase());
    let is_known =
        host == "localhost" || is_address || domain.is_some_and(|domain| DOMAINS.contains(&&*domain));
    let is_host = is_known && port.is_none() || has_port && (is_name || is_address);
    if !is_host || Path::new(text).exists() {
        return None;
    }
    Some(if host.is_empty() { format!("localhost{text}") } else { text.to_owned() })
}

/// As [`address_without_scheme`], of what is of no other kind.
fn bare_address(text: &str) -> Option<String> {
    let is_plan = std::ptr::eq(Kind::of(text), &raw const plan::KIND);
    address_without_scheme(text).filter(|_| is_plan)
}

impl Argument {
    /// Reads what stands on a command line, in its order. A URL belongs to the scripts right before it that need one.
    pub fn read_all<'a>(
        command: &str,
        texts: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<Self>, ArgumentError> {
        let texts: Vec<&str> = texts.into_iter().collect();
        let mended = |text: &&str| bare_address(text).map(|address| format!("http://{address}"));
        let mut arguments: Vec<Self> = Vec::new();
        for &text in &texts {
            let kind = Kind::of(text);
            if mended(&text).is_some() {
                let words = texts.iter().map(|text| mended(text).unwrap_or_else(|| (*text).to_owned()));
                let line = [command.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ");
                return Err(ArgumentError::WithoutScheme { text: text.to_owned(), line });
            }
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
                Err(ArgumentError::WithoutUrl { command: command.to_owned(), script: text.clone() })
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
        check("dir/a.jmx", &["a JMeter plan dir/a.jmx"]);
        check("http://host/a.jmx", &["a URL http://host/a.jmx"]);
        check("http://host/app.js", &["a URL http://host/app.js"]);
        check("http://host/app.lua", &["a URL http://host/app.lua"]);
    }

    #[test]
    fn an_address_without_a_scheme_is_said_to_lack_it() {
        for (text, address) in [
            ("localhost:8080", "localhost:8080"),
            ("localhost/items", "localhost/items"),
            ("127.0.0.1:8080/a?b", "127.0.0.1:8080/a?b"),
            ("[::1]:80", "[::1]:80"),
            ("shop:443/a.toml", "shop:443/a.toml"),
            ("example.com/items", "example.com/items"),
            (":8080", "localhost:8080"),
        ] {
            let said = format!(
                "`{text}` is no file, and a URL begins with http:// or https://; write: prony run http://{address}"
            );
            check(text, &[&said]);
        }
        check(
            "127.0.0.1:80/a https://b/c d.js e:81",
            &[
                "`127.0.0.1:80/a` is no file, and a URL begins with http:// or https://; write: prony run http://127.0.0.1:80/a https://b/c d.js http://e:81",
            ],
        );
        for text in
            ["plan.toml", "./plans/a.toml", "a:b", "plans/8080", "src", "plan.tml", "C:/plan.toml", "a.b/c"]
        {
            check(text, &[&format!("a plan {text}")]);
        }
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
