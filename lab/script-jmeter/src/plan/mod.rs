//! A plan that was compiled: groups of users, each a tree of controllers with samplers, scopes resolved.
//!
//! A sampler has all that is in force for it in the order in which it is applied, so that running it looks nothing up.

mod dummy;
mod on_error;
mod sample_scope;
mod timer;
pub(crate) mod websocket;
pub(crate) mod xpath;

pub(crate) use dummy::DummySampler;
pub(crate) use on_error::OnError;
pub(crate) use sample_scope::SampleScope;
pub(crate) use timer::{ThroughputMode, Timer};

use crate::text::Text;
use fancy_regex::Regex;
use std::sync::Arc;

/// One group of users.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) name: Arc<str>,
    pub(crate) kind: GroupKind,
    pub(crate) on_error: OnError,
    /// False where each pass of the loop is a new user: cookies, cached responses and connections are gone.
    pub(crate) is_same_user: bool,
    pub(crate) load: GroupLoad,
    /// The first is the group itself.
    pub(crate) controllers: Vec<Controller>,
    pub(crate) samplers: Vec<Sampler>,
    pub(crate) cookies: Vec<CookieManager>,
    pub(crate) caches: Vec<CacheManager>,
    pub(crate) iteration_configs: Vec<IterationConfig>,
    pub(crate) listeners: Vec<Listener>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupKind {
    Setup,
    Main,
    Teardown,
}

/// How many users a group has, and when.
#[derive(Debug)]
pub(crate) enum GroupLoad {
    Threads {
        threads: Text,
        ramp_s: Text,
        /// None: for ever.
        loops: Option<Text>,
        /// Seconds; none where the group has no end of its own.
        duration_s: Option<Text>,
        delay_s: Option<Text>,
    },
    /// Rows of start: threads, delay, ramp, hold, ramp-down, all in seconds.
    Ultimate(Vec<[Text; 5]>),
    Stepping(Box<Stepping>),
    Concurrency(Box<Concurrency>),
    /// Starts at a rate, as an `OpenModelThreadGroup` writes its schedule.
    Open {
        schedule: Text,
    },
}

/// jp@gc Stepping Thread Group; all in users and seconds.
#[derive(Debug)]
pub(crate) struct Stepping {
    pub(crate) threads: Text,
    pub(crate) delay: Text,
    pub(crate) first: Text,
    pub(crate) step: Text,
    pub(crate) every: Text,
    pub(crate) ramp: Text,
    pub(crate) hold: Text,
    pub(crate) stop_count: Text,
    pub(crate) stop_every: Text,
}

