//! What elements are called, which of them are run, and what to write instead of those that are not.

use crate::tree::Element;

/// What an element does in a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Group,
    Controller,
    Sampler,
    /// In force for samplers beside and below it.
    Scoped,
    /// It changes nothing of what is sent or judged: a listener of the GUI, a note, what is read before.
    Passed,
    Refused,
}

/// Tag, name in the GUI, and what it does. What is refused says what to write instead.
const ELEMENTS: &[(&str, &str, Role)] = &[
    ("TestPlan", "Test Plan", Role::Passed),
    ("ThreadGroup", "Thread Group", Role::Group),
    ("SetupThreadGroup", "setUp Thread Group", Role::Group),
    ("PostThreadGroup", "tearDown Thread Group", Role::Group),
    ("OpenModelThreadGroup", "Open Model Thread Group", Role::Group),
    ("kg.apc.jmeter.threads.UltimateThreadGroup", "jp@gc - Ultimate Thread Group", Role::Group),
    ("kg.apc.jmeter.threads.SteppingThreadGroup", "jp@gc - Stepping Thread Group", Role::Group),
    (
        "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup",
        "bzm - Concurrency Thread Group",
        Role::Group,
    ),
    ("GenericController", "Simple Controller", Role::Controller),
    ("TransactionController", "Transaction Controller", Role::Controller),
    ("LoopController", "Loop Controller", Role::Controller),
    ("IfController", "If Controller", Role::Controller),
    ("WhileController", "While Controller", Role::Controller),
    ("ForeachController", "ForEach Controller", Role::Controller),
    ("OnceOnlyController", "Once Only Controller", Role::Controller),
    ("InterleaveControl", "Interleave Controller", Role::Controller),
    ("RandomController", "Random Controller", Role::Controller),
    ("RandomOrderController", "Random Order Controller", Role::Controller),
    ("SwitchController", "Switch Controller", Role::Controller),
    ("RunTime", "Runtime Controller", Role::Controller),
    ("ThroughputController", "Throughput Controller", Role::Controller),
    ("IncludeController", "Include Controller", Role::Controller),
    ("ModuleController", "Module Controller", Role::Controller),
    ("RecordingController", "Recording Controller", Role::Controller),
    ("HTTPSamplerProxy", "HTTP Request", Role::Sampler),
    ("TestAction", "Flow Control Action", Role::Sampler),
    ("DebugSampler", "Debug Sampler", Role::Sampler),
    ("kg.apc.jmeter.samplers.DummySampler", "jp@gc - Dummy Sampler", Role::Sampler),
    ("JSR223Sampler", "JSR223 Sampler", Role::Sampler),
    ("eu.luminis.jmeter.wssampler.OpenWebSocketSampler", "WebSocket Open Connection", Role::Sampler),
    (
        "eu.luminis.jmeter.wssampler.RequestResponseWebSocketSampler",
        "WebSocket request-response Sampler",
        Role::Sampler,
    ),
    (
        "eu.luminis.jmeter.wssampler.SingleWriteWebSocketSampler",
        "WebSocket Single Write Sampler",
        Role::Sampler,
    ),
    (
        "eu.luminis.jmeter.wssampler.SingleReadWebSocketSampler",
        "WebSocket Single Read Sampler",
        Role::Sampler,
    ),
    ("eu.luminis.jmeter.wssampler.PingPongSampler", "WebSocket Ping/Pong", Role::Sampler),
    ("eu.luminis.jmeter.wssampler.CloseWebSocketSampler", "WebSocket Close", Role::Sampler),
    ("eu.luminis.jmeter.wssampler.TextFrameFilter", "WebSocket Text Frame Filter", Role::Scoped),
    ("eu.luminis.jmeter.wssampler.BinaryFrameFilter", "WebSocket Binary Frame Filter", Role::Scoped),
    ("eu.luminis.jmeter.wssampler.PingFrameFilter", "WebSocket Ping/Pong Frame Filter", Role::Scoped),
    ("Arguments", "User Defined Variables", Role::Passed),
    ("ConfigTestElement", "HTTP Request Defaults", Role::Scoped),
    ("HeaderManager", "HTTP Header Manager", Role::Scoped),
    ("CookieManager", "HTTP Cookie Manager", Role::Scoped),
    ("CacheManager", "HTTP Cache Manager", Role::Scoped),
    ("AuthManager", "HTTP Authorization Manager", Role::Scoped),
    ("DNSCacheManager", "DNS Cache Manager", Role::Scoped),
    ("CSVDataSet", "CSV Data Set Config", Role::Scoped),
    ("CounterConfig", "Counter", Role::Scoped),
    ("RandomVariableConfig", "Random Variable", Role::Scoped),
    ("UserParameters", "User Parameters", Role::Scoped),
    ("ConstantTimer", "Constant Timer", Role::Scoped),
    ("UniformRandomTimer", "Uniform Random Timer", Role::Scoped),
    ("GaussianRandomTimer", "Gaussian Random Timer", Role::Scoped),
    ("PoissonRandomTimer", "Poisson Random Timer", Role::Scoped),
    ("ConstantThroughputTimer", "Constant Throughput Timer", Role::Scoped),
    ("PreciseThroughputTimer", "Precise Throughput Timer", Role::Scoped),
    ("kg.apc.jmeter.timers.VariableThroughputTimer", "jp@gc - Throughput Shaping Timer", Role::Scoped),
    ("SyncTimer", "Synchronizing Timer", Role::Scoped),
    ("JSR223Timer", "JSR223 Timer", Role::Scoped),
    ("RegexExtractor", "Regular Expression Extractor", Role::Scoped),
    ("JSONPostProcessor", "JSON Extractor", Role::Scoped),
    ("BoundaryExtractor", "Boundary Extractor", Role::Scoped),
    ("HtmlExtractor", "CSS Selector Extractor", Role::Scoped),
    ("XPathExtractor", "XPath Extractor", Role::Scoped),
    ("XPath2Extractor", "XPath2 Extractor", Role::Scoped),
    ("JSR223PostProcessor", "JSR223 PostProcessor", Role::Scoped),
    ("JSR223PreProcessor", "JSR223 PreProcessor", Role::Scoped),
    ("JSR223Assertion", "JSR223 Assertion", Role::Scoped),
    ("ResponseAssertion", "Response Assertion", Role::Scoped),
    ("JSONPathAssertion", "JSON Assertion", Role::Scoped),
    ("DurationAssertion", "Duration Assertion", Role::Scoped),
    ("SizeAssertion", "Size Assertion", Role::Scoped),
    ("XPathAssertion", "XPath Assertion", Role::Scoped),
    ("XPath2Assertion", "XPath2 Assertion", Role::Scoped),
    ("DebugPostProcessor", "Debug PostProcessor", Role::Passed),
    ("ResultCollector", "Listener", Role::Scoped),
    ("Summariser", "Generate Summary Results", Role::Passed),
    ("TestFragmentController", "Test Fragment", Role::Passed),
    ("WorkBench", "WorkBench", Role::Passed),
];

