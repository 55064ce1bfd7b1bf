//! What the environment says of traces: variables in the texts of options, and those that OpenTelemetry has for all programs
//! (opentelemetry.io/docs/specs/otel, "Environment Variable Specification" and "OpenTelemetry Protocol Exporter"). What the file, flags
//! and our own variables say wins over those.

use std::{borrow::Cow, collections::BTreeSet, time::Duration};

use http::HeaderValue;
use prony_source::{
    config::{Faults, Origin, substitute},
    http_api::percent,
};

use super::{
    options::Section,
    traces::{PATH, RATIO_MAX, TracesSettings, endpoint, headers, pairs, split},
    typed::Given,
};

/// Fills in variables of the environment, and what OpenTelemetry's own variables say of options that are not given.
pub(super) fn complete(
    settings: &mut TracesSettings,
    given: &[Given],
    variable: &dyn Fn(&str) -> Option<String>,
    faults: &mut Faults,
) {
    let of_traces = || given.iter().filter(|given| given.section == Section::Traces);
    let origin = |key: &str| {
        let given = of_traces().rfind(|given| given.value.option.spec().key == key);
        given.map_or(Origin::Argument, |given| given.value.origin.clone())
    };
    let mut fill = |key: &str, text: &mut String| match substitute(text, variable) {
        Ok(filled) => *text = filled,
        Err(fault) => faults.push(origin(key), fault.to_string()),
    };
    fill("endpoint", &mut settings.endpoint);
    fill("service_name", &mut settings.service_name);
    for (_, value) in &mut settings.headers {
        fill("headers", value);
    }
    for (_, value) in &mut settings.resource_attributes {
        fill("resource_attributes", value);
    }
    let known = of_traces().map(|given| given.value.option.spec().key).collect();
    let mut standard = Standard { variable, known, notes: Vec::new() };
    standard.apply(settings);
    settings.notes = standard.notes;
    match endpoint(&settings.endpoint) {
        Ok(endpoint) => settings.endpoint = endpoint,
        Err(message) => faults.push(origin("endpoint"), message),
    }
    if settings.headers.iter().any(|(_, value)| HeaderValue::from_str(value).is_err()) {
        faults.push(origin("headers"), "the value of one of the headers has characters that none may have");
    }
}

/// The variables that OpenTelemetry has for all programs. What is wrong with one is told and the variable passed over, as its
/// specification has it.
struct Standard<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
    /// Options that are given otherwise.
    known: BTreeSet<&'static str>,
    notes: Vec<String>,
}

