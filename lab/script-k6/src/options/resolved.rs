//! Options as the run reads them: every one with its default, in types.

use super::json;
use super::notes::Notes;
use super::scenario::Scenario;
use super::segment::Segment;
use super::tier::Tier;
use super::value::Value;
use crate::metrics::summary::TimeUnit;
use prony_model::Nanos;
use prony_model::plan::wire::TlsVersion;
use serde_json::Value as Json;
use std::collections::BTreeMap;

const PHASE_TIMEOUT: Nanos = Nanos::from_secs(60);
const MAX_REDIRECTS: u32 = 10;
const BATCH: u32 = 20;
const BATCH_PER_HOST: u32 = 6;
const TREND_STATS: [&str; 6] = ["avg", "min", "med", "max", "p(90)", "p(95)"];
/// Those that samples carry by default, as `test.options` lists them.
const SYSTEM_TAGS: [&str; 14] = [
    "check",
    "error",
    "error_code",
    "expected_response",
    "group",
    "method",
    "name",
    "proto",
    "scenario",
    "service",
    "status",
    "subproto",
    "tls_version",
    "url",
];
/// As options name them.
const TLS_VERSIONS: [&str; 5] = ["ssl3.0", "tls1.0", "tls1.1", "tls1.2", "tls1.3"];
/// Their places among [`TLS_VERSIONS`].
const TLS_1_2: usize = 3;
const TLS_1_3: usize = 4;
const TLS_1_3_SUITES: [&str; 3] =
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
const USER_AGENT: &str = concat!("Prony/", env!("CARGO_PKG_VERSION"), " (k6 script)");

/// Checked options of a run.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of k6's")]
pub struct Options {
    /// By start, then by name; never empty. Where a segment of the test is run, that of each.
    pub scenarios: Vec<Scenario>,
    /// How much of the test is run, up to 1.
    pub segment_length: f64,
    /// A table of metrics with the list of their thresholds; read by the metrics.
    pub thresholds: serde_json::Map<String, Json>,
    /// Requests a second over all users, at most.
    pub rps: Option<u32>,
    pub no_setup: bool,
    pub paused: bool,
    pub setup_timeout: Nanos,
    pub no_teardown: bool,
    pub teardown_timeout: Nanos,
    pub no_connection_reuse: bool,
    pub no_vu_connection_reuse: bool,
    pub min_iteration_duration: Nanos,
    pub discard_response_bodies: bool,
    pub summary_trend_stats: Vec<String>,
    /// The unit that suits each time, where none is given.
    pub summary_time_unit: Option<TimeUnit>,
    pub insecure_skip_tls_verify: bool,
    /// Host, with or without a port, to address, with or without a port.
    pub hosts: BTreeMap<String, String>,
    pub user_agent: String,
    pub max_redirects: u32,
    pub batch: u32,
    pub batch_per_host: u32,
    pub http_debug: HttpDebug,
    pub tags: BTreeMap<String, String>,
    pub system_tags: Vec<String>,
    pub throw: bool,
    pub no_cookies_reset: bool,
    pub dns: Dns,
    pub tls_auth: Vec<TlsAuth>,
    /// Networks that are not connected to.
    pub blacklist_ips: Vec<String>,
    /// Hosts that are not connected to, with an asterisk at the beginning or without.
    pub block_hostnames: Vec<String>,
    /// Where connections come from, as `Sources` reads it.
    pub local_ips: Option<String>,
    pub tls_version: Option<TlsVersion>,
    pub tls_cipher_suites: Vec<String>,
    /// As scripts see them in `exec.test.options`: options that nobody gave are null.
    pub json: Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpDebug {
    Off,
    Headers,
    Full,
}

/// As written; read where names are looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dns {
    pub ttl: String,
    pub select: String,
    pub policy: String,
}

/// A certificate to show to targets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsAuth {
    /// PEM.
    pub cert: String,
    pub key: String,
    pub password: Option<String>,
    /// Host names that it is for; all where empty.
    pub domains: Vec<String>,
}

