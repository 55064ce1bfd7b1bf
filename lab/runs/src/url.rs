//! URLs as arguments: one request that is sent again and again, as wrk's and wrk2's flags describe it.

use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings, PAYLOAD_TYPE};
use crate::subject::{Runner, Subject, SubjectError};
use prony_load::{RunOptions, Url, literal};
use prony_model::plan::PlanFaults;
use prony_model::plan::wire::{Dns, Protocol};
use prony_model::{
    BodyDraft, ExpectedStatus, LoadModel, Nanos, Pacing, Plan, RateStage, ResultFile, Spacing, WireOptions,
};
use prony_workers::{
    Bundle, LoadKind, PlanShare, Recruited, RequestsAlone, Share, Unpacked, UserState, WorkersError,
};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub(crate) static KIND: Kind = Kind {
    name: "a URL",
    flags: Flags::Wrk,
    users: UserState::OfPlan,
    needs_url: false,
    is_named: Url::is_one,
    open,
};

/// wrk's defaults.
const CONNECTIONS: u32 = 10;
const THREADS: u32 = 2;
const DURATION: Nanos = Nanos::from_secs(10);
/// In which a number of requests has to be done, where no duration is given.
const DURATION_OF_REQUESTS: Nanos = Nanos::from_secs(24 * 3600);
const TIMEOUT: Nanos = Nanos::from_secs(2);
const NANOS_PER_S: f64 = 1e9;
/// Statuses that wrk does not count as errors.
const STATUS_GOOD: std::ops::RangeInclusive<u16> = 200..=399;

/// What a command line says of a URL's load; what it leaves out is as in wrk.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct UrlGiven {
    pub connections: Option<u32>,
    pub duration: Option<Nanos>,
    /// So many requests and no more; the duration, where one is given, may end them earlier.
    pub requests: Option<u64>,
    /// `Name: value`.
    pub headers: Vec<String>,
    pub timeout: Option<Nanos>,
    pub rate_per_s: Option<f64>,
    /// At which the requests of a connection begin, where there is no rate.
    pub pacing: Option<Nanos>,
    pub method: Option<String>,
    /// A text, or `@FILE`.
    pub body: Option<String>,
    pub protocol: Option<Protocol>,
    pub streams: Option<u32>,
    pub dns: Option<Dns>,
    pub is_resuming: bool,
    pub is_insecure: bool,
    pub ca: Option<PathBuf>,
    pub cert: Option<PathBuf>,
    pub key: Option<PathBuf>,
    pub server_name: Option<String>,
}

/// Why a URL cannot be loaded so.
#[derive(Debug, thiserror::Error)]
pub enum UrlGivenError {
    #[error(
        "{connections} connections cannot be shared out over {threads} threads; each thread needs at least one: raise \
         --connections or lower --threads"
    )]
    Threads { connections: u32, threads: u32 },
    #[error("header `{0}` has no colon; write for example `-H 'Accept: text/html'`")]
    Header(String),
    #[error("cannot read the body {path}: {cause}")]
    Body { path: String, cause: io::Error },
    #[error(transparent)]
    Faults(#[from] PlanFaults),
}

impl UrlGiven {
    pub fn connections(&self) -> u32 {
        self.connections.unwrap_or(CONNECTIONS)
    }

    pub fn timeout(&self) -> Nanos {
        self.timeout.unwrap_or(TIMEOUT)
    }

    /// As many as were asked for; each needs a connection.
    pub fn threads(&self, asked: Option<u32>) -> Result<u32, UrlGivenError> {
        let connections = self.connections();
        match asked {
            Some(threads) if threads > connections => Err(UrlGivenError::Threads { connections, threads }),
            Some(threads) => Ok(threads),
            None => Ok(THREADS.min(connections)),
        }
    }

