//! Every option that k6 knows: its name in scripts, its variable, its flag and its form. Reading of all three, the
//! command line's help and the check of names follow from this one list.

use super::notes::nearest;

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// A whole number, also as text.
    Integer,
    /// Text such as `1m30s`, or a number of milliseconds.
    Duration,
    Boolean,
    Text,
    TextList,
    /// A table of texts; `name:value,…` in variables, `name=value` in flags.
    TextMap,
    /// A list of `{duration, target}`; `duration:target,…` as text.
    Stages,
    Scenarios,
    /// A table of what has a form of its own, and is read by whom it concerns.
    Table,
    /// A list of such.
    List,
    /// `{ttl, select, policy}`; `ttl=…,select=…` as text.
    Dns,
    /// Text such as `tls1.2`, or `{min, max}`.
    TlsVersion,
}

/// What becomes of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    Used,
    /// Of no meaning here; nothing is lost without it.
    Ignored,
    /// What it asks for is not done, and that is said.
    Missing,
}

#[derive(Debug)]
pub struct Flag {
    pub long: &'static str,
    pub short: Option<char>,
    /// Empty for switches.
    pub value_name: &'static str,
    pub help: &'static str,
    pub is_repeatable: bool,
    /// What a value may be that may be left out: the first of them is what the flag says alone. Else none.
    pub words: &'static [&'static str],
}

#[derive(Debug)]
pub struct Row {
    pub name: &'static str,
    pub variable: Option<&'static str>,
    pub flag: Option<Flag>,
    pub form: Form,
    pub support: Support,
}

const fn row(name: &'static str, variable: &'static str, form: Form) -> Row {
    Row { name, variable: Some(variable), flag: None, form, support: Support::Used }
}

impl Row {
    const fn flag(self, long: &'static str, value_name: &'static str, help: &'static str) -> Self {
        Self {
            flag: Some(Flag { long, short: None, value_name, help, is_repeatable: false, words: &[] }),
            ..self
        }
    }

    const fn short(mut self, short: char) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.short = Some(short);
        }
        self
    }

    const fn repeatable(mut self) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.is_repeatable = true;
        }
        self
    }

    const fn words(mut self, words: &'static [&'static str]) -> Self {
        if let Some(flag) = &mut self.flag {
            flag.words = words;
        }
        self
    }

    const fn support(self, support: Support) -> Self {
        Self { support, ..self }
    }

    const fn without_variable(self) -> Self {
        Self { variable: None, ..self }
    }
}

/// The options of which a higher tier that sets any replaces all of the lower.
pub(crate) const EXECUTION: [&str; 4] = ["duration", "iterations", "stages", "scenarios"];

