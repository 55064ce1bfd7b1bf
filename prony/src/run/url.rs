//! wrk's and wrk2's flags of a URL; what they mean is `prony_runs::UrlGiven`'s.

use super::quantity;
use prony_model::Nanos;
use prony_model::plan::wire::{Dns, Protocol};
use prony_runs::UrlGiven;
use std::path::PathBuf;

/// Flags that describe the load where there is no plan file; wrk's and wrk2's names.
#[derive(Debug, Clone, Default, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(next_help_heading = "For a URL")]
pub(crate) struct UrlFlags {
    /// Connections to keep open, each with one request at a time [default: 10].
    #[arg(short, long, value_name = "COUNT", value_parser = quantity::count, allow_negative_numbers = true)]
    pub connections: Option<u32>,
    /// How long to send requests [default: 10s].
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Nanos>,
    /// Send so many requests; with a duration at most for so long.
    #[arg(short = 'n', long, value_name = "COUNT", value_parser = quantity::count, allow_negative_numbers = true)]
    pub requests: Option<u32>,
    /// Add a header to each request, as `Name: value`; repeatable.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    pub headers: Vec<String>,
    /// With a rate: print the whole spectrum of percentiles; the usual ones are printed anyway.
    #[arg(short = 'L', long)]
    pub latency: bool,
    /// Give a request up after this time [default: 2s].
    #[arg(short = 'T', long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Nanos>,
    /// Send at this rate, whether or not answers keep up; latencies count from when a request was due.
    #[arg(short = 'R', long, value_name = "PER_SECOND", value_parser = quantity::rate, allow_negative_numbers = true)]
    pub rate: Option<f64>,
    /// With a rate: also print latencies from when requests were sent.
    #[arg(short = 'U', long = "u_latency")]
    pub uncorrected: bool,
    /// Begin the requests of each connection at this interval, or later where one takes longer.
    #[arg(long, value_name = "TIME", value_parser = quantity::time, conflicts_with = "rate")]
    pub pacing: Option<Nanos>,
    /// Method of the request [default: GET, with a body POST].
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Body of the request; `@FILE` reads it from a file.
    #[arg(long, alias = "data", value_name = "TEXT", allow_hyphen_values = true)]
    pub body: Option<String>,
    /// Speak HTTP/2: chosen by ALPN over TLS, from the first byte without.
    #[arg(long)]
    pub http2: bool,
    /// What to speak; auto leaves it to a target with TLS, by ALPN [default: http1].
    #[arg(long, value_name = "http1|http2|auto", value_parser = protocol, conflicts_with = "http2")]
    pub protocol: Option<Protocol>,
    /// With HTTP/2: how many of a thread's users share a connection.
    #[arg(long, value_name = "COUNT", value_parser = quantity::count)]
    pub streams: Option<u32>,
    /// Resolve the target's name before the run, or again while it goes [default: once].
    #[arg(long, value_name = "once|per_connection", value_parser = dns)]
    pub dns: Option<Dns>,
    /// Resume TLS sessions where the target allows it, which is the default.
    #[arg(long, overrides_with = "no_resume")]
    pub resume: bool,
    /// Make a full TLS handshake for each connection.
    #[arg(long, overrides_with = "resume")]
    pub no_resume: bool,
    /// Take any certificate.
    #[arg(long)]
    pub insecure: bool,
    /// Trust these certificates (PEM) instead of the system's.
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Certificate to show to the target (PEM).
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<PathBuf>,
    /// Name to ask for and to check the certificate against, instead of the URL's host.
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
}