/// Tag (or how it begins), name in the GUI, and what to write instead.
const REFUSED: &[(&str, &str, &str)] = &[
    ("BeanShell", "BeanShell element", "write it as a JSR223 element in JavaScript"),
    ("BSF", "BSF element", "write it as a JSR223 element in JavaScript"),
    ("JSR223Listener", "JSR223 Listener", "write it as a JSR223 PostProcessor in JavaScript"),
    (
        "JDBC",
        "JDBC element",
        "databases are watched with --observe pg:URL; disable the element, or measure an HTTP API before the database",
    ),
    ("JMS", "JMS element", "only HTTP is measured; disable the element"),
    ("PublisherSampler", "JMS Publisher", "only HTTP is measured; disable the element"),
    ("SubscriberSampler", "JMS Subscriber", "only HTTP is measured; disable the element"),
    ("FTPSampler", "FTP Request", "only HTTP is measured; disable the element"),
    ("LDAP", "LDAP Request", "only HTTP is measured; disable the element"),
    ("TCPSampler", "TCP Sampler", "only HTTP is measured; disable the element"),
    ("JavaSampler", "Java Request", "only HTTP is measured; disable the element"),
    ("SystemSampler", "OS Process Sampler", "no program is started by a plan; start it before the run"),
    ("AjpSampler", "AJP/1.3 Sampler", "only HTTP is measured; disable the element"),
    ("SmtpSampler", "SMTP Sampler", "only HTTP is measured; disable the element"),
    (
        "HTTPSampler2",
        "HTTP Request of JMeter 2",
        "open the plan in JMeter 5 and save it again, which writes HTTPSamplerProxy",
    ),
    (
        "HTTPSampler",
        "HTTP Request of JMeter 2",
        "open the plan in JMeter 5 and save it again, which writes HTTPSamplerProxy",
    ),
    ("HTMLAssertion", "HTML Assertion", "check a text of the page with a Response Assertion"),
    ("XMLAssertion", "XML Assertion", "check a text of the response with a Response Assertion"),
    ("XMLSchemaAssertion", "XML Schema Assertion", "check a text of the response with a Response Assertion"),
    ("MD5HexAssertion", "MD5Hex Assertion", "check a text of the response with a Response Assertion"),
    ("CompareAssertion", "Compare Assertion", "check a text of the response with a Response Assertion"),
    ("JMESPath", "JMESPath element", "take the value with a JSON Extractor"),
    (
        "RegExUserParameters",
        "RegEx User Parameters",
        "use the variables of the extractor in the request itself",
    ),
    (
        "AnchorModifier",
        "HTML Link Parser",
        "take the link with a Regular Expression Extractor and use its variable",
    ),
    (
        "URLRewritingModifier",
        "HTTP URL Re-writing Modifier",
        "take the id with a Regular Expression Extractor and use its variable",
    ),
    ("SampleTimeout", "Sample Timeout", "set the response timeout of the HTTP Request"),
    ("ResultAction", "Result Status Action Handler", "set the action after an error in the Thread Group"),
    (
        "CriticalSectionController",
        "Critical Section Controller",
        "use a group of one thread for what must not run twice at a time",
    ),
    (
        "KeystoreConfig",
        "Keystore Configuration",
        "certificates of clients are not read from Java's key stores; disable the element",
    ),
    ("LoginConfig", "Login Config Element", "use an HTTP Authorization Manager"),
    (
        "BackendListener",
        "Backend Listener",
        "disable it; --out influxdb:URL, graphite:HOST:PORT, prometheus:URL and others send what is counted to dashboards while it goes",
    ),
    (
        "kg.apc.jmeter.perfmon",
        "jp@gc - PerfMon Metrics Collector",
        "disable it; --observe host:local, name:PROGRAM or prom:URL watch machines and processes beside the load",
    ),
    (
        "kg.apc.jmeter.reporters.AutoStop",
        "jp@gc - AutoStop Listener",
        "disable it; set the action after an error in the Thread Group, or look for the limit with `prony find`",
    ),
    (
        "kg.apc.jmeter.reporters",
        "jp@gc listener that writes samples elsewhere",
        "disable it and write the samples with -l FILE.jtl or --out csv:FILE",
    ),
    (
        "com.blazemeter.jmeter.threads.arrivals",
        "bzm - Arrivals Thread Group",
        "write its rates as an Open Model Thread Group, such as rate(10/s) random_arrivals(5 min) rate(10/s)",
    ),
    (
        "com.blazemeter.jmeter.RandomCSVDataSetConfig",
        "bzm - Random CSV Data Set Config",
        "use a CSV Data Set Config, which gives the rows in their order",
    ),
    ("MailerModel", "Mailer Visualizer", "disable it and act on the exit code"),
    ("ResultSaver", "Save Responses to a file", "disable it; responses are not kept"),
    ("ProxyControl", "HTTP(S) Test Script Recorder", "remove it: it belongs to JMeter's GUI"),
    (
        "eu.luminis.jmeter.wssampler.AdvancedOptionsElement",
        "WebSocket Advanced Options",
        "a user has one WebSocket at a time; disable the element, and use a group of its own for each further connection",
    ),
    (
        "eu.luminis.jmeter.wssampler",
        "WebSocket element",
        "write the WebSocket as a k6 script, which `prony run` runs too",
    ),
    (
        "eu.luminis.jmeter.assertions.BinaryContentAssertion",
        "Binary Response Assertion",
        "check the response with a JSR223 Assertion in JavaScript",
    ),
    ("GraphQL", "GraphQL element", "write it as an HTTP Request with a JSON body"),
];

