//! What is in force for samplers: defaults, managers, timers, processors, assertions; and what goes on with each pass.

use super::names::{self, Role};
use super::{Compiler, GroupParts, Scoped};
use crate::encodings;
use crate::json;
use crate::patterns;
use crate::plan::{
    Assertion, AssertionKind, BoundaryExtractor, CacheManager, CookieManager, Counter, Credentials,
    CssExtractor, CsvDataSet, Expression, IterationConfig, JsonAssertion, JsonExtractor, JsonRule, Listener,
    PatternRule, PostProcessor, PreProcessor, RandomVariable, RegexExtractor, ResponseAssertion, SampleScope,
    Sharing, SizeComparison, Source, ThroughputMode, Timer, UserCookie, UserParameters,
};
use crate::run::extract;
use crate::run::files::Files;
use crate::run::turns::Turns;
use crate::tree::{ELEMENT_NAME, Element, Value};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

impl Compiler<'_> {
    /// What stands in one level of the tree and is in force for all samplers in it.
    pub(super) fn level(
        &mut self,
        parts: &mut GroupParts,
        controller: usize,
        elements: &[Element],
    ) -> Vec<Scoped> {
        let mut level = Vec::new();
        let known = parts.controllers[controller].iteration_configs.len();
        for element in elements.iter().filter(|element| names::role(&element.tag) == Role::Scoped) {
            self.path.push(element.name.clone());
            level.extend(self.scoped(parts, controller, element));
            self.path.pop();
        }
        // JMeter tells the last one of a pass first.
        parts.controllers[controller].iteration_configs[known..].reverse();
        level
    }

    fn scoped(&mut self, parts: &mut GroupParts, controller: usize, element: &Element) -> Option<Scoped> {
        let scoped = match element.tag.as_str() {
            "ConfigTestElement" => Scoped::Defaults(Box::new(element.props.clone())),
            "HeaderManager" => self.headers(element),
            "CookieManager" => self.cookies(parts, element),
            "CacheManager" => cache(parts, element),
            "AuthManager" => self.credentials(element),
            "DNSCacheManager" => {
                self.host_table(element);
                return None;
            }
            "ResultCollector" => self.listener(parts, element)?,
            "CSVDataSet" | "CounterConfig" | "RandomVariableConfig" => {
                let config = self.iteration_config(element)?;
                add_config(parts, controller, config);
                return None;
            }
            "UserParameters" => {
                let parameters = self.user_parameters(element);
                if element.props.is("UserParameters.per_iteration") {
                    add_config(parts, controller, IterationConfig::UserParameters(parameters));
                    return None;
                }
                Scoped::Before(Arc::new(PreProcessor::UserParameters(parameters)))
            }
            "JSR223PreProcessor" => Scoped::Before(Arc::new(PreProcessor::Script(self.script(element)?))),
            tag if tag.ends_with("FrameFilter") => Scoped::FrameFilter(self.frame_filter(element)?),
            tag if tag.ends_with("Timer") => Scoped::Timer(Arc::new(self.timer(element)?)),
            tag if tag.ends_with("Assertion") => {
                let kind = self.assertion(element)?;
                let name = self.text(element, &element.name);
                Scoped::Assertion(Arc::new(Assertion { name, scope: scope_of(element), kind }))
            }
            _ => Scoped::After(Arc::new(self.post_processor(element)?)),
        };
        Some(scoped)
    }

    // ---- managers

    /// The static hosts of a DNS Cache Manager; they count for the whole run.
    fn host_table(&mut self, element: &Element) {
        let has_servers = !element.props.list("DNSCacheManager.servers").is_empty();
        if has_servers && element.props.is("DNSCacheManager.isCustomResolver") {
            let message = "servers of names are not asked by themselves; write what they say to its static host table, or let the system \
                           look names up";
            self.fault(element, message.to_owned());
        }
        for entry in element.props.elements("DNSCacheManager.hosts") {
            let name = entry.text("StaticHost.Name").trim().to_ascii_lowercase();
            // Where there are several, the first is connected to.
            let written = entry.text("StaticHost.Address").split(',').next().unwrap_or_default().trim();
            let Ok(address) = written.parse::<IpAddr>() else {
                self.fault(
                    element,
                    format!("the address of `{name}` is `{written}`, which is no IP address; write one"),
                );
                continue;
            };
            let known = *self.hosts.entry(name.clone()).or_insert(address);
            if known != address {
                self.fault(
                    element,
                    format!("`{name}` is {address} here and {known} elsewhere, and a run has one address of a name; give it one"),
                );
            }
        }
    }

    fn headers(&mut self, element: &Element) -> Scoped {
        let list = element.props.elements("HeaderManager.headers");
        let named = list.map(|header| (header.text("Header.name"), header.text("Header.value")));
        let headers = named.filter(|(name, _)| !name.is_empty());
        Scoped::Headers(
            headers.map(|(name, value)| (self.text(element, name), self.text(element, value))).collect(),
        )
    }

    fn cookies(&mut self, parts: &mut GroupParts, element: &Element) -> Scoped {
        let cookies = element.props.elements("CookieManager.cookies").map(|cookie| UserCookie {
            name: self.text(element, cookie.text(ELEMENT_NAME)),
            value: self.text(element, cookie.text("Cookie.value")),
            domain: self.text(element, cookie.text("Cookie.domain")),
            path: self.text(element, cookie.text("Cookie.path")),
            is_secure: cookie.is("Cookie.secure"),
            is_for_subdomains: cookie.is("Cookie.domain_specified"),
        });
        let cookies = cookies.collect();
        parts.cookies.push(CookieManager {
            is_cleared_each_pass: element.props.is("CookieManager.clearEachIteration"),
            follows_group: element.props.is("CookieManager.controlledByThreadGroup"),
            cookies,
        });
        Scoped::Cookies(parts.cookies.len() - 1)
    }

    fn credentials(&mut self, element: &Element) -> Scoped {
        let mut list = Vec::new();
        for entry in element.props.elements("AuthManager.auth_list") {
            let mechanism = entry.text("Authorization.mechanism").trim();
            if !["", "BASIC", "BASIC_DIGEST", "DIGEST"].contains(&mechanism) {
                let message = format!("the mechanism {mechanism} is not known here; BASIC and DIGEST are");
                self.fault(element, message);
            }
            list.push(Credentials {
                url: self.text(element, entry.text("Authorization.url")),
                user: self.text(element, entry.text("Authorization.username")),
                password: self.text(element, entry.text("Authorization.password")),
                is_digest: mechanism == "DIGEST",
            });
        }
        Scoped::Credentials(list)
    }

    fn listener(&mut self, parts: &mut GroupParts, element: &Element) -> Option<Scoped> {
        let file = self.prop(element, "filename");
        if file.is_empty() {
            return None;
        }
        parts.listeners.push(Listener {
            file,
            only_errors: element.props.is("ResultCollector.error_logging"),
            only_successes: element.props.is("ResultCollector.success_only_logging"),
            is_xml: element.props.element("saveConfig").is_some_and(|config| config.is("xml")),
        });
        Some(Scoped::Listener(parts.listeners.len() - 1))
    }

    // ---- what goes on with each pass

    fn iteration_config(&mut self, element: &Element) -> Option<IterationConfig> {
        let props = &element.props;
        Some(match element.tag.as_str() {
            "CSVDataSet" => {
                self.check_file(element, props.text("filename"));
                let encoding = props.text("fileEncoding").trim().to_owned();
                if !encodings::is_known(&encoding) && !encoding.contains("${") {
                    let message =
                        format!("the encoding `{encoding}` is not read; save the file as UTF-8 and say so");
                    self.fault(element, message);
                    return None;
                }
                IterationConfig::Csv(Arc::new(CsvDataSet {
                    file: self.file_name(element, props.text("filename")),
                    encoding,
                    names: self.prop(element, "variableNames"),
                    delimiter: self.prop(element, "delimiter"),
                    ignores_first_line: props.is("ignoreFirstLine"),
                    is_quoted: props.is("quotedData"),
                    is_recycled: props.flag("recycle").unwrap_or(true),
                    stops_thread: props.is("stopThread"),
                    sharing: match props.text("shareMode") {
                        "" | "shareMode.all" => Sharing::All,
                        "shareMode.group" => Sharing::Group,
                        "shareMode.thread" => Sharing::Thread,
                        name => Sharing::Named(name.to_owned()),
                    },
                }))
            }
            "CounterConfig" => IterationConfig::Counter(Counter {
                start: self.prop(element, "CounterConfig.start"),
                increment: self.prop(element, "CounterConfig.incr"),
                end: self.prop(element, "CounterConfig.end"),
                format: self.prop(element, "CounterConfig.format"),
                variable: self.prop(element, "CounterConfig.name"),
                is_per_user: props.is("CounterConfig.per_user"),
                is_reset_each_pass: props.is("CounterConfig.reset_on_tg_iteration"),
                site: self.site_of(element),
            }),
            _ => IterationConfig::RandomVariable(RandomVariable {
                variable: self.prop(element, "variableName"),
                format: self.prop(element, "outputFormat"),
                low: self.prop(element, "minimumValue"),
                high: self.prop(element, "maximumValue"),
            }),
        })
    }

    /// Whether JSON paths can be read that are known beforehand.
    fn check_paths(&mut self, element: &Element, paths: &str) {
        for path in paths.split(';').filter(|path| !path.contains("${") && !path.trim().is_empty()) {
            if let Err(message) = json::Path::read(path) {
                self.fault(element, message);
            }
        }
    }

    /// Whether a file is there whose name is known beforehand.
    fn check_file(&mut self, element: &Element, name: &str) {
        let folder = self.files.first().and_then(|file| file.parent()).unwrap_or(Path::new("")).to_owned();
        let path = Files::new(folder, self.places.clone(), Turns::default()).path(name);
        if !name.contains("${") && !path.is_file() {
            let message = format!(
                "there is no file {}; put it beside the plan, or write its whole path",
                path.display()
            );
            self.fault(element, message);
        }
    }

    fn user_parameters(&mut self, element: &Element) -> UserParameters {
        let names =
            element.props.texts("UserParameters.names").map(|name| self.text(element, name)).collect();
        let rows = element.props.list("UserParameters.thread_values").iter();
        let values = rows.map(|row| match row {
            Value::List(cells) => cells
                .iter()
                .map(|cell| match cell {
                    Value::Text(text) => self.text(element, text),
                    _ => crate::text::Text::default(),
                })
                .collect(),
            _ => Vec::new(),
        });
        UserParameters { names, values: values.collect() }
    }

    // ---- timers

    fn timer(&mut self, element: &Element) -> Option<Timer> {
        Some(match element.tag.as_str() {
            "ConstantTimer" => Timer::Constant { delay_ms: self.prop(element, "ConstantTimer.delay") },
            "UniformRandomTimer" => Timer::Uniform {
                delay_ms: self.prop(element, "ConstantTimer.delay"),
                range_ms: self.prop(element, "RandomTimer.range"),
            },
            "GaussianRandomTimer" => Timer::Gaussian {
                delay_ms: self.prop(element, "ConstantTimer.delay"),
                deviation_ms: self.prop(element, "RandomTimer.range"),
            },
            "PoissonRandomTimer" => Timer::Poisson {
                delay_ms: self.prop(element, "ConstantTimer.delay"),
                lambda_ms: self.prop(element, "RandomTimer.range"),
            },
            "ConstantThroughputTimer" => Timer::Throughput {
                per_minute: self.prop(element, "throughput"),
                mode: match element.props.text("calcMode").trim() {
                    "1" => ThroughputMode::AllActive { in_group: false },
                    "2" => ThroughputMode::AllActive { in_group: true },
                    "3" => ThroughputMode::Shared { in_group: false },
                    "4" => ThroughputMode::Shared { in_group: true },
                    _ => ThroughputMode::ThisThread,
                },
                site: self.site_of(element),
            },
            "PreciseThroughputTimer" => Timer::Precise {
                count: self.prop(element, "throughput"),
                period_s: self.prop(element, "throughputPeriod"),
                site: self.site_of(element),
            },
            "kg.apc.jmeter.timers.VariableThroughputTimer" => {
                Timer::Shaping { stages: self.rows(element, "load_profile")?, site: self.site_of(element) }
            }
            "SyncTimer" => Timer::Synchronizing {
                size: self.prop(element, "groupSize"),
                timeout_ms: self.prop(element, "timeoutInMs"),
                site: self.site_of(element),
            },
            _ => Timer::Script(self.script(element)?),
        })
    }

    // ---- after a sample

    fn post_processor(&mut self, element: &Element) -> Option<PostProcessor> {
        let props = &element.props;
        self.check_paths(element, props.text("JSONPostProcessor.jsonPathExprs"));
        Some(match element.tag.as_str() {
            "RegexExtractor" => PostProcessor::Regex(Box::new(RegexExtractor {
                scope: scope_of(element),
                source: self.source(element, "RegexExtractor.useHeaders"),
                name: self.prop(element, "RegexExtractor.refname"),
                expression: self.expression(element, "RegexExtractor.regex")?,
                template: self.prop(element, "RegexExtractor.template"),
                number: self.prop(element, "RegexExtractor.match_number"),
                default: self.prop(element, "RegexExtractor.default"),
                is_empty_default: props.is("RegexExtractor.default_empty_value"),
            })),
            "JSONPostProcessor" => PostProcessor::Json(Box::new(JsonExtractor {
                scope: scope_of(element),
                variable: variable_scope(element),
                names: self.prop(element, "JSONPostProcessor.referenceNames"),
                paths: self.prop(element, "JSONPostProcessor.jsonPathExprs"),
                numbers: self.prop(element, "JSONPostProcessor.match_numbers"),
                defaults: self.prop(element, "JSONPostProcessor.defaultValues"),
                joins_all: props.is("JSONPostProcessor.compute_concat"),
            })),
            "BoundaryExtractor" => PostProcessor::Boundary(Box::new(BoundaryExtractor {
                scope: scope_of(element),
                source: self.source(element, "BoundaryExtractor.useHeaders"),
                name: self.prop(element, "BoundaryExtractor.refname"),
                left: self.prop(element, "BoundaryExtractor.lboundary"),
                right: self.prop(element, "BoundaryExtractor.rboundary"),
                number: self.prop(element, "BoundaryExtractor.match_number"),
                default: self.prop(element, "BoundaryExtractor.default"),
                is_empty_default: props.is("BoundaryExtractor.default_empty_value"),
            })),
            "HtmlExtractor" if !self.has_selector(element) => return None,
            "HtmlExtractor" => PostProcessor::Css(Box::new(CssExtractor {
                scope: scope_of(element),
                variable: variable_scope(element),
                name: self.prop(element, "HtmlExtractor.refname"),
                expression: self.prop(element, "HtmlExtractor.expr"),
                attribute: self.prop(element, "HtmlExtractor.attribute"),
                number: self.prop(element, "HtmlExtractor.match_number"),
                default: self.prop(element, "HtmlExtractor.default"),
                is_empty_default: props.is("HtmlExtractor.default_empty_value"),
            })),
            "XPathExtractor" | "XPath2Extractor" => {
                PostProcessor::XPath(Box::new(self.xpath_extractor(element)?))
            }
            _ => PostProcessor::Script(self.script(element)?),
        })
    }

    /// Whether a CSS selector can be read that is known beforehand.
    fn has_selector(&mut self, element: &Element) -> bool {
        let expression = element.props.text("HtmlExtractor.expr");
        if expression.contains("${") || expression.trim().is_empty() {
            return true;
        }
        let Err(message) = extract::selector(expression) else { return true };
        self.fault(element, message);
        false
    }

    /// Where an extractor looks, by its scope and the property that says which part of a response.
    fn source(&mut self, element: &Element, name: &str) -> Source {
        if let Some(variable) = variable_scope(element) {
            return Source::Variable(variable);
        }
        match element.props.text(name).trim() {
            "true" => Source::Headers,
            "request_headers" => Source::RequestHeaders,
            "URL" => Source::Url,
            "code" => Source::Code,
            "message" => Source::Message,
            "unescaped" => Source::UnescapedBody,
            "as_document" => {
                self.fault(element, "documents are not converted to text; search the body".to_owned());
                Source::Body
            }
            _ => Source::Body,
        }
    }

    fn expression(&mut self, element: &Element, name: &str) -> Option<Expression> {
        let raw = element.props.text(name);
        let text = self.text(element, raw);
        let Some(fixed) = text.as_literal() else { return Some(Expression::Text(text)) };
        match patterns::compile(fixed) {
            Ok(expression) => Some(Expression::Fixed(Box::new(expression))),
            Err(message) => {
                self.fault(element, message);
                None
            }
        }
    }

    // ---- assertions

    fn assertion(&mut self, element: &Element) -> Option<AssertionKind> {
        let props = &element.props;
        self.check_paths(element, props.text("JSON_PATH"));
        Some(match element.tag.as_str() {
            "ResponseAssertion" => AssertionKind::Response(Box::new(self.response_assertion(element)?)),
            "JSONPathAssertion" => AssertionKind::Json(Box::new(JsonAssertion {
                path: self.prop(element, "JSON_PATH"),
                expected: self.prop(element, "EXPECTED_VALUE"),
                rule: match (props.is("JSONVALIDATION"), props.flag("ISREGEX").unwrap_or(true)) {
                    (false, _) => JsonRule::Exists,
                    (true, false) => JsonRule::Equals,
                    (true, true) => JsonRule::Matches,
                },
                expects_null: props.is("EXPECT_NULL"),
                is_inverted: props.is("INVERT"),
            })),
            "XPathAssertion" | "XPath2Assertion" => {
                AssertionKind::XPath(Box::new(self.xpath_assertion(element)?))
            }
            "DurationAssertion" => {
                AssertionKind::Duration { most_ms: self.prop(element, "DurationAssertion.duration") }
            }
            "SizeAssertion" => AssertionKind::Size {
                source: match (variable_scope(element), props.text("Assertion.test_field")) {
                    (Some(variable), _) => Source::Variable(variable),
                    (None, "SizeAssertion.response_headers") => Source::Headers,
                    (None, "SizeAssertion.response_code") => Source::Code,
                    (None, "SizeAssertion.response_message") => Source::Message,
                    (None, "SizeAssertion.response_data") => Source::Body,
                    (None, _) => Source::Whole,
                },
                bytes: self.prop(element, "SizeAssertion.size"),
                comparison: match props.text("SizeAssertion.operator").trim() {
                    "2" => SizeComparison::NotEqual,
                    "3" => SizeComparison::Greater,
                    "4" => SizeComparison::Less,
                    "5" => SizeComparison::GreaterOrEqual,
                    "6" => SizeComparison::LessOrEqual,
                    _ => SizeComparison::Equal,
                },
            },
            _ => AssertionKind::Script(self.script(element)?),
        })
    }

    fn response_assertion(&mut self, element: &Element) -> Option<ResponseAssertion> {
        const MATCH: i32 = 1;
        const CONTAINS: i32 = 2;
        const NOT: i32 = 4;
        const EQUALS: i32 = 8;
        const SUBSTRING: i32 = 16;
        const OR: i32 = 32;
        let props = &element.props;
        let bits = props.text("Assertion.test_type").trim().parse().unwrap_or(CONTAINS);
        let rule = match bits & (MATCH | CONTAINS | EQUALS | SUBSTRING) {
            MATCH => PatternRule::Matches,
            EQUALS => PatternRule::Equals,
            SUBSTRING => PatternRule::Substring,
            _ => PatternRule::Contains,
        };
        let source = match (variable_scope(element), props.text("Assertion.test_field")) {
            (Some(variable), _) => Source::Variable(variable),
            (None, "" | "Assertion.response_data") => Source::Body,
            (None, "Assertion.response_code") => Source::Code,
            (None, "Assertion.response_message") => Source::Message,
            (None, "Assertion.response_headers") => Source::Headers,
            (None, "Assertion.request_headers") => Source::RequestHeaders,
            (None, "Assertion.request_data") => Source::RequestData,
            (None, "Assertion.sample_label") => Source::Url,
            (None, other) => {
                self.fault(
                    element,
                    format!("the field `{other}` is not looked at; test the response's text"),
                );
                return None;
            }
        };
        // The GUI has always written the list's name so.
        let list = if props.list("Asserion.test_strings").is_empty() {
            "Assertion.test_strings"
        } else {
            "Asserion.test_strings"
        };
        let mut read = Vec::new();
        for pattern in props.texts(list) {
            let text = self.text(element, pattern);
            let is_expression = matches!(rule, PatternRule::Contains | PatternRule::Matches);
            if let Some(fixed) = text.as_literal().filter(|_| is_expression)
                && let Err(message) = patterns::compile(fixed)
            {
                self.fault(element, message);
            }
            read.push(text);
        }
        Some(ResponseAssertion {
            source,
            patterns: read,
            rule,
            is_negated: bits & NOT != 0,
            is_any: bits & OR != 0,
            ignores_status: props.is("Assertion.assume_success"),
            message: self.prop(element, "Assertion.custom_message"),
        })
    }
}