impl Standard<'_> {
    /// Empty ones are as good as not set.
    fn value(&self, name: &str) -> Option<String> {
        (self.variable)(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    }

    fn is_open(&self, key: &str) -> bool {
        !self.known.contains(key)
    }

    /// Of the first of these variables that is set and can be read.
    fn set<T>(&mut self, names: &[&str], read: impl Fn(&str) -> Result<T, String>, mut set: impl FnMut(T)) {
        let Some((name, text)) = names.iter().find_map(|name| Some((*name, self.value(name)?))) else {
            return;
        };
        match read(&text) {
            Ok(value) => set(value),
            Err(message) => self.notes.push(format!("{name} is passed over: {message}")),
        }
    }

    fn apply(&mut self, settings: &mut TracesSettings) {
        let is_word =
            |name: &str, word: &str| self.value(name).is_some_and(|text| text.eq_ignore_ascii_case(word));
        if is_word("OTEL_SDK_DISABLED", "true") {
            settings.endpoint.clear();
            return;
        }
        if self.is_open("endpoint") && !is_word("OTEL_TRACES_EXPORTER", "none") {
            self.endpoint(settings);
        }
        if self.is_open("headers") {
            let names = ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];
            self.set(&names, |text| headers(&decoded_list(text)?), |value| settings.headers = value);
        }
        if self.is_open("ca_file") {
            let names = ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"];
            self.set(&names, |text| Ok(text.into()), |value| settings.ca_file = Some(value));
        }
        if self.is_open("compression") {
            let names = ["OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "OTEL_EXPORTER_OTLP_COMPRESSION"];
            self.set(&names, compression, |value| settings.compresses = value);
        }
        if self.is_open("timeout_ms") {
            let names = ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_TIMEOUT"];
            self.set(&names, milliseconds, |value| settings.timeout = value);
        }
        if self.is_open("batch_delay_ms") {
            self.set(&["OTEL_BSP_SCHEDULE_DELAY"], milliseconds, |value| settings.batch_delay = value);
        }
        if self.is_open("batch_spans") {
            self.set(&["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"], count, |value| settings.batch_spans = value);
        }
        if self.is_open("max_queued_spans") {
            self.set(&["OTEL_BSP_MAX_QUEUE_SIZE"], count, |value| settings.max_queued_spans = value);
        }
        self.sampler(settings);
        self.resource(settings);
    }

    fn endpoint(&mut self, settings: &mut TracesSettings) {
        let names = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let mut is_spoken = true;
        let protocol = |text: &str| match text {
            "http/protobuf" => Ok(true),
            other => Err(format!("`{other}` is not spoken here, and nothing is traced; write http/protobuf")),
        };
        let before = self.notes.len();
        self.set(&names, protocol, |value| is_spoken = value);
        if !is_spoken || self.notes.len() > before {
            return;
        }
        let found = &mut settings.endpoint;
        if self.value("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT").is_some() {
            // As it is.
            let read = |text: &str| {
                let (base, uri) = split(text)?;
                Ok(if uri.path().is_empty() { format!("{base}/") } else { text.to_owned() })
            };
            self.set(&["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], read, |value| *found = value);
        } else {
            let read = |text: &str| {
                let (base, uri) = split(text)?;
                Ok(format!("{base}{}{PATH}", uri.path().trim_end_matches('/')))
            };
            self.set(&["OTEL_EXPORTER_OTLP_ENDPOINT"], read, |value| *found = value);
        }
    }

    fn sampler(&mut self, settings: &mut TracesSettings) {
        let argument = self.value("OTEL_TRACES_SAMPLER_ARG");
        let ratio = || argument.as_deref().map_or(Ok(RATIO_MAX), billionths);
        let read = |text: &str| {
            let (follows, name) = match text.strip_prefix("parentbased_") {
                Some(name) => (true, name),
                None => (false, text),
            };
            let share = match name {
                "always_on" => RATIO_MAX,
                "always_off" => 0,
                "traceidratio" => ratio().map_err(|message| format!("OTEL_TRACES_SAMPLER_ARG: {message}"))?,
                _ => return Err(format!("`{text}` is no sampler that is known here")),
            };
            Ok((follows, share))
        };
        let is_open = [self.is_open("follow_parent"), self.is_open("sample_ratio")];
        self.set(&["OTEL_TRACES_SAMPLER"], read, |(follows, share)| {
            if is_open[0] {
                settings.follows_parent = follows;
            }
            if is_open[1] {
                settings.sample_billionths = share;
            }
        });
    }

    /// Attributes of the file and of the variable are together, those of the file first.
    fn resource(&mut self, settings: &mut TracesSettings) {
        let mut found = Vec::new();
        let read = |text: &str| pairs(&decoded_list(text)?, "attributes");
        self.set(&["OTEL_RESOURCE_ATTRIBUTES"], read, |value| found = value);
        let mut name = None;
        for (key, value) in found {
            if key == "service.name" {
                name = Some(value);
            } else if settings.resource_attributes.iter().all(|(known, _)| *known != key) {
                settings.resource_attributes.push((key, value));
            }
        }
        if self.is_open("service_name") {
            let given = self.value("OTEL_SERVICE_NAME").or(name);
            settings.service_name = given.unwrap_or_else(|| std::mem::take(&mut settings.service_name));
        }
    }
}

/// `key=value,key=value`, with values in percent-encoding (W3C Baggage, section 3.3).
fn decoded_list(text: &str) -> Result<Vec<String>, String> {
    let decoded = |part: &str| percent::text(part.trim()).map(Cow::into_owned);
    text.split(',')
        .map(decoded)
        .collect::<Option<_>>()
        .ok_or_else(|| "its percent-encoding is wrong".to_owned())
}

fn compression(text: &str) -> Result<bool, String> {
    match text {
        "gzip" => Ok(true),
        "none" => Ok(false),
        other => Err(format!("`{other}` is neither gzip nor none")),
    }
}

fn milliseconds(text: &str) -> Result<Duration, String> {
    count(text).map(|number| Duration::from_millis(number as u64))
}

fn count(text: &str) -> Result<usize, String> {
    let number = text.parse::<u32>().ok().filter(|number| *number > 0);
    number.map(|number| number as usize).ok_or_else(|| format!("`{text}` is no whole number from 1 on"))
}

/// A share from 0 to 1.
fn billionths(text: &str) -> Result<u64, String> {
    let ratio = text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    let share = ratio.map(|ratio| (ratio * RATIO_MAX as f64).round() as u64);
    share.ok_or_else(|| format!("`{text}` is no number from 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of these variables where nothing else is given.
    fn of(variables: &[(&str, &str)]) -> TracesSettings {
        let (settings, faults) = completed(TracesSettings::default(), variables);
        assert_eq!(faults, Faults::default());
        settings
    }

    fn completed(mut settings: TracesSettings, variables: &[(&str, &str)]) -> (TracesSettings, Faults) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut faults = Faults::default();
        complete(&mut settings, &[], &variable, &mut faults);
        (settings, faults)
    }

    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318");

    #[test]
    fn nothing_is_traced_unless_somebody_says_where_to() {
        assert!(!of(&[]).is_on());
        assert!(!of(&[("OTEL_SERVICE_NAME", "shop"), ("OTEL_TRACES_SAMPLER", "always_on")]).is_on());
        for off in [("OTEL_SDK_DISABLED", "TRUE"), ("OTEL_TRACES_EXPORTER", "none")] {
            assert!(!of(&[BASE, off]).is_on(), "{off:?}");
        }
        let given = TracesSettings { endpoint: "http://here:1".to_owned(), ..TracesSettings::default() };
        assert!(
            !completed(given, &[("OTEL_SDK_DISABLED", "true")]).0.is_on(),
            "it counts for what is given otherwise"
        );
        assert!(of(&[BASE, ("OTEL_SDK_DISABLED", "false")]).is_on());
    }

    #[test]
    fn addresses_are_completed_as_each_variable_has_it() {
        for (name, value, expected) in [
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318", "http://c:4318/v1/traces"),
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://c/otlp/", "https://c/otlp/v1/traces"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/otlp", "https://c/otlp"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://c:4318/", "http://c:4318/v1/traces"),
        ] {
            assert_eq!(of(&[(name, value)]).endpoint, expected, "{name}={value}");
        }
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t:1/v1/traces");
        assert_eq!(of(&[BASE, traces]).endpoint, traces.1, "the special one wins");
        assert_eq!(endpoint("http://c:4318").as_deref(), Ok("http://c:4318/v1/traces"));
        assert_eq!(endpoint("http://c:4318/x").as_deref(), Ok("http://c:4318/x"));
        for wrong in ["collector:4318", "grpc://c:4317", "http://", "/v1/traces", "http://u:secret@c/"] {
            let message = endpoint(wrong).unwrap_err();
            assert!(!message.contains("secret"), "{message}");
        }
    }

    #[test]
    fn the_other_variables_are_read_as_elsewhere() {
        let settings = of(&[
            BASE,
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%2Cb, x-tenant = blue"),
            ("OTEL_SERVICE_NAME", "shop"),
            ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,deployment.environment.name=te%20st"),
            ("OTEL_TRACES_SAMPLER", "traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "ca.pem"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "77"),
        ]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(settings.headers, [pair("api-key", "a,b"), pair("x-tenant", "blue")]);
        assert_eq!(settings.service_name, "shop");
        assert_eq!(settings.resource_attributes, [pair("deployment.environment.name", "te st")]);
        assert_eq!((settings.sample_billionths, settings.follows_parent), (250_000_000, false));
        assert!(settings.compresses && settings.notes.is_empty());
        assert_eq!(settings.ca_file.as_deref(), Some("ca.pem".as_ref()));
        assert_eq!((settings.timeout.as_millis(), settings.max_queued_spans), (2500, 77));
        assert!(!format!("{settings:?}").contains("blue"), "headers are not shown");
        for (sampler, expected) in [
            ("parentbased_always_on", (RATIO_MAX, true)),
            ("parentbased_always_off", (0, true)),
            ("parentbased_traceidratio", (RATIO_MAX, true)),
            ("always_on", (RATIO_MAX, false)),
        ] {
            let settings = of(&[BASE, ("OTEL_TRACES_SAMPLER", sampler)]);
            assert_eq!((settings.sample_billionths, settings.follows_parent), expected, "{sampler}");
        }
    }

    #[test]
    fn what_is_wrong_in_a_variable_is_told_and_passed_over() {
        for (name, value) in [
            ("OTEL_TRACES_SAMPLER", "jaeger_remote"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "secret-without-name"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a=%zz"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "0"),
            ("OTEL_EXPORTER_OTLP_COMPRESSION", "zstd"),
        ] {
            let settings = of(&[BASE, (name, value)]);
            assert_eq!(settings.notes.len(), 1, "{name}={value}: {:?}", settings.notes);
            assert!(
                settings.is_on() && settings.notes[0].contains(name) && !settings.notes[0].contains("secret")
            );
        }
        let settings = of(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert!(!settings.is_on() && settings.notes[0].contains("grpc"), "{settings:?}");
        let sampler = of(&[BASE, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "7")]);
        assert_eq!((sampler.notes.len(), sampler.sample_billionths), (1, RATIO_MAX));
    }

    #[test]
    fn secrets_may_stand_in_the_environment_alone() {
        let given = TracesSettings {
            endpoint: "http://${COLLECTOR}:4318".to_owned(),
            headers: vec![("authorization".to_owned(), "Bearer ${TOKEN}".to_owned())],
            ..TracesSettings::default()
        };
        let (settings, faults) = completed(given.clone(), &[("COLLECTOR", "c"), ("TOKEN", "t")]);
        assert_eq!((faults.0.len(), settings.endpoint.as_str()), (0, "http://c:4318/v1/traces"));
        assert_eq!(settings.headers[0].1, "Bearer t");
        let (_, faults) = completed(given.clone(), &[("COLLECTOR", "c")]);
        assert!(faults.to_string().contains("TOKEN"), "{faults}");
        let (_, faults) = completed(given, &[("COLLECTOR", "c"), ("TOKEN", "a\nb")]);
        assert!(faults.to_string().contains("headers") && !faults.to_string().contains("a\nb"), "{faults}");
    }
}
