//! wrk scripts as arguments: made ready for a URL, once for `prony run` and anew for each run of many.

mod share;

use crate::kind::{Argument, Flags, Kind, OnStuck, OpenError, OpenSettings, PAYLOAD_TYPE};
use crate::subject::{Runner, Subject, SubjectError};
use crate::url::Page;
use prony_load::{RunError, RunOptions, Url, UrlError, run_workload};
use prony_model::plan::target::Endpoint;
use prony_model::program::ProgramError;
use prony_model::{Plan, ResultFile};
use prony_script_wrk::{Limits, ScriptError, ScriptFiles, Settings, WrkScript, WrkUrl};
use prony_workers::{Recruited, UserState};
use std::path::Path;
use std::time::Duration;

pub(crate) use share::WrkKind;
pub use share::{SharedScript, SharedScriptError, WrkLoad};

pub(crate) static KIND: Kind = Kind {
    name: "a wrk script",
    flags: Flags::Wrk,
    users: UserState::OfWorker,
    needs_url: true,
    is_named,
    open,
};

/// Of `wrk.connect`, where no flag says it: wrk's own.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// What a script is given beside its file and the number of threads.
#[derive(Debug, Clone)]
pub struct WrkGiven {
    pub url: Url,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    pub method: String,
    pub body: Option<String>,
    /// For `init`, without the URL.
    pub arguments: Vec<String>,
    /// Of `wrk.connect`.
    pub connect_timeout: Duration,
    pub on_stuck: OnStuck,
}

impl WrkGiven {
    /// A GET of the URL, as wrk has it without flags.
    pub fn get(url: Url, on_stuck: OnStuck) -> Self {
        Self {
            url,
            headers: Vec::new(),
            method: "GET".to_owned(),
            body: None,
            arguments: Vec::new(),
            connect_timeout: CONNECT_TIMEOUT,
            on_stuck,
        }
    }
}

/// True for the name of a script's file.
pub fn is_named(text: &str) -> bool {
    !Url::is_one(text)
        && Path::new(text).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("lua"))
}

/// Loads the script and calls its `setup` and `init` for each thread.
pub fn prepare(path: &Path, given: &WrkGiven, threads: u32) -> Result<WrkScript, ScriptError> {
    WrkScript::prepare(settings(path, given, threads, ScriptFiles::AsNamed)?, given.on_stuck)
}

fn settings(
    path: &Path,
    given: &WrkGiven,
    threads: u32,
    files: ScriptFiles,
) -> Result<Settings, ScriptError> {
    Ok(Settings {
        path: path.to_owned(),
        source: Settings::read_source(path)?,
        url: parts(&given.url),
        headers: given.headers.clone(),
        method: given.method.clone(),
        body: given.body.clone().map(String::into_bytes),
        arguments: given.arguments.clone(),
        threads,
        connect_timeout: given.connect_timeout,
        limits: Limits::default(),
        files,
    })
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

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Subject, OpenError> {
    settings.refuse_settings(KIND.name)?;
    let script = argument.text.clone();
    let payload = settings.payload.as_ref().map(|payload| payload.text.clone());
    let page = Page { url: argument.url.clone().unwrap_or_default(), payload };
    let plan = Url::parse(&page.url)?.plan(settings.load.clone()).check()?;
    let given = page_given(&page, settings.on_stuck)?;
    // What is wrong with the script is said before anything is measured.
    prepare(Path::new(&script), &given, 1)?;
    Ok(Subject::new(plan, WrkRunner { script, page, given }))
}

/// What a script is given of an address without flags.
fn page_given(page: &Page, on_stuck: OnStuck) -> Result<WrkGiven, UrlError> {
    let mut given = WrkGiven::get(Url::parse(&page.url)?, on_stuck);
    if let Some(payload) = &page.payload {
        let (name, value) = PAYLOAD_TYPE;
        given.headers.push((name.to_owned(), value.to_owned()));
        "POST".clone_into(&mut given.method);
        given.body = Some(payload.clone());
    }
    Ok(given)
}

/// A script that is run again and again: each run has states of its own. `done` is not called, because what it prints
/// is of one run.
#[derive(Debug)]
struct WrkRunner {
    script: String,
    page: Page,
    given: WrkGiven,
}

impl Runner for WrkRunner {
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        let failed = |error: ScriptError| RunError::Program(error.into());
        let path = Path::new(&self.script);
        let Some(workers) = workers else {
            // A thread without a user has no states.
            let threads = (options.threads.get() as u32).clamp(1, plan.users().max(1));
            let script = prepare(path, &self.given, threads).map_err(failed)?;
            let result = run_workload(plan, &script, options)?;
            script.flush().map_err(failed)?;
            return Ok(result);
        };
        let threads = workers.threads(plan)?;
        let load = WrkLoad::Page(self.page.clone());
        let script = SharedScript::prepare(path, &self.given, &load, threads).map_err(failed)?;
        script.run(workers, plan, options).map_err(|error| match error {
            SharedScriptError::Workers(error) => error.into(),
            error => RunError::Program(ProgramError::Script(error.to_string())).into(),
        })
    }
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