impl UrlFlags {
    /// The first flag that was given, for a message.
    pub(crate) fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--connections", self.connections.is_some()),
            ("--duration", self.duration.is_some()),
            ("--requests", self.requests.is_some()),
            ("--header", !self.headers.is_empty()),
            ("--latency", self.latency),
            ("--timeout", self.timeout.is_some()),
            ("--rate", self.rate.is_some()),
            ("--u_latency", self.uncorrected),
            ("--pacing", self.pacing.is_some()),
            ("--method", self.method.is_some()),
            ("--body", self.body.is_some()),
            ("--http2", self.http2),
            ("--protocol", self.protocol.is_some()),
            ("--streams", self.streams.is_some()),
            ("--dns", self.dns.is_some()),
            ("--resume", self.resume),
            ("--no-resume", self.no_resume),
            ("--insecure", self.insecure),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--server-name", self.server_name.is_some()),
        ];
        given.iter().find(|(_, is_given)| *is_given).map(|(name, _)| *name)
    }

    /// As values, without the command line.
    pub(crate) fn given(&self) -> UrlGiven {
        UrlGiven {
            connections: self.connections,
            duration: self.duration,
            requests: self.requests.map(u64::from),
            headers: self.headers.clone(),
            timeout: self.timeout,
            rate_per_s: self.rate,
            pacing: self.pacing,
            method: self.method.clone(),
            body: self.body.clone(),
            protocol: self.protocol.or(self.http2.then_some(Protocol::Http2)),
            streams: self.streams,
            dns: self.dns,
            is_resuming: !self.no_resume,
            is_insecure: self.insecure,
            ca: self.cacert.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
            server_name: self.server_name.clone(),
        }
    }
}

/// As in wrk; to hey, oha and curl `-d` is a body.
fn duration(text: &str) -> Result<Nanos, String> {
    quantity::time(text).map_err(|fault| hinted(text, fault, "a body is given by --body"))
}

/// As in wrk; to hey and ab `-T` is the type of a body.
fn timeout(text: &str) -> Result<Nanos, String> {
    let hint = "the type of a body is given by -H 'Content-Type: TYPE'";
    quantity::time(text).map_err(|fault| hinted(text, fault, hint))
}

/// What begins with a digit is a time with a slip in it, and anything else meant for what others have the flag for.
fn hinted(text: &str, fault: String, hint: &str) -> String {
    let is_slip = text.is_empty() || text.starts_with(|first: char| first.is_ascii_digit());
    if is_slip { fault } else { format!("{fault}; {hint}") }
}

fn protocol(text: &str) -> Result<Protocol, String> {
    match text {
        "http1" => Ok(Protocol::Http1),
        "http2" => Ok(Protocol::Http2),
        "auto" => Ok(Protocol::Auto),
        _ => Err("use http1, http2 or auto".to_owned()),
    }
}