/// bzm Concurrency Thread Group.
#[derive(Debug)]
pub(crate) struct Concurrency {
    pub(crate) target: Text,
    pub(crate) ramp: Text,
    pub(crate) steps: Text,
    pub(crate) hold: Text,
    /// True: minutes, false: seconds.
    pub(crate) in_minutes: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Child {
    Controller(usize),
    Sampler(usize),
}

#[derive(Debug)]
pub(crate) struct Controller {
    pub(crate) name: Text,
    pub(crate) kind: ControllerKind,
    pub(crate) children: Vec<Child>,
    /// Indices into the group's iteration configs: they go on with each pass of this controller.
    pub(crate) iteration_configs: Vec<usize>,
    /// Those that hear of a transaction.
    pub(crate) listeners: Arc<[usize]>,
    /// Those that judge a transaction that is the parent of its samples, the innermost first.
    pub(crate) assertions: Arc<[Arc<Assertion>]>,
}

#[derive(Debug)]
pub(crate) enum ControllerKind {
    /// The group's loop, whose passes are counted by the load model.
    Root,
    Simple,
    Loop {
        count: Option<Text>,
        /// Its passes are made in the first pass of what it is in, and never again.
        is_only_once: bool,
    },
    If {
        condition: Condition,
        for_all_children: bool,
    },
    While {
        condition: Text,
    },
    ForEach {
        input: Text,
        output: Text,
        from: Text,
        /// None: as far as there are variables.
        to: Option<Text>,
        has_separator: bool,
    },
    OnceOnly,
    /// One child at each pass, in turns; across threads each user begins with a child of its own.
    Interleave {
        is_across_threads: bool,
    },
    Random,
    RandomOrder,
    Switch {
        selection: Text,
    },
    Runtime {
        seconds: Text,
    },
    Throughput {
        style: ThroughputStyle,
        value: Text,
        by_user: bool,
    },
    Transaction {
        is_parent: bool,
        includes_timers: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThroughputStyle {
    Executions,
    Percent,
}

#[derive(Debug)]
pub(crate) enum Condition {
    /// True where the text is `true`.
    IsTrue(Text),
    /// JavaScript, as before JMeter 5.
    Script(Text),
}

/// What is done to get one sample, with all that is in force for it.
#[derive(Debug)]
pub(crate) struct Sampler {
    pub(crate) name: Text,
    pub(crate) kind: SamplerKind,
    pub(crate) before: Vec<Arc<PreProcessor>>,
    pub(crate) timers: Vec<Arc<Timer>>,
    pub(crate) after: Vec<Arc<PostProcessor>>,
    pub(crate) assertions: Vec<Arc<Assertion>>,
    pub(crate) listeners: Arc<[usize]>,
}

#[derive(Debug)]
pub(crate) enum SamplerKind {
    Http(Box<HttpSampler>),
    WebSocket(Box<websocket::WebSocketSampler>),
    Action { action: Action, duration_ms: Text },
    Debug { variables: bool, properties: bool },
    Dummy(Box<DummySampler>),
    Script(Script),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Pause,
    StopThread,
    StopTest,
    StopTestNow,
    StartNextLoop,
    /// Of the loop within the group's that is nearest.
    NextOfCurrentLoop,
    BreakCurrentLoop,
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a box of the element")]
pub(crate) struct HttpSampler {
    pub(crate) protocol: Text,
    pub(crate) domain: Text,
    pub(crate) port: Text,
    pub(crate) path: Text,
    pub(crate) method: Text,
    pub(crate) encoding: Text,
    pub(crate) arguments: Vec<Argument>,
    pub(crate) has_raw_body: bool,
    pub(crate) files: Vec<FileArgument>,
    pub(crate) redirects: Redirects,
    pub(crate) keeps_alive: bool,
    pub(crate) is_multipart: bool,
    pub(crate) is_browser_multipart: bool,
    pub(crate) connect_timeout_ms: Text,
    pub(crate) response_timeout_ms: Text,
    pub(crate) embedded: Option<Embedded>,
    /// Inner ones first; the first of a name counts.
    pub(crate) headers: Vec<(Text, Text)>,
    /// Indices into the group's managers.
    pub(crate) cookies: Option<usize>,
    pub(crate) cache: Option<usize>,
    pub(crate) credentials: Vec<Credentials>,
    /// Something looks at the body.
    pub(crate) needs_body: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Argument {
    pub(crate) name: Text,
    pub(crate) value: Text,
    pub(crate) is_encoded: bool,
    pub(crate) has_equals: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct FileArgument {
    pub(crate) path: Text,
    pub(crate) parameter: Text,
    pub(crate) mime_type: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirects {
    None,
    /// Each with the sampler's own care, or unseen where they are left to the client.
    Followed {
        by_client: bool,
    },
}

/// What pages name is fetched too.
#[derive(Debug, Clone)]
pub(crate) struct Embedded {
    /// Requests at a time.
    pub(crate) at_a_time: Text,
    pub(crate) allow: Text,
    pub(crate) exclude: Text,
}

#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) url: Text,
    pub(crate) user: Text,
    pub(crate) password: Text,
    pub(crate) is_digest: bool,
}

#[derive(Debug)]
pub(crate) struct CookieManager {
    pub(crate) is_cleared_each_pass: bool,
    /// Cleared where each pass is a new user.
    pub(crate) follows_group: bool,
    pub(crate) cookies: Vec<UserCookie>,
}

#[derive(Debug)]
pub(crate) struct UserCookie {
    pub(crate) name: Text,
    pub(crate) value: Text,
    pub(crate) domain: Text,
    pub(crate) path: Text,
    pub(crate) is_secure: bool,
    pub(crate) is_for_subdomains: bool,
}

#[derive(Debug)]
pub(crate) struct CacheManager {
    pub(crate) is_cleared_each_pass: bool,
    pub(crate) follows_group: bool,
    pub(crate) uses_expires: bool,
    pub(crate) entries_max: usize,
}

/// What goes on with the passes of its controller.
#[derive(Debug)]
pub(crate) enum IterationConfig {
    Csv(Arc<CsvDataSet>),
    Counter(Counter),
    RandomVariable(RandomVariable),
    UserParameters(UserParameters),
}

#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of the element")]
pub(crate) struct CsvDataSet {
    pub(crate) file: Text,
    pub(crate) encoding: String,
    pub(crate) names: Text,
    pub(crate) delimiter: Text,
    pub(crate) ignores_first_line: bool,
    pub(crate) is_quoted: bool,
    pub(crate) is_recycled: bool,
    pub(crate) stops_thread: bool,
    pub(crate) sharing: Sharing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sharing {
    All,
    Group,
    Thread,
    /// Those that say the same name.
    Named(String),
}

#[derive(Debug)]
pub(crate) struct Counter {
    pub(crate) start: Text,
    pub(crate) increment: Text,
    pub(crate) end: Text,
    pub(crate) format: Text,
    pub(crate) variable: Text,
    pub(crate) is_per_user: bool,
    pub(crate) is_reset_each_pass: bool,
    /// Tells counters of a plan apart.
    pub(crate) site: u32,
}

#[derive(Debug)]
pub(crate) struct RandomVariable {
    pub(crate) variable: Text,
    pub(crate) format: Text,
    pub(crate) low: Text,
    pub(crate) high: Text,
}

#[derive(Debug)]
pub(crate) struct UserParameters {
    pub(crate) names: Vec<Text>,
    /// A list for each user; the first one again after the last.
    pub(crate) values: Vec<Vec<Text>>,
}

#[derive(Debug)]
pub(crate) struct Script {
    /// For messages.
    pub(crate) name: String,
    pub(crate) source: Text,
    /// Of a file, read at each run of the plan.
    pub(crate) file: Text,
    pub(crate) parameters: Text,
}

#[derive(Debug)]
pub(crate) enum PreProcessor {
    Script(Script),
    UserParameters(UserParameters),
}

#[derive(Debug)]
pub(crate) enum PostProcessor {
    Regex(Box<RegexExtractor>),
    Json(Box<JsonExtractor>),
    Boundary(Box<BoundaryExtractor>),
    Css(Box<CssExtractor>),
    XPath(Box<xpath::XPathExtractor>),
    Script(Script),
}

/// What of a response is looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Head and body as they came.
    Whole,
    Body,
    UnescapedBody,
    Headers,
    RequestHeaders,
    RequestData,
    Url,
    Code,
    Message,
    /// A variable instead of a response.
    Variable(String),
}

#[derive(Debug)]
pub(crate) struct RegexExtractor {
    pub(crate) scope: SampleScope,
    pub(crate) source: Source,
    pub(crate) name: Text,
    pub(crate) expression: Expression,
    pub(crate) template: Text,
    pub(crate) number: Text,
    pub(crate) default: Text,
    pub(crate) is_empty_default: bool,
}

/// Compiled beforehand where nothing in it changes.
#[derive(Debug)]
pub(crate) enum Expression {
    Fixed(Box<Regex>),
    Text(Text),
}

#[derive(Debug)]
pub(crate) struct JsonExtractor {
    pub(crate) scope: SampleScope,
    pub(crate) variable: Option<String>,
    /// Name, path and default of each; the number of the match.
    pub(crate) names: Text,
    pub(crate) paths: Text,
    pub(crate) numbers: Text,
    pub(crate) defaults: Text,
    pub(crate) joins_all: bool,
}

#[derive(Debug)]
pub(crate) struct BoundaryExtractor {
    pub(crate) scope: SampleScope,
    pub(crate) source: Source,
    pub(crate) name: Text,
    pub(crate) left: Text,
    pub(crate) right: Text,
    pub(crate) number: Text,
    pub(crate) default: Text,
    pub(crate) is_empty_default: bool,
}

#[derive(Debug)]
pub(crate) struct CssExtractor {
    pub(crate) scope: SampleScope,
    pub(crate) variable: Option<String>,
    pub(crate) name: Text,
    pub(crate) expression: Text,
    pub(crate) attribute: Text,
    pub(crate) number: Text,
    pub(crate) default: Text,
    pub(crate) is_empty_default: bool,
}

#[derive(Debug)]
pub(crate) struct Assertion {
    pub(crate) name: Text,
    pub(crate) scope: SampleScope,
    pub(crate) kind: AssertionKind,
}

#[derive(Debug)]
pub(crate) enum AssertionKind {
    Response(Box<ResponseAssertion>),
    Json(Box<JsonAssertion>),
    XPath(Box<xpath::XPathAssertion>),
    Duration { most_ms: Text },
    Size { source: Source, bytes: Text, comparison: SizeComparison },
    Script(Script),
}

#[derive(Debug)]
pub(crate) struct ResponseAssertion {
    pub(crate) source: Source,
    pub(crate) patterns: Vec<Text>,
    pub(crate) rule: PatternRule,
    pub(crate) is_negated: bool,
    /// One pattern is enough.
    pub(crate) is_any: bool,
    /// A status above 399 is no failure before this assertion.
    pub(crate) ignores_status: bool,
    pub(crate) message: Text,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternRule {
    /// An expression that is the whole text.
    Matches,
    /// An expression within it.
    Contains,
    Equals,
    Substring,
}

#[derive(Debug)]
pub(crate) struct JsonAssertion {
    pub(crate) path: Text,
    pub(crate) expected: Text,
    pub(crate) rule: JsonRule,
    pub(crate) expects_null: bool,
    pub(crate) is_inverted: bool,
}

/// What a value at a JSON path must be, or that it must only be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonRule {
    Exists,
    Equals,
    Matches,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SizeComparison {
    Equal,
    NotEqual,
    Greater,
    Less,
    GreaterOrEqual,
    LessOrEqual,
}

/// A file that gets samples beside the one of the command line.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) file: Text,
    pub(crate) only_errors: bool,
    pub(crate) only_successes: bool,
    pub(crate) is_xml: bool,
}