pub const OPTIONS: &[Row] = &[
    row("vus", "K6_VUS", Form::Integer).flag("vus", "COUNT", "Users").short('u'),
    row("duration", "K6_DURATION", Form::Duration)
        .flag("duration", "TIME", "How long the test lasts")
        .short('d'),
    row("iterations", "K6_ITERATIONS", Form::Integer)
        .flag("iterations", "COUNT", "Iterations, shared among all users")
        .short('i'),
    row("stages", "K6_STAGES", Form::Stages)
        .flag("stage", "TIME:USERS", "Add a stage in which the number of users moves to a target; repeatable")
        .short('s')
        .repeatable(),
    row("scenarios", "", Form::Scenarios).without_variable(),
    row("thresholds", "", Form::Table).without_variable(),
    row("rps", "K6_RPS", Form::Integer).flag(
        "rps",
        "RATE",
        "Requests a second, at most, of all users together",
    ),
    row("noSetup", "K6_NO_SETUP", Form::Boolean).flag("no-setup", "", "Do not run `setup()`"),
    row("setupTimeout", "K6_SETUP_TIMEOUT", Form::Duration),
    row("noTeardown", "K6_NO_TEARDOWN", Form::Boolean).flag("no-teardown", "", "Do not run `teardown()`"),
    row("teardownTimeout", "K6_TEARDOWN_TIMEOUT", Form::Duration),
    row("noConnectionReuse", "K6_NO_CONNECTION_REUSE", Form::Boolean).flag(
        "no-connection-reuse",
        "",
        "A new connection for each request",
    ),
    row("noVUConnectionReuse", "K6_NO_VU_CONNECTION_REUSE", Form::Boolean).flag(
        "no-vu-connection-reuse",
        "",
        "New connections for each iteration",
    ),
    row("minIterationDuration", "K6_MIN_ITERATION_DURATION", Form::Duration).flag(
        "min-iteration-duration",
        "TIME",
        "The shortest time an iteration takes; a user waits for the rest",
    ),
    row("discardResponseBodies", "K6_DISCARD_RESPONSE_BODIES", Form::Boolean).flag(
        "discard-response-bodies",
        "",
        "Read bodies of answers without keeping them",
    ),
    row("summaryTrendStats", "K6_SUMMARY_TREND_STATS", Form::TextList).flag(
        "summary-trend-stats",
        "LIST",
        "Statistics of times in the summary, such as 'avg,p(95),count'",
    ),
    row("summaryTimeUnit", "K6_SUMMARY_TIME_UNIT", Form::Text).flag(
        "summary-time-unit",
        "UNIT",
        "Unit of times in the summary: s, ms or us",
    ),
    row("insecureSkipTLSVerify", "K6_INSECURE_SKIP_TLS_VERIFY", Form::Boolean).flag(
        "insecure-skip-tls-verify",
        "",
        "Take any certificate",
    ),
    row("hosts", "K6_HOSTS", Form::TextMap),
    row("userAgent", "K6_USER_AGENT", Form::Text).flag("user-agent", "TEXT", "The User-Agent of requests"),
    row("maxRedirects", "K6_MAX_REDIRECTS", Form::Integer).flag(
        "max-redirects",
        "COUNT",
        "Redirects that are followed, at most",
    ),
    row("batch", "K6_BATCH", Form::Integer).flag(
        "batch",
        "COUNT",
        "Requests of a batch at one time, at most",
    ),
    row("batchPerHost", "K6_BATCH_PER_HOST", Form::Integer).flag(
        "batch-per-host",
        "COUNT",
        "Of these to one host, at most",
    ),
    row("httpDebug", "K6_HTTP_DEBUG", Form::Text)
        .flag("http-debug", "WHAT", "Log requests and answers; with `full` their bodies too")
        .words(&["headers", "full"]),
    row("tags", "K6_TAGS", Form::TextMap)
        .flag("tag", "NAME=VALUE", "Add a tag to all samples; repeatable")
        .repeatable(),
    row("systemTags", "K6_SYSTEM_TAGS", Form::TextList).flag(
        "system-tags",
        "LIST",
        "The tags that samples carry by themselves",
    ),
    row("throw", "K6_THROW", Form::Boolean)
        .flag("throw", "", "Raise an exception where a request fails")
        .short('w'),
    row("noCookiesReset", "K6_NO_COOKIES_RESET", Form::Boolean),
    row("dns", "K6_DNS", Form::Dns).flag(
        "dns",
        "SETTINGS",
        "How names are looked up: ttl=…,select=…,policy=…",
    ),
    row("tlsAuth", "", Form::List).without_variable(),
    row("tlsVersion", "", Form::TlsVersion).without_variable(),
    row("tlsCipherSuites", "", Form::TextList).without_variable(),
    row("blacklistIPs", "K6_BLACKLIST_IPS", Form::TextList)
        .flag(
            "blacklist-ip",
            "NETWORK",
            "Do not connect to addresses of this network, such as 10.0.0.0/8; repeatable",
        )
        .repeatable(),
    row("blockHostnames", "K6_BLOCK_HOSTNAMES", Form::TextList)
        .flag(
            "block-hostnames",
            "PATTERN",
            "Do not connect to this host, or to all of `*.DOMAIN`; repeatable",
        )
        .repeatable(),
    row("localIPs", "K6_LOCAL_IPS", Form::Text).flag(
        "local-ips",
        "LIST",
        "Addresses of this machine that users take turns at: addresses, ranges A-B, networks",
    ),
    row("executionSegment", "", Form::Text).without_variable().flag(
        "execution-segment",
        "FROM:TO",
        "Run this part of the test, such as 1/4:1/2 or 25%:50%",
    ),
    row("executionSegmentSequence", "", Form::Text).without_variable().flag(
        "execution-segment-sequence",
        "BOUNDS",
        "The bounds of the parts of all instances, such as 0,1/4,1/2,1",
    ),
    row("paused", "K6_PAUSED", Form::Boolean)
        .flag("paused", "", "Begin once it is resumed by the REST API, which needs --address")
        .short('p'),
    row("metricSamplesBufferSize", "K6_METRIC_SAMPLES_BUFFER_SIZE", Form::Integer).support(Support::Ignored),
    row("cloud", "", Form::Table).without_variable().support(Support::Ignored),
    row("ext", "", Form::Table).without_variable().support(Support::Ignored),
];

/// What `config.json` holds beside options, for other parts of k6.
pub(super) const CONFIGURATION_ONLY: [&str; 6] =
    ["collectors", "out", "linger", "noUsageReport", "webDashboard", "noArchiveUpload"];

/// Names are matched as k6 does: as written, or but for upper and lower case.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    let exact = OPTIONS.iter().find(|row| row.name == name);
    exact.or_else(|| OPTIONS.iter().find(|row| row.name.eq_ignore_ascii_case(name)))
}

pub(super) fn suggestion(name: &str) -> String {
    let used = OPTIONS.iter().filter(|row| row.support == Support::Used);
    nearest(name, used.map(|row| row.name))
}