fn cache(parts: &mut GroupParts, element: &Element) -> Scoped {
    const ENTRIES_MAX: usize = 5_000;
    parts.caches.push(CacheManager {
        is_cleared_each_pass: element.props.is("clearEachIteration"),
        follows_group: element.props.is("CacheManager.controlledByThread"),
        uses_expires: element.props.flag("useExpires").unwrap_or(true),
        entries_max: element.props.text("maxSize").trim().parse().unwrap_or(ENTRIES_MAX),
    });
    Scoped::Cache(parts.caches.len() - 1)
}

fn add_config(parts: &mut GroupParts, controller: usize, config: IterationConfig) {
    parts.controllers[controller].iteration_configs.push(parts.iteration_configs.len());
    parts.iteration_configs.push(config);
}

/// What an element says of its scope; assertions have a property of their own for it.
fn scope_text(element: &Element) -> &str {
    let is_assertion = element.tag.ends_with("Assertion");
    element.props.text(if is_assertion { "Assertion.scope" } else { "Sample.scope" })
}

/// Which results of a sample are looked at.
pub(super) fn scope_of(element: &Element) -> SampleScope {
    match scope_text(element) {
        "all" => SampleScope::All,
        "children" => SampleScope::Parts,
        _ => SampleScope::Main,
    }
}

/// The variable that is looked at instead of a response.
pub(super) fn variable_scope(element: &Element) -> Option<String> {
    (scope_text(element) == "variable").then(|| element.props.text("Scope.variable").to_owned())
}
