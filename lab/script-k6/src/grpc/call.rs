//! A call or a stream with what has come of it; knows no JavaScript.

use super::frames::Decoder;
use super::reflection::Reflection;
use super::status::{Code, Fields, Status, dial_error, fields_of};
use crate::vm::{ChannelArrival, Failed};
use prony_metrics::Tags;
use prony_model::TransportError;
use prony_model::program::call::{AskId, CallFaultKind, Peer};
use prony_model::units::Nanos;
use prost_reflect::{DescriptorPool, MessageDescriptor};
use std::collections::{HashMap, VecDeque};

/// A user's calls, kept in [`crate::host::UserState::data`].
#[derive(Debug, Default)]
pub(super) struct Calls(pub(super) HashMap<AskId, GrpcCall>);

#[derive(Debug)]
pub(super) struct GrpcCall {
    pub(super) form: GrpcForm,
    /// Index into the run's targets.
    pub(super) target: usize,
    /// How its connection is named where it cannot be opened.
    pub(super) address: String,
    pub(super) began: Nanos,
    /// The user's when it began, and its own on top of them.
    pub(super) tags: Tags,
    pub(super) own_tags: Vec<(String, String)>,
    pub(super) send_bytes_max: usize,
    decoder: Decoder,
    head: Option<(u16, Fields)>,
    /// Messages that were not taken yet.
    pub(super) messages: VecDeque<Vec<u8>>,
    message_count: u64,
    /// Known once it is over; nothing is heard of its stream any more.
    pub(super) end: Option<End>,
    /// The iteration that began it: what an earlier one left is gone.
    pub(super) iteration: u64,
}

/// What is done with responses.
#[derive(Debug, Clone)]
pub(super) enum GrpcForm {
    /// The connection of a client is being opened.
    Connection,
    Unary {
        output: MessageDescriptor,
        pool: DescriptorPool,
        is_discarded: bool,
    },
    Stream {
        input: MessageDescriptor,
        output: MessageDescriptor,
        pool: DescriptorPool,
        is_discarded: bool,
        /// The one message of the server is handed over with the end, as in k6.
        has_one_response: bool,
    },
    Health,
    Reflection {
        state: Box<Reflection>,
        is_last_version: bool,
    },
}

/// How a call ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) status: Status,
    pub(super) headers: Fields,
    pub(super) trailers: Fields,
    pub(super) took: Nanos,
    /// Its stream goes on and has to be given up.
    pub(super) is_early: bool,
    /// Its time was over here; that the server said so is a status like any other.
    pub(super) is_timeout: bool,
}

/// What a new call is made of.
#[derive(Debug)]
pub(super) struct CallSettings {
    pub(super) form: GrpcForm,
    pub(super) target: usize,
    pub(super) address: String,
    pub(super) tags: Tags,
    pub(super) own_tags: Vec<(String, String)>,
    pub(super) receive_bytes_max: usize,
    pub(super) send_bytes_max: usize,
}

impl GrpcCall {
    pub(super) fn new(settings: CallSettings, began: Nanos, iteration: u64) -> Self {
        let CallSettings { form, target, address, tags, own_tags, receive_bytes_max, send_bytes_max } =
            settings;
        Self {
            form,
            target,
            address,
            began,
            tags,
            own_tags,
            send_bytes_max,
            decoder: Decoder::new(receive_bytes_max),
            head: None,
            messages: VecDeque::new(),
            message_count: 0,
            end: None,
            iteration,
        }
    }

    /// Ends it before its stream is over.
    pub(super) fn end_early(&mut self, status: Status, now: Nanos) {
        let headers = self.head.take().map(|(_, fields)| fields).unwrap_or_default();
        let took = now.since(self.began);
        let end = End { status, headers, trailers: Fields::new(), took, is_early: true, is_timeout: false };
        self.end.get_or_insert(end);
    }

