//! One sample: what a sampler did, how it was judged, and what is kept of the response.

use crate::encodings;
use crate::plan::OnError;
use crate::run::request::Sent;
use crate::run::shared::Clock;
use compact_str::CompactString;
use prony_http_session::headers::ResponseHead;
use prony_jtl::Sample;
use prony_model::Nanos;
use std::borrow::Cow;
use std::sync::Arc;

/// As JMeter's `SampleResult`, without sub-results: what belongs to one sample is summed up in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SampleResult {
    pub(crate) label: CompactString,
    /// A status, or `Non HTTP response code: …`; empty where there is none.
    pub(crate) code: CompactString,
    pub(crate) message: CompactString,
    pub(crate) is_success: bool,
    /// Of the assertions that failed.
    pub(crate) failure: String,
    pub(crate) assertions: Vec<AssertionResult>,
    pub(crate) start: Nanos,
    pub(crate) end: Nanos,
    /// Time that does not count, such as that of timers.
    pub(crate) idle: Nanos,
    /// From the start to the first byte.
    pub(crate) latency: Nanos,
    pub(crate) connect: Nanos,
    pub(crate) url: Option<Arc<str>>,
    /// The request over HTTP; few look at what was sent, so that it is put into words when they do.
    pub(crate) sent: Option<Arc<Sent>>,
    /// What other samples have sent.
    pub(crate) own_headers: String,
    pub(crate) own_data: Vec<u8>,
    /// As received.
    pub(crate) head: Vec<u8>,
    /// Without its codings.
    pub(crate) body: Vec<u8>,
    pub(crate) data_type: &'static str,
    /// As received, with those of its parts.
    pub(crate) bytes: u64,
    /// How many of them were heads of responses.
    pub(crate) head_bytes: u64,
    pub(crate) sent_bytes: u64,
    /// Neither counted nor written.
    pub(crate) is_ignored: bool,
    /// Where it is part of a transaction: how many of the samples that follow it are parts of its own.
    pub(crate) own_parts: usize,
    /// What a script wants of its user behind the sample.
    pub(crate) then: OnError,
}

/// What one assertion said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AssertionResult {
    pub(crate) name: CompactString,
    /// Empty where it holds.
    pub(crate) failure: String,
}

impl SampleResult {
    pub(crate) fn elapsed(&self) -> Nanos {
        self.end.since(self.start).since(self.idle)
    }

    pub(crate) fn elapsed_ms(&self) -> u64 {
        milliseconds(self.elapsed())
    }

    pub(crate) fn latency_ms(&self) -> u64 {
        milliseconds(self.latency)
    }

    pub(crate) fn connect_ms(&self) -> u64 {
        milliseconds(self.connect)
    }

    /// In the encoding that the response names, or else UTF-8.
    pub(crate) fn body_text(&self) -> Cow<'_, str> {
        if self.body.is_ascii() {
            return String::from_utf8_lossy(&self.body);
        }
        encodings::decode(&self.body, encodings::charset_of(&self.content_type()))
    }

    /// Those that were sent, as JMeter shows them.
    pub(crate) fn request_headers(&self) -> Cow<'_, str> {
        match &self.sent {
            Some(sent) => Cow::Owned(sent.headers()),
            None => Cow::Borrowed(&self.own_headers),
        }
    }

    /// What was sent, as JMeter shows it.
    pub(crate) fn request_data(&self) -> Cow<'_, [u8]> {
        match &self.sent {
            Some(sent) => Cow::Owned(sent.shown()),
            None => Cow::Borrowed(&self.own_data),
        }
    }

    /// Status line and headers, as JMeter shows them.
    pub(crate) fn response_headers(&self) -> String {
        String::from_utf8_lossy(&self.head).replace("\r\n", "\n").trim_end_matches('\n').to_owned() + "\n"
    }

    pub(crate) fn content_type(&self) -> String {
        let value = ResponseHead::new(&self.head).first("content-type").unwrap_or_default();
        String::from_utf8_lossy(value).into_owned()
    }

    /// Takes what assertions have said: the first failure's message is the sample's.
    pub(crate) fn take_assertion(&mut self, result: AssertionResult) {
        if !result.failure.is_empty() {
            self.is_success = false;
        }
        self.note_assertion(result);
    }

    /// Keeps what was said of the sample without judging it.
    pub(crate) fn note_assertion(&mut self, result: AssertionResult) {
        if self.failure.is_empty() {
            self.failure.clone_from(&result.failure);
        }
        self.assertions.push(result);
    }

    /// What a file of results has of it.
    pub(crate) fn row<'a>(&'a self, place: &RowPlace<'a>) -> Sample<'a> {
        Sample {
            timestamp_ms: place.clock.unix_ms(self.start),
            elapsed_ms: self.elapsed_ms(),
            label: Cow::Borrowed(&self.label),
            response_code: Cow::Borrowed(&self.code),
            response_message: Cow::Borrowed(&self.message),
            thread_name: Cow::Borrowed(place.thread_name),
            data_type: Cow::Borrowed(self.data_type),
            is_success: self.is_success,
            failure_message: Cow::Borrowed(&self.failure),
            bytes: self.bytes,
            sent_bytes: self.sent_bytes,
            group_threads: place.group_threads,
            all_threads: place.all_threads,
            url: self.url.as_deref().map(Cow::Borrowed),
            latency_ms: self.latency_ms(),
            idle_ms: milliseconds(self.idle),
            connect_ms: self.connect_ms(),
        }
    }
}

/// What a row says that no sample knows itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowPlace<'a> {
    pub(crate) clock: &'a Clock,
    pub(crate) thread_name: &'a str,
    pub(crate) group_threads: u32,
    pub(crate) all_threads: u32,
}

const fn milliseconds(time: Nanos) -> u64 {
    time.0 / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_read_in_the_encoding_that_its_response_names() {
        let body = |content_type: &str, body: &[u8]| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n").into_bytes();
            SampleResult { head, body: body.to_vec(), ..SampleResult::default() }.body_text().into_owned()
        };
        assert_eq!(body("text/html; charset=ISO-8859-1", b"caf\xe9"), "café");
        assert_eq!(body("text/html", "café".as_bytes()), "café");
    }
}
