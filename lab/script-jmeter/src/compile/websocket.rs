//! WebSocket samplers and frame filters of the plug-in, whose class names are their tags.

use super::{Compiler, GroupParts, Scoped};
use crate::patterns;
use crate::plan::SamplerKind;
use crate::plan::websocket::{
    FrameComparison, FrameFilter, Payload, PayloadKind, Relation, WantedFrame, WebSocketAction,
    WebSocketAddress, WebSocketSampler,
};
use crate::text::Text;
use crate::tree::Element;
use std::sync::Arc;

/// How the tags of all its elements begin.
pub(super) const PACKAGE: &str = "eu.luminis.jmeter.wssampler.";
/// Where the elements say nothing, in milliseconds.
const CONNECT_TIMEOUT: &str = "20000";
const READ_TIMEOUT: &str = "6000";

impl Compiler<'_> {
    pub(super) fn websocket(&mut self, parts: &GroupParts, element: &Element) -> Option<SamplerKind> {
        let props = &element.props;
        let tag = element.tag.strip_prefix(PACKAGE)?;
        let connects_by_itself = match tag {
            "OpenWebSocketSampler" => true,
            "RequestResponseWebSocketSampler" => props.flag("createNewConnection").unwrap_or(true),
            "SingleWriteWebSocketSampler" | "SingleReadWebSocketSampler" => props.is("createNewConnection"),
            _ => false,
        };
        if !props.text("connectionId").trim().is_empty() {
            let message = "a user has one WebSocket at a time here; leave the connection's id empty, and use a group of its own \
                           for each further connection";
            self.fault(element, message.to_owned());
        }
        let action = match tag {
            "OpenWebSocketSampler" => WebSocketAction::Open,
            "RequestResponseWebSocketSampler" => WebSocketAction::Request(self.payload(element)),
            "SingleWriteWebSocketSampler" => WebSocketAction::Write(self.payload(element)),
            "SingleReadWebSocketSampler" => WebSocketAction::Read {
                wanted: match props.text("dataType").trim() {
                    "Any" => WantedFrame::Any,
                    "Binary" => WantedFrame::Binary,
                    "" if props.is("binaryPayload") => WantedFrame::Binary,
                    _ => WantedFrame::Text,
                },
                is_optional: props.is("optional"),
            },
            "PingPongSampler" => {
                WebSocketAction::PingPong { is_pong_only: props.text("type").trim() == "Pong" }
            }
            _ => WebSocketAction::Close { status: self.text_or(element, "statusCode", "1000") },
        };
        let address = connects_by_itself.then(|| WebSocketAddress {
            is_tls: props.is("TLS"),
            server: self.prop(element, "server"),
            port: self.text_or(element, "port", "80"),
            path: self.prop(element, "path"),
            connect_timeout_ms: self.text_or(element, "connectTimeout", CONNECT_TIMEOUT),
        });
        let filters = parts.outer_first().filter_map(|scoped| match scoped {
            Scoped::FrameFilter(filter) => Some(Arc::clone(filter)),
            _ => None,
        });
        Some(SamplerKind::WebSocket(Box::new(WebSocketSampler {
            action,
            address,
            read_timeout_ms: self.text_or(element, "readTimeout", READ_TIMEOUT),
            filters: filters.collect(),
            headers: parts.headers_in_force(),
            cookies: parts.cookies_in_force(),
        })))
    }

    /// A property's text, or what stands for it where the element has no such property.
    fn text_or(&mut self, element: &Element, name: &str, otherwise: &str) -> Text {
        match element.props.get(name) {
            Some(_) => self.prop(element, name),
            None => Text::literal(otherwise),
        }
    }

    fn payload(&mut self, element: &Element) -> Payload {
        let props = &element.props;
        let kind = match props.text("payloadType").trim() {
            "Binary" => PayloadKind::Binary,
            "TextStomp" => PayloadKind::Stomp,
            "" if props.is("binaryPayload") => PayloadKind::Binary,
            _ => PayloadKind::Text,
        };
        let is_of_file = props.is("loadDataFromFile");
        Payload {
            data: self.prop(element, "requestData"),
            file: is_of_file.then(|| self.file_name(element, props.text("dataFile"))),
            kind,
        }
    }

    /// A filter; none where its comparison is not known.
    pub(super) fn frame_filter(&mut self, element: &Element) -> Option<Arc<FrameFilter>> {
        let props = &element.props;
        let filter = match element.tag.strip_prefix(PACKAGE)? {
            "TextFrameFilter" => FrameFilter::Text(self.comparison(element, "IsPlain")?),
            "BinaryFrameFilter" => FrameFilter::Binary(self.comparison(element, "IsBinary")?),
            _ => {
                let chosen = props.text("filterType").trim();
                FrameFilter::Pings { pings: chosen != "FilterPongOnly", pongs: chosen != "FilterPingOnly" }
            }
        };
        Some(Arc::new(filter))
    }

    /// None within: all frames of the kind.
    #[expect(clippy::option_option, reason = "a fault, all frames, or those that compare so")]
    fn comparison(&mut self, element: &Element, all: &str) -> Option<Option<FrameComparison>> {
        let chosen = element.props.text("comparisonType").trim();
        if chosen.is_empty() || chosen == all {
            return Some(None);
        }
        let name = chosen.strip_prefix("Not").unwrap_or(chosen);
        let relation = match name {
            "Equals" => Relation::Equals,
            "Contains" => Relation::Contains,
            "StartsWith" => Relation::StartsWith,
            "EndsWith" => Relation::EndsWith,
            "ContainsRegex" => Relation::ContainsRegex,
            "EqualsRegex" => Relation::EqualsRegex,
            _ => {
                self.fault(
                    element,
                    format!("the comparison `{chosen}` is not known; choose it again in JMeter"),
                );
                return None;
            }
        };
        let value = self.prop(element, "matchValue");
        if matches!(relation, Relation::ContainsRegex | Relation::EqualsRegex)
            && let Some(fixed) = value.as_literal()
            && let Err(message) = patterns::compile(fixed)
        {
            self.fault(element, message);
        }
        let position = self.prop(element, "matchPosition");
        Some(Some(FrameComparison { relation, is_negated: chosen.starts_with("Not"), value, position }))
    }
}