    /// `dial` says how a connection failed, in k6's words.
    pub(super) fn arrive(
        &mut self,
        arrival: ChannelArrival,
        dial: impl FnOnce(&Failed, &str) -> String,
        now: Nanos,
    ) {
        if self.end.is_some() {
            return;
        }
        match arrival {
            ChannelArrival::Opened { times } => {
                self.finish(Status::new(Code::OK, ""), Fields::new(), times.ended.since(times.asked));
            }
            ChannelArrival::Received { head, body, peer } => {
                self.note_peer(&peer);
                if !head.is_empty() {
                    let status = head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
                    let status = status.and_then(|digits| digits.parse().ok()).unwrap_or_default();
                    self.head = Some((status, fields_of(&head)));
                }
                self.decoder.push(&body);
                self.take_messages(now);
            }
            ChannelArrival::Ended { status, trailers, times, peer } => {
                self.note_peer(&peer);
                self.end_response(status, fields_of(&trailers), times.ended.since(times.asked));
            }
            ChannelArrival::Failed(failed) => {
                self.note_peer(&failed.peer);
                let dial = dial(&failed, &self.address);
                let status = match self.form {
                    GrpcForm::Connection if failed.fault.kind != CallFaultKind::Timeout => {
                        let error = dial_error(failed.fault.kind, &dial);
                        // k6 tries TLS again until the timeout is over.
                        let is_tls = failed.fault.kind.transport() == TransportError::Tls;
                        let prefix = if is_tls { "context deadline exceeded: " } else { "" };
                        Status::new(Code::UNAVAILABLE, format!("{prefix}connection error: desc = {error:?}"))
                    }
                    _ => Status::of_fault(failed.fault.kind, &failed.fault.message, &dial),
                };
                self.finish(status, Fields::new(), failed.times.ended.since(failed.times.asked));
                if let Some(end) = &mut self.end {
                    end.is_timeout = failed.fault.kind == CallFaultKind::Timeout;
                }
            }
        }
    }

    fn take_messages(&mut self, now: Nanos) {
        loop {
            match self.decoder.next() {
                Ok(None) => return,
                Ok(Some(message)) => {
                    self.message_count += 1;
                    self.messages.push_back(message);
                }
                Err(status) => return self.end_early(status, now),
            }
        }
    }

    /// Without trailers the response may have had them for its head.
    fn end_response(&mut self, status: u16, mut trailers: Fields, took: Nanos) {
        if trailers.is_empty()
            && let Some((_, head)) = self.head.take_if(|(_, head)| Status::of_trailers(head).is_some())
        {
            trailers = head;
        }
        let said = Status::of_trailers(&trailers);
        let said = said.unwrap_or_else(|| {
            let none = Fields::new();
            Status::of_response(status, self.head.as_ref().map_or(&none, |(_, fields)| fields))
        });
        let status = if said.is_ok() { self.checked(said) } else { said };
        self.finish(status, trailers, took);
    }

    /// A call that is no stream has one message.
    fn checked(&self, status: Status) -> Status {
        if !matches!(self.form, GrpcForm::Unary { .. } | GrpcForm::Health) {
            return status;
        }
        let refused = |what: &str| Status::new(Code::INTERNAL, format!("cardinality violation: {what}"));
        match self.message_count {
            0 => refused("received no response message from non-server-streaming RPC"),
            1 => status,
            _ => refused("expected <EOF> for non server-streaming RPCs, but received another message"),
        }
    }

    fn finish(&mut self, status: Status, trailers: Fields, took: Nanos) {
        let headers = self.head.take().map(|(_, fields)| fields).unwrap_or_default();
        self.end = Some(End { status, headers, trailers, took, is_early: false, is_timeout: false });
    }

    /// Samples of what was sent are tagged with who it was sent to.
    fn note_peer(&mut self, peer: &Peer) {
        if let Some(address) = peer.address {
            self.set_tag("ip", address.ip().to_string());
        }
    }

    pub(super) fn set_tag(&mut self, name: &str, value: String) {
        match self.own_tags.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) => *known = value,
            None => self.own_tags.push((name.to_owned(), value)),
        }
    }
}

/// Fields that belong to the protocol.
const RESERVED: [&str; 6] =
    ["grpc-message-type", "grpc-encoding", "grpc-message", "grpc-status", "grpc-timeout", "te"];

/// What a script sees of headers and trailers: not what belongs to the protocol.
pub(super) fn shown(fields: &Fields) -> serde_json::Map<String, serde_json::Value> {
    let mut shown = serde_json::Map::new();
    for (name, value) in fields.iter().filter(|(name, _)| !RESERVED.contains(&name.as_str())) {
        let values = shown.entry(name.clone()).or_insert_with(|| serde_json::Value::Array(Vec::new()));
        if let serde_json::Value::Array(values) = values {
            values.push(String::from_utf8_lossy(value).into_owned().into());
        }
    }
    shown
}
