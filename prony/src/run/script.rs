//! A URL loaded by a wrk script: the script made ready, and what happens where it hangs.

use super::url::UrlFlags;
use crate::COULD_NOT_RUN;
use anyhow::bail;
use prony_load::Url;
use prony_model::plan::target::Endpoint;
use prony_script_wrk::{Limits, ScriptError, Settings, WrkScript, WrkUrl};
use std::path::Path;
use std::time::Duration;

pub(super) fn is_one(text: &str) -> bool {
    Path::new(text).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lua"))
}

/// Loads the script and calls its `setup` and `init` for each thread.
pub(super) fn prepare(
    path: &Path,
    url: &Url,
    flags: &UrlFlags,
    threads: u32,
    arguments: &[String],
) -> anyhow::Result<WrkScript> {
    if !is_one(&path.to_string_lossy()) && path.extension().is_some() {
        bail!("--script takes a wrk script in Lua, and {} is none by its name", path.display());
    }
    let settings = Settings {
        path: path.to_owned(),
        source: Settings::read_source(path)?,
        url: parts(url),
        headers: flags.headers()?,
        method: flags.method().to_owned(),
        body: flags.body()?.map(String::into_bytes),
        arguments: arguments.to_vec(),
        threads,
        connect_timeout: Duration::from_nanos(flags.timeout().0),
        limits: Limits::default(),
    };
    Ok(WrkScript::prepare(settings, end_process)?)
}

/// The URL as scripts see it: a port only where one was typed.
fn parts(url: &Url) -> WrkUrl {
    let authority = url.text.split("://").nth(1).unwrap_or_default();
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    let after_host = authority.rsplit(']').next().unwrap_or_default();
    let port = match url.target.endpoint {
        Endpoint::Tcp { .. } => after_host.split_once(':').map(|(_, port)| port.to_owned()),
        Endpoint::Unix { .. } => None,
    };
    WrkUrl {
        text: url.text.clone(),
        scheme: url.target.scheme.as_str().to_owned(),
        host: url.target.host().to_owned(),
        port,
        path: url.path.clone(),
    }
}

/// The script's thread does not come back, so nothing but the end of the process ends it. What the run has measured is
/// in the result file as of its last writing.
fn end_process(error: &ScriptError) {
    crate::say(&anyhow::anyhow!("{error}"));
    std::process::exit(COULD_NOT_RUN.into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_see_a_port_where_one_was_typed() {
        let shown = |text: &str| {
            let parts = parts(&Url::parse(text).unwrap());
            format!("{} {} {:?} {}", parts.scheme, parts.host, parts.port, parts.path)
        };
        assert_eq!(shown("http://host"), "http host None /");
        assert_eq!(shown("http://host:80/a?b=c:d"), "http host Some(\"80\") /a?b=c:d");
        assert_eq!(shown("https://[::1]:8443"), "https ::1 Some(\"8443\") /");
        assert_eq!(shown("http://[::1]/"), "http ::1 None /");
        assert_eq!(shown("http://unix:/run/x.sock:/a"), "http localhost None /a");
    }
}
