//! Samplers: HTTP requests with the defaults in force, headers and managers; actions, debug, dummies and scripts.

use super::{Compiler, GroupParts, Scoped, websocket};
use crate::plan::{
    Action, Argument, AssertionKind, DummySampler, Embedded, FileArgument, HttpSampler, Redirects, Sampler,
    SamplerKind, Source,
};
use crate::text::Text;
use crate::tree::{Element, Props};
use std::sync::Arc;

impl Compiler<'_> {
    /// A sampler with what is in force for it; `controller` is the nearest one.
    pub(super) fn sampler(
        &mut self,
        parts: &mut GroupParts,
        controller: usize,
        element: &Element,
    ) -> Option<Sampler> {
        let own = self.level(parts, controller, &element.children);
        parts.levels.push(own);
        let kind = match element.tag.as_str() {
            "HTTPSamplerProxy" => Some(SamplerKind::Http(Box::new(self.http(parts, element)))),
            "TestAction" => self.action(element),
            "DebugSampler" => Some(SamplerKind::Debug {
                variables: element.props.flag("displayJMeterVariables").unwrap_or(true),
                properties: element.props.is("displayJMeterProperties"),
            }),
            "kg.apc.jmeter.samplers.DummySampler" => Some(SamplerKind::Dummy(Box::new(self.dummy(element)))),
            tag if tag.starts_with(websocket::PACKAGE) => self.websocket(parts, element),
            _ => self.script(element).map(SamplerKind::Script),
        };
        let name = self.text(element, &element.name);
        let sampler = kind.map(|kind| with_scope(parts, name, kind));
        parts.levels.pop();
        sampler
    }

    fn dummy(&mut self, element: &Element) -> DummySampler {
        DummySampler {
            waits: element.props.is("WAITING"),
            is_success: self.prop(element, "SUCCESFULL"),
            code: self.prop(element, "RESPONSE_CODE"),
            message: self.prop(element, "RESPONSE_MESSAGE"),
            request: self.prop(element, "REQUEST_DATA"),
            response: self.prop(element, "RESPONSE_DATA"),
            time_ms: self.prop(element, "RESPONSE_TIME"),
            latency_ms: self.prop(element, "LATENCY"),
            connect_ms: self.prop(element, "CONNECT"),
            url: self.prop(element, "URL"),
        }
    }

    fn action(&mut self, element: &Element) -> Option<SamplerKind> {
        let number = |name| element.props.text(name).trim().parse::<i32>().unwrap_or(0);
        let is_all = number("ActionProcessor.target") == 2;
        let action = match number("ActionProcessor.action") {
            0 if is_all => Action::StopTest,
            1 => Action::Pause,
            2 if is_all => Action::StopTestNow,
            0 | 2 => Action::StopThread,
            3 => Action::StartNextLoop,
            4 => Action::NextOfCurrentLoop,
            5 => Action::BreakCurrentLoop,
            other => {
                self.fault(element, format!("the action `{other}` is not known; choose it again in JMeter"));
                return None;
            }
        };
        Some(SamplerKind::Action { action, duration_ms: self.prop(element, "ActionProcessor.duration") })
    }

    fn http(&mut self, parts: &GroupParts, element: &Element) -> HttpSampler {
        let defaults: Vec<&Props> = parts
            .inner_first()
            .filter_map(|scoped| match scoped {
                Scoped::Defaults(props) => Some(&**props),
                _ => None,
            })
            .collect();
        let all = || std::iter::once(&element.props).chain(defaults.iter().copied());
        // The nearest that says something counts.
        let given = |name: &str| {
            all().map(|props| props.text(name)).find(|text| !text.is_empty()).unwrap_or_default()
        };
        let is = |name: &str| given(name).trim().eq_ignore_ascii_case("true");
        self.refuse_settings(element, &given);
        let mut text = |name: &str| self.text(element, given(name));
        let mut sampler = HttpSampler {
            protocol: text("HTTPSampler.protocol"),
            domain: text("HTTPSampler.domain"),
            port: text("HTTPSampler.port"),
            path: text("HTTPSampler.path"),
            method: text("HTTPSampler.method"),
            encoding: text("HTTPSampler.contentEncoding"),
            arguments: Vec::new(),
            has_raw_body: is("HTTPSampler.postBodyRaw"),
            files: Vec::new(),
            redirects: match (is("HTTPSampler.follow_redirects"), is("HTTPSampler.auto_redirects")) {
                (true, _) => Redirects::Followed { by_client: false },
                (false, true) => Redirects::Followed { by_client: true },
                (false, false) => Redirects::None,
            },
            keeps_alive: given("HTTPSampler.use_keepalive").trim() != "false",
            is_multipart: is("HTTPSampler.DO_MULTIPART_POST"),
            is_browser_multipart: is("HTTPSampler.BROWSER_COMPATIBLE_MULTIPART"),
            connect_timeout_ms: text("HTTPSampler.connect_timeout"),
            response_timeout_ms: text("HTTPSampler.response_timeout"),
            embedded: None,
            headers: Vec::new(),
            cookies: None,
            cache: None,
            credentials: Vec::new(),
            needs_body: false,
        };
        if is("HTTPSampler.image_parser") {
            let is_concurrent = is("HTTPSampler.concurrentDwn");
            let pool = given("HTTPSampler.concurrentPool");
            let pool = if pool.is_empty() { "6" } else { pool };
            sampler.embedded = Some(Embedded {
                at_a_time: self.text(element, if is_concurrent { pool } else { "1" }),
                allow: self.text(element, given("HTTPSampler.embedded_url_re")),
                exclude: self.text(element, given("HTTPSampler.embedded_url_exclude_re")),
            });
        }
        for props in std::iter::once(&element.props).chain(defaults.iter().copied()) {
            self.arguments(element, props, &mut sampler);
        }
        take_managers(parts, &mut sampler);
        sampler
    }

    /// What a request asks for that is not done.
    fn refuse_settings<'p>(&mut self, element: &Element, given: &impl Fn(&str) -> &'p str) {
        for (name, what) in [
            (
                "HTTPSampler.proxyHost",
                "requests through a proxy are not measured; leave the proxy's name empty",
            ),
            ("HTTPSampler.ipSource", "an address to send from cannot be chosen here; leave it empty"),
        ] {
            if !given(name).trim().is_empty() {
                self.fault(element, what.to_owned());
            }
        }
        if given("HTTPSampler.md5").trim().eq_ignore_ascii_case("true") {
            self.fault(element, "responses are not kept as MD5; leave the box empty".to_owned());
        }
    }

    /// The arguments and files of a request, those of defaults behind its own.
    fn arguments(&mut self, element: &Element, props: &Props, sampler: &mut HttpSampler) {
        let arguments =
            props.element("HTTPsampler.Arguments").map(|list| list.elements("Arguments.arguments"));
        for argument in arguments.into_iter().flatten() {
            sampler.arguments.push(Argument {
                name: self.text(element, argument.text("Argument.name")),
                value: self.text(element, argument.text("Argument.value")),
                is_encoded: argument.is("HTTPArgument.always_encode"),
                has_equals: argument.flag("HTTPArgument.use_equals").unwrap_or(true),
            });
        }
        let files = props.element("HTTPsampler.Files").map(|list| list.elements("HTTPFileArgs.files"));
        for file in files.into_iter().flatten().filter(|file| !file.text("File.path").is_empty()) {
            sampler.files.push(FileArgument {
                path: self.file_name(element, file.text("File.path")),
                parameter: self.text(element, file.text("File.paramname")),
                mime_type: self.text(element, file.text("File.mimetype")),
            });
        }
    }
}