impl Options {
    pub(super) fn new(tier: &Tier, scenarios: Vec<Scenario>, notes: &mut Notes) -> Self {
        let reader = &mut OptionReader { tier, notes };
        let (scenarios, segment_length) = reader.segment(scenarios);
        Self {
            scenarios,
            segment_length,
            thresholds: reader.table("thresholds"),
            rps: reader.count("rps", 0, 0).filter(|rps| *rps > 0),
            no_setup: reader.flag("noSetup"),
            paused: reader.flag("paused"),
            setup_timeout: reader.timeout("setupTimeout"),
            no_teardown: reader.flag("noTeardown"),
            teardown_timeout: reader.timeout("teardownTimeout"),
            no_connection_reuse: reader.flag("noConnectionReuse"),
            no_vu_connection_reuse: reader.flag("noVUConnectionReuse"),
            min_iteration_duration: reader.span("minIterationDuration", Nanos::ZERO),
            discard_response_bodies: reader.flag("discardResponseBodies"),
            summary_trend_stats: reader.trend_stats(),
            summary_time_unit: reader.time_unit(),
            insecure_skip_tls_verify: reader.flag("insecureSkipTLSVerify"),
            hosts: reader.text_map("hosts"),
            blacklist_ips: reader.texts("blacklistIPs", &[]),
            block_hostnames: reader.texts("blockHostnames", &[]),
            local_ips: reader.text("localIPs").map(str::to_owned),
            user_agent: reader.text("userAgent").unwrap_or(USER_AGENT).to_owned(),
            max_redirects: reader.count("maxRedirects", 0, MAX_REDIRECTS).unwrap_or(MAX_REDIRECTS),
            batch: reader.count("batch", 1, BATCH).unwrap_or(BATCH),
            batch_per_host: reader.count("batchPerHost", 0, BATCH_PER_HOST).unwrap_or(BATCH_PER_HOST),
            http_debug: reader.http_debug(),
            tags: reader.text_map("tags"),
            system_tags: reader.texts("systemTags", &SYSTEM_TAGS),
            throw: reader.flag("throw"),
            no_cookies_reset: reader.flag("noCookiesReset"),
            dns: reader.dns(),
            tls_auth: reader.tls_auth(),
            tls_version: reader.tls_version(),
            tls_cipher_suites: reader.tls_cipher_suites(),
            json: json::options(tier, &TREND_STATS, &SYSTEM_TAGS),
        }
    }
}

/// Takes values out of a tier by name; forms were checked when it was read.
struct OptionReader<'a> {
    tier: &'a Tier,
    notes: &'a mut Notes,
}

impl<'a> OptionReader<'a> {
    fn flag(&self, name: &str) -> bool {
        matches!(self.tier.values.get(name), Some(Value::Boolean(true)))
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        let Some(Value::Text(text)) = self.tier.values.get(name) else { return None };
        Some(text)
    }

    fn count(&mut self, name: &str, min: u32, default: u32) -> Option<u32> {
        let Some(Value::Integer(number)) = self.tier.values.get(name) else { return Some(default) };
        let count = u32::try_from(*number).ok().filter(|count| *count >= min);
        if count.is_none() {
            self.notes.fault(format!("`{name}` must be at least {min} and below 2^32, and is {number}"));
        }
        count
    }

    fn span(&mut self, name: &str, default: Nanos) -> Nanos {
        let Some(Value::Duration(span)) = self.tier.values.get(name) else { return default };
        span.nanos().unwrap_or_else(|| {
            self.notes.fault(format!("`{name}` cannot be negative, and is {span}"));
            default
        })
    }

    fn timeout(&mut self, name: &str) -> Nanos {
        let timeout = self.span(name, PHASE_TIMEOUT);
        if timeout == Nanos::ZERO {
            self.notes.fault(format!("`{name}` must be above 0"));
        }
        timeout
    }

    fn texts(&self, name: &str, default: &[&str]) -> Vec<String> {
        match self.tier.values.get(name) {
            Some(Value::TextList(texts)) => texts.clone(),
            _ => default.iter().map(ToString::to_string).collect(),
        }
    }

    fn text_map(&self, name: &str) -> BTreeMap<String, String> {
        match self.tier.values.get(name) {
            Some(Value::TextMap(map)) => map.clone(),
            _ => BTreeMap::new(),
        }
    }

    fn table(&self, name: &str) -> serde_json::Map<String, Json> {
        match self.tier.values.get(name) {
            Some(Value::Json(Json::Object(table))) => table.clone(),
            _ => serde_json::Map::new(),
        }
    }

    /// What the execution segment has of each scenario, and how much of the test it is.
    fn segment(&mut self, scenarios: Vec<Scenario>) -> (Vec<Scenario>, f64) {
        let (own, all) = (self.text("executionSegment"), self.text("executionSegmentSequence"));
        match Segment::parse(own.unwrap_or_default(), all.unwrap_or_default()) {
            Ok(None) => (scenarios, 1.0),
            Ok(Some(segment)) => {
                let had_any = !scenarios.is_empty();
                let shares: Vec<_> =
                    scenarios.into_iter().filter_map(|scenario| scenario.share(&segment)).collect();
                if had_any && shares.is_empty() {
                    self.notes
                        .fault("the execution segment is too small: no scenario has anything to do in it");
                }
                (shares, segment.length())
            }
            Err(fault) => {
                self.notes.fault(fault);
                (scenarios, 1.0)
            }
        }
    }