/// Listeners of plug-ins show figures and send nothing.
const LISTENERS: [&str; 4] = ["Visualizer", "ResultCollector", "vizualizers.", "visualizers."];

pub(super) fn role(tag: &str) -> Role {
    if let Some((_, _, role)) = ELEMENTS.iter().find(|(known, ..)| *known == tag) {
        return *role;
    }
    if LISTENERS.iter().any(|part| tag.contains(part)) { Role::Passed } else { Role::Refused }
}

fn refused(tag: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    REFUSED.iter().find(|(begin, ..)| tag.starts_with(begin))
}

/// As the GUI calls it; its tag where that is not known.
pub(super) fn name_of(element: &Element) -> String {
    let known = ELEMENTS.iter().find(|(tag, ..)| *tag == element.tag).map(|(_, name, _)| *name);
    known.or_else(|| refused(&element.tag).map(|(_, name, _)| *name)).unwrap_or(&element.tag).to_owned()
}

pub(super) fn refusal(element: &Element) -> String {
    match refused(&element.tag) {
        Some((_, _, instead)) => format!("it is not run: {instead}"),
        None => format!(
            "the element `{}` is not known; disable it in JMeter, or write what it does with the elements that \
             docs/jmeter.md lists",
            element.tag
        ),
    }
}