    fn load(&self) -> LoadModel {
        let users = self.connections();
        let duration = match (self.duration, self.requests) {
            (given, None) => given.unwrap_or(DURATION),
            (given, Some(_)) => given.unwrap_or(DURATION_OF_REQUESTS),
        };
        let Some(rate) = self.rate_per_s else {
            return match self.requests {
                None => LoadModel::constant(users, duration),
                Some(requests) => LoadModel::shared_iterations(users, requests, duration),
            };
        };
        // As many starts as fit into that time.
        let of_requests = self.requests.map(|requests| Nanos((requests as f64 * NANOS_PER_S / rate) as u64));
        let duration = of_requests.map_or(duration, |of_requests| duration.min(of_requests));
        let stages = vec![RateStage::new(Nanos::ZERO, rate), RateStage::new(duration, rate)];
        // As in wrk2 a start waits for a connection as long as it takes.
        LoadModel::arrivals(stages, Spacing::Even, users, duration)
    }

    pub fn method(&self) -> &str {
        let default = if self.body.is_some() { "POST" } else { "GET" };
        self.method.as_deref().unwrap_or(default)
    }

    pub fn body(&self) -> Result<Option<String>, UrlGivenError> {
        let Some(body) = &self.body else { return Ok(None) };
        let Some(path) = body.strip_prefix('@') else { return Ok(Some(body.clone())) };
        let unreadable = |cause| UrlGivenError::Body { path: path.to_owned(), cause };
        fs::read_to_string(path).map(Some).map_err(unreadable)
    }

    /// Names and values.
    pub fn headers(&self) -> Result<Vec<(String, String)>, UrlGivenError> {
        let split = |header: &String| {
            let (name, value) =
                header.split_once(':').ok_or_else(|| UrlGivenError::Header(header.clone()))?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        self.headers.iter().map(split).collect()
    }

    fn wire(&self) -> WireOptions {
        let (protocol, dns) = (self.protocol.unwrap_or_default(), self.dns.unwrap_or_default());
        let mut wire = WireOptions { protocol, dns, ..WireOptions::default() };
        wire.tls.resume = self.is_resuming;
        wire.streams = self.streams.unwrap_or(wire.streams);
        wire.tls.insecure = self.is_insecure;
        wire.tls.ca = self.ca.iter().cloned().collect();
        wire.tls.cert.clone_from(&self.cert);
        wire.tls.key.clone_from(&self.key);
        wire.tls.server_name.clone_from(&self.server_name);
        wire
    }

    /// The whole run as a plan of one request.
    pub fn plan(&self, url: &Url) -> Result<Plan, UrlGivenError> {
        self.plan_with(url, self.body()?)
    }

    /// As [`Self::plan`], with a body that was read already.
    fn plan_with(&self, url: &Url, body: Option<String>) -> Result<Plan, UrlGivenError> {
        let mut draft = url.plan(self.load());
        draft.timeout = self.timeout();
        draft.wire = self.wire();
        if let Some(interval_ns) = self.pacing {
            draft.scenarios[0].pacing = Pacing::Fixed { interval_ns };
        }
        let request = &mut draft.requests[0];
        request.name = format!("{} {}", self.method(), url.path);
        self.method().clone_into(&mut request.method);
        request.headers = self.headers()?.into_iter().map(|(name, value)| (name, literal(&value))).collect();
        request.body = body.map_or(BodyDraft::None, |body| BodyDraft::Text(literal(&body)));
        request.expect = ExpectedStatus::OneOf(STATUS_GOOD.collect());
        Ok(draft.check()?)
    }
}

/// What workers are handed of a URL.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UrlHanded {
    url: String,
    /// Certificates by their places beneath the worker's folder.
    pub(crate) given: UrlGiven,
    pub(crate) body: Option<String>,
}

impl UrlHanded {
    /// With the files that it names.
    pub(crate) fn of(url: &Url, given: &UrlGiven) -> Result<(Self, Vec<PathBuf>), UrlBundleError> {
        let (mut handed, mut files) = (given.clone(), Vec::new());
        for path in [&mut handed.ca, &mut handed.cert, &mut handed.key].into_iter().flatten() {
            files.push(path.clone());
            *path = Bundle::place(path)?.into();
        }
        Ok((Self { url: url.text.clone(), given: handed, body: given.body()? }, files))
    }