    fn trend_stats(&mut self) -> Vec<String> {
        let stats = self.texts("summaryTrendStats", &TREND_STATS);
        for stat in stats.iter().filter(|stat| !is_trend_stat(stat)) {
            self.notes.fault(format!(
                "`summaryTrendStats` has `{stat}`; statistics are avg, min, med, max, count and p(N) with N from 0 to 100"
            ));
        }
        stats
    }

    fn time_unit(&mut self) -> Option<TimeUnit> {
        let name = self.text("summaryTimeUnit")?;
        let unit = TimeUnit::from_name(name);
        if unit.is_none() {
            self.notes.fault(format!("`summaryTimeUnit` must be s, ms or us, and is `{name}`"));
        }
        unit
    }

    fn http_debug(&self) -> HttpDebug {
        match self.text("httpDebug") {
            None => HttpDebug::Off,
            Some("full") => HttpDebug::Full,
            Some(_) => HttpDebug::Headers,
        }
    }

    fn dns(&mut self) -> Dns {
        let table = self.table("dns");
        let mut take = |key: &str, default: &str, known: &[&str]| {
            let text = match table.get(key) {
                None | Some(Json::Null) => default.to_owned(),
                Some(Json::String(text)) => text.clone(),
                Some(other) => other.to_string(),
            };
            if !known.is_empty() && !known.iter().any(|word| word.eq_ignore_ascii_case(&text)) {
                let known = known.join(", ");
                self.notes.fault(format!("`dns.{key}` must be one of {known}, and is `{text}`"));
            }
            text
        };
        Dns {
            ttl: take("ttl", "5m", &[]),
            select: take("select", "random", &["first", "random", "roundRobin"]),
            policy: take(
                "policy",
                "preferIPv4",
                &["preferIPv4", "preferIPv6", "onlyIPv4", "onlyIPv6", "any"],
            ),
        }
    }

    /// The only version that may be spoken; none where all that there are may be.
    fn tls_version(&mut self) -> Option<TlsVersion> {
        let Some(Value::Json(json)) = self.tier.values.get("tlsVersion") else { return None };
        let bound = |key: &str, default: usize| match json {
            Json::Object(range) => match range.get(key) {
                None | Some(Json::Null) => Some(default),
                Some(name) => name.as_str().and_then(tls_number),
            },
            name => name.as_str().and_then(tls_number),
        };
        let (Some(min), Some(max)) = (bound("min", TLS_1_2), bound("max", TLS_1_3)) else {
            let names = TLS_VERSIONS.join(", ");
            self.notes.fault(format!("`tlsVersion` must be one of {names}, or a table with `min` and `max`"));
            return None;
        };
        let allowed = (min..=max).filter(|version| [TLS_1_2, TLS_1_3].contains(version)).collect::<Vec<_>>();
        match allowed[..] {
            [TLS_1_2] => Some(TlsVersion::Tls12),
            [TLS_1_3] => Some(TlsVersion::Tls13),
            [] => {
                self.notes.fault("`tlsVersion` allows neither tls1.2 nor tls1.3, and no other is spoken");
                None
            }
            _ => None,
        }
    }

    /// Those of TLS 1.3 can be chosen neither here nor in k6.
    fn tls_cipher_suites(&self) -> Vec<String> {
        let mut suites = self.texts("tlsCipherSuites", &[]);
        suites.retain(|suite| !TLS_1_3_SUITES.contains(&suite.as_str()));
        suites
    }

    fn tls_auth(&mut self) -> Vec<TlsAuth> {
        let Some(Value::Json(Json::Array(entries))) = self.tier.values.get("tlsAuth") else {
            return Vec::new();
        };
        let read = |entry: &Json| {
            let text = |key: &str| entry.get(key).and_then(Json::as_str).map(str::to_owned);
            let domains = entry.get("domains").and_then(Json::as_array).into_iter().flatten();
            Some(TlsAuth {
                cert: text("cert")?,
                key: text("key")?,
                password: text("password"),
                domains: domains.filter_map(Json::as_str).map(str::to_owned).collect(),
            })
        };
        let mut all = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            match read(entry) {
                Some(auth) => all.push(auth),
                None => self.notes.fault(format!(
                    "`tlsAuth` entry {} must be a table with `cert` and `key` in PEM",
                    index + 1
                )),
            }
        }
        all
    }
}

fn tls_number(name: &str) -> Option<usize> {
    TLS_VERSIONS.iter().position(|version| *version == name)
}

fn is_trend_stat(stat: &str) -> bool {
    let percentile = || {
        let number = stat.strip_prefix("p(")?.strip_suffix(')')?.parse::<f64>().ok()?;
        Some((0.0..=100.0).contains(&number))
    };
    matches!(stat, "avg" | "min" | "med" | "max" | "count") || percentile() == Some(true)
}