fn dns(text: &str) -> Result<Dns, String> {
    match text {
        "once" => Ok(Dns::Once),
        "per_connection" => Ok(Dns::PerConnection),
        _ => Err("use once or per_connection".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use expect_test::{Expect, expect};
    use prony_load::Url;
    use prony_model::Pacing;

    #[derive(Debug, Parser)]
    struct Line {
        url: String,
        #[command(flatten)]
        flags: UrlFlags,
    }

    /// The load, the request and the wire that a command line makes, or what is wrong with it.
    fn check(line: &str, expected: &Expect) {
        let shown = match Line::try_parse_from(["prony"].into_iter().chain(line.split(' '))) {
            Err(error) => error.to_string().lines().next().unwrap_or_default().to_owned(),
            Ok(line) => match Url::parse(&line.url)
                .map_err(|error| error.to_string())
                .and_then(|url| line.flags.given().plan(&url).map_err(|error| error.to_string()))
            {
                Err(error) => error,
                Ok(plan) => {
                    let (request, scenario) = (&plan.requests()[0], &plan.scenarios()[0]);
                    let headers: Vec<_> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
                    format!(
                        "{} | {} | body {} | {headers:?} | timeout {}\n{:?}\n{:?} streams {}, dns {:?}, resume {}",
                        plan.target().unwrap(),
                        request.name,
                        request.body.is_some(),
                        plan.timeout(),
                        scenario.load,
                        plan.wire().protocol,
                        plan.wire().streams,
                        plan.wire().dns,
                        plan.wire().tls.resume,
                    )
                }
            },
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn wrks_flags_make_a_plan() {
        check(
            "http://a/",
            &expect![[r#"
                http://a | GET / | body false | [] | timeout 2.00 s
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(10000000000), users: 10 }] }, budget: Unlimited, arrivals: None }
                Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "http://a/x?y -c1k -d 2m -T 500ms -H A:b -H C:d",
            &expect![[r#"
                http://a | GET /x?y | body false | ["A", "C"] | timeout 500 ms
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 1000 }, Stage { duration_ns: Nanos(120000000000), users: 1000 }] }, budget: Unlimited, arrivals: None }
                Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "http://a/ -R2k -c 100 --body a=1",
            &expect![[r#"
                http://a | POST / | body true | [] | timeout 2.00 s
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 100 }, Stage { duration_ns: Nanos(10000000000), users: 100 }] }, budget: Unlimited, arrivals: Some(ArrivalSchedule { stages: [RateStage { duration_ns: Nanos(0), rate_per_s: 2000.0 }, RateStage { duration_ns: Nanos(10000000000), rate_per_s: 2000.0 }], spacing: Even, wait_max: Nanos(10000000000), stripe: None }) }
                Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "http://a/ -n 3k -c7",
            &expect![[r#"
            http://a | GET / | body false | [] | timeout 2.00 s
            LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 7 }, Stage { duration_ns: Nanos(86400000000000), users: 7 }] }, budget: Shared(3000), arrivals: None }
            Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "http://a/ -n 1k -R 400",
            &expect![[r#"
            http://a | GET / | body false | [] | timeout 2.00 s
            LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(2500000000), users: 10 }] }, budget: Unlimited, arrivals: Some(ArrivalSchedule { stages: [RateStage { duration_ns: Nanos(0), rate_per_s: 400.0 }, RateStage { duration_ns: Nanos(2500000000), rate_per_s: 400.0 }], spacing: Even, wait_max: Nanos(2500000000), stripe: None }) }
            Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "http://a/ -n 1k -R 400 -d1s",
            &expect![[r#"
            http://a | GET / | body false | [] | timeout 2.00 s
            LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(1000000000), users: 10 }] }, budget: Unlimited, arrivals: Some(ArrivalSchedule { stages: [RateStage { duration_ns: Nanos(0), rate_per_s: 400.0 }, RateStage { duration_ns: Nanos(1000000000), rate_per_s: 400.0 }], spacing: Even, wait_max: Nanos(1000000000), stripe: None }) }
            Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "https://a/ --http2 --streams 8 --method PUT --data @/nowhere",
            &expect!["cannot read the body /nowhere: No such file or directory (os error 2)"],
        );
        check(
            "https://a/ --http2 --streams 8 --insecure",
            &expect![[r#"
                https://a | GET / | body false | [] | timeout 2.00 s
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(10000000000), users: 10 }] }, budget: Unlimited, arrivals: None }
                Http2 streams 8, dns Once, resume true"#]],
        );
    }

    /// What a rate makes due is due whenever the users' last requests began.
    #[test]
    fn requests_of_a_connection_begin_at_an_interval() {
        let line = Line::parse_from(["prony", "http://a/", "-c4", "--pacing", "250ms"]);
        let plan = line.flags.given().plan(&Url::parse(&line.url).unwrap()).unwrap();
        assert_eq!(plan.scenarios()[0].pacing, Pacing::Fixed { interval_ns: Nanos::from_millis(250) });
        assert_eq!((plan.rate_cap(), line.flags.first_given()), (Some(16.0), Some("--connections")));
        let line = Line::parse_from(["prony", "http://a/", "--pacing", "1"]);
        assert_eq!(line.flags.pacing, Some(Nanos::from_secs(1)));
        assert_eq!(line.flags.first_given(), Some("--pacing"));
        check(
            "http://a/ --pacing 1s -R 5",
            &expect!["error: the argument '--pacing <TIME>' cannot be used with '--rate <PER_SECOND>'"],
        );
        check(
            "http://a/ --pacing 0",
            &expect![
                "error: invalid value '0' for '--pacing <TIME>': `0` is no time at all; write for example `30s`"
            ],
        );
    }

    #[test]
    fn the_wire_has_flags() {
        check(
            "https://a/ --protocol auto --dns per_connection --no-resume --streams 4",
            &expect![[r#"
                https://a | GET / | body false | [] | timeout 2.00 s
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(10000000000), users: 10 }] }, budget: Unlimited, arrivals: None }
                Auto streams 4, dns PerConnection, resume false"#]],
        );
        check(
            "https://a/ --no-resume --resume --body ${x}",
            &expect![[r#"
                https://a | POST / | body true | [] | timeout 2.00 s
                LoadModel { users: UserSchedule { stages: [Stage { duration_ns: Nanos(0), users: 10 }, Stage { duration_ns: Nanos(10000000000), users: 10 }] }, budget: Unlimited, arrivals: None }
                Http1 streams 1, dns Once, resume true"#]],
        );
        check(
            "https://a/ --protocol spdy",
            &expect![
                "error: invalid value 'spdy' for '--protocol <http1|http2|auto>': use http1, http2 or auto"
            ],
        );
        check(
            "https://a/ --protocol auto --http2",
            &expect!["error: the argument '--protocol <http1|http2|auto>' cannot be used with '--http2'"],
        );
        check(
            "http://a/ --dns never",
            &expect![
                "error: invalid value 'never' for '--dns <once|per_connection>': use once or per_connection"
            ],
        );
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        check(
            "http://a/ -c 0",
            &expect![
                "error: invalid value '0' for '--connections <COUNT>': `0` is not a whole number from 1 to 4294967295"
            ],
        );
        check(
            "http://a/ -d 1x",
            &expect![
                "error: invalid value '1x' for '--duration <TIME>': `1x` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`"
            ],
        );
        // To others these flags are a body and its type.
        check(
            "http://a/ -d {\"a\":1}",
            &expect![[
                r#"error: invalid value '{"a":1}' for '--duration <TIME>': `{"a":1}` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`; a body is given by --body"#
            ]],
        );
        check(
            "http://a/ -T application/json",
            &expect![
                "error: invalid value 'application/json' for '--timeout <TIME>': `application/json` is not a duration; write for example `500ms`, `30s`, `1m30s` or `2h`; the type of a body is given by -H 'Content-Type: TYPE'"
            ],
        );
        check(
            "http://a/ -R -5",
            &expect![
                "error: invalid value '-5' for '--rate <PER_SECOND>': `-5` is not a rate; write requests a second, for example `500` or `2k`"
            ],
        );
        check(
            "http://a/ -H nonsense",
            &expect!["header `nonsense` has no colon; write for example `-H 'Accept: text/html'`"],
        );
        check(
            "http://a/ --streams 2",
            &expect![[r#"2 streams need HTTP/2; set `protocol = "http2"` (--http2), or use `pipeline`"#]],
        );
        check("http://a/ --insecure", &expect!["no target is encrypted; write `https://` for at least one"]);
        check(
            "http://a/ --cert c.pem",
            &expect!["error: the following required arguments were not provided:"],
        );
    }

    #[test]
    fn each_thread_has_a_connection() {
        let threads = |line: &str, asked| {
            let flags = Line::parse_from(["prony", "http://a", line]).flags;
            flags.given().threads(asked).map_err(|error| error.to_string())
        };
        assert_eq!((threads("-c1", None), threads("-c10", Some(10))), (Ok(1), Ok(10)));
        let error = threads("-c10", Some(11)).unwrap_err();
        assert!(error.starts_with("10 connections cannot be shared out over 11 threads"), "{error}");
    }
}