    pub(crate) fn url(&self) -> Result<Url, String> {
        Url::parse(&self.url).map_err(|error| error.to_string())
    }

    /// The plan, where the files are beneath a folder.
    pub(crate) fn plan(&self, folder: &Path) -> Result<Plan, String> {
        let mut given = self.given.clone();
        for path in [&mut given.ca, &mut given.cert, &mut given.key].into_iter().flatten() {
            *path = folder.join(&*path);
        }
        given.plan_with(&self.url()?, self.body.clone()).map_err(|error| error.to_string())
    }
}

/// A URL for workers: its flags, its body and its certificates.
pub fn url_bundle(url: &Url, given: &UrlGiven) -> Result<Bundle, UrlBundleError> {
    let (handed, files) = UrlHanded::of(url, given)?;
    Ok(Bundle::pack(&URLS, json!(handed), &files)?)
}

/// Why a URL cannot be handed to workers.
#[derive(Debug, thiserror::Error)]
pub enum UrlBundleError {
    #[error(transparent)]
    Given(#[from] UrlGivenError),
    #[error(transparent)]
    Workers(#[from] WorkersError),
}

/// URLs as a kind of load that can be shared out.
#[derive(Debug)]
pub(crate) struct UrlKind;

pub(crate) static URLS: UrlKind = UrlKind;

impl LoadKind for UrlKind {
    fn name(&self) -> &'static str {
        "url"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        let handed = UrlHanded::deserialize(came.settings).map_err(|error| error.to_string())?;
        let plan = handed.plan(came.folder)?;
        Ok(Box::new(PlanShare(came.changed(plan).map_err(|error| error.to_string())?)))
    }
}

/// An address that is loaded without flags, as searches, comparisons and sweeps do. With a message it is a POST, as wrk has it of
/// scripts and as `--body` does.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Page {
    pub(crate) url: String,
    pub(crate) payload: Option<String>,
}

impl Page {
    pub(crate) fn plan(&self, load: LoadModel) -> Result<Plan, OpenError> {
        let mut draft = Url::parse(&self.url)?.plan(load);
        if let Some(payload) = &self.payload {
            let request = &mut draft.requests[0];
            "POST".clone_into(&mut request.method);
            request.name = request.name.replacen("GET", "POST", 1);
            let (name, value) = PAYLOAD_TYPE;
            request.headers.push((name.to_owned(), literal(value)));
            request.body = BodyDraft::Text(literal(payload));
        }
        Ok(draft.check()?)
    }

    /// On a worker: its load is the run's.
    pub(crate) fn share_plan(&self, came: &Unpacked<'_>) -> Result<Plan, String> {
        let plan = self.plan(LoadModel::constant(1, DURATION)).map_err(|error| error.to_string())?;
        came.changed(plan).map_err(|error| error.to_string())
    }
}

/// Pages as a kind of load that can be shared out.
#[derive(Debug)]
pub(crate) struct PageKind;

pub(crate) static PAGES: PageKind = PageKind;

impl LoadKind for PageKind {
    fn name(&self) -> &'static str {
        "page"
    }

    fn open(&self, came: &Unpacked<'_>) -> Result<Box<dyn Share>, String> {
        let page = Page::deserialize(came.settings).map_err(|error| error.to_string())?;
        Ok(Box::new(PlanShare(page.share_plan(came)?)))
    }
}

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Subject, OpenError> {
    settings.refuse_settings(KIND.name)?;
    let payload = settings.payload.as_ref().map(|payload| payload.text.clone());
    let page = Page { url: argument.text.clone(), payload };
    Ok(Subject::new(page.plan(settings.load.clone())?, page))
}

impl Runner for Page {
    fn run(
        &self,
        plan: &Plan,
        options: RunOptions,
        workers: Option<&mut Recruited>,
    ) -> Result<ResultFile, SubjectError> {
        let Some(workers) = workers else { return Ok(prony_load::run(plan, options)?) };
        let bundle = Bundle::pack(&PAGES, json!(self), &[])?;
        Ok(workers.run(plan, &bundle, &RequestsAlone, options)?)
    }
}