impl GroupParts {
    /// Keeps the bodies of all responses, at which something behind them looks.
    pub(super) fn keep_bodies(&mut self) {
        for sampler in &mut self.samplers {
            if let SamplerKind::Http(http) = &mut sampler.kind {
                http.needs_body = true;
            }
        }
    }
}

/// Of managers the outermost counts, as in JMeter.
fn take_managers(parts: &GroupParts, sampler: &mut HttpSampler) {
    sampler.headers = parts.headers_in_force();
    sampler.cookies = parts.cookies_in_force();
    for scoped in parts.inner_first() {
        match scoped {
            Scoped::Cache(index) => sampler.cache = Some(*index),
            Scoped::Credentials(list) => sampler.credentials.clone_from(list),
            _ => {}
        }
    }
}

/// Processors and assertions run from the outermost to the innermost.
fn with_scope(parts: &GroupParts, name: Text, kind: SamplerKind) -> Sampler {
    let mut sampler = Sampler {
        name,
        kind,
        before: Vec::new(),
        timers: Vec::new(),
        after: Vec::new(),
        assertions: Vec::new(),
        listeners: parts.listeners(),
    };
    for scoped in parts.outer_first() {
        match scoped {
            Scoped::Before(processor) => sampler.before.push(Arc::clone(processor)),
            Scoped::After(processor) => sampler.after.push(Arc::clone(processor)),
            Scoped::Assertion(assertion) => sampler.assertions.push(Arc::clone(assertion)),
            _ => {}
        }
    }
    let timers = parts.inner_first().filter_map(|scoped| match scoped {
        Scoped::Timer(timer) => Some(Arc::clone(timer)),
        _ => None,
    });
    sampler.timers = timers.collect();
    if let SamplerKind::Http(http) = &mut sampler.kind {
        let looks_at_body = |kind: &AssertionKind| match kind {
            AssertionKind::Duration { .. } => false,
            AssertionKind::Response(assertion) => {
                !matches!(assertion.source, Source::Code | Source::Message | Source::Headers)
            }
            _ => true,
        };
        http.needs_body = !sampler.after.is_empty()
            || http.embedded.is_some()
            || sampler.assertions.iter().any(|assertion| looks_at_body(&assertion.kind));
    }
    sampler
}
