//! Which frames filters discard before a sampler sees them.

use super::socket::{SocketFrame, parse_hexadecimal};
use crate::patterns;
use crate::plan::websocket::{FrameComparison, FrameFilter, Relation};
use crate::run::context::Context;

/// True where the filter discards the frame.
pub(super) fn discards(filter: &FrameFilter, frame: &SocketFrame, context: &mut Context<'_>) -> bool {
    match (filter, frame) {
        (FrameFilter::Text(None), SocketFrame::Text(_))
        | (FrameFilter::Binary(None), SocketFrame::Binary(_)) => true,
        (FrameFilter::Text(Some(comparison)), SocketFrame::Text(text)) => {
            let value = comparison.value.value(context);
            holds_of_text(comparison.relation, &value, text) != comparison.is_negated
        }
        (FrameFilter::Binary(Some(comparison)), SocketFrame::Binary(bytes)) => {
            let value = comparison.value.value(context);
            let position = comparison.position.value(context);
            holds_of_bytes(comparison, &value, position.trim(), bytes) != comparison.is_negated
        }
        (FrameFilter::Pings { pings, .. }, SocketFrame::Ping(_)) => *pings,
        (FrameFilter::Pings { pongs, .. }, SocketFrame::Pong(_)) => *pongs,
        _ => false,
    }
}

fn holds_of_text(relation: Relation, value: &str, text: &str) -> bool {
    match relation {
        Relation::Equals => text == value,
        Relation::Contains => text.contains(value),
        Relation::StartsWith => text.starts_with(value),
        Relation::EndsWith => text.ends_with(value),
        Relation::ContainsRegex => {
            patterns::compile(value).is_ok_and(|expression| patterns::is_found(&expression, text))
        }
        Relation::EqualsRegex => patterns::is_whole(value, text).unwrap_or(false),
    }
}

/// A value that is no hexadecimal number is that of no bytes, as in the plug-in.
fn holds_of_bytes(comparison: &FrameComparison, value: &str, position: &str, bytes: &[u8]) -> bool {
    let value = parse_hexadecimal(value).unwrap_or_default();
    match comparison.relation {
        Relation::Equals => bytes == value,
        Relation::StartsWith => bytes.starts_with(&value),
        Relation::EndsWith => bytes.ends_with(&value),
        Relation::Contains | Relation::ContainsRegex | Relation::EqualsRegex => {
            match position.parse::<usize>() {
                Ok(position) => {
                    !value.is_empty() && bytes.get(position..).is_some_and(|rest| rest.starts_with(&value))
                }
                Err(_) => memchr::memmem::find(bytes, &value).is_some(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    #[test]
    fn texts_are_compared() {
        let text = "{\"type\":\"news\"}";
        assert!(holds_of_text(Relation::Contains, "news", text));
        assert!(!holds_of_text(Relation::Contains, "old", text));
        assert!(
            holds_of_text(Relation::StartsWith, "{", text) && !holds_of_text(Relation::StartsWith, "}", text)
        );
        assert!(
            holds_of_text(Relation::EndsWith, "\"}", text) && !holds_of_text(Relation::EndsWith, "{", text)
        );
        assert!(holds_of_text(Relation::Equals, text, text) && !holds_of_text(Relation::Equals, "", text));
        assert!(holds_of_text(Relation::ContainsRegex, "n.ws", text));
        assert!(!holds_of_text(Relation::EqualsRegex, "n.ws", text));
        assert!(holds_of_text(Relation::EqualsRegex, ".*n.ws.*", text));
        assert!(!holds_of_text(Relation::ContainsRegex, "(", text), "no expression finds nothing");
    }

    #[test]
    fn bytes_are_compared_anywhere_or_at_a_place() {
        let of = |relation| FrameComparison {
            relation,
            is_negated: false,
            value: Text::default(),
            position: Text::default(),
        };
        let bytes = [1, 2, 3, 2];
        let holds = |relation, value, position| holds_of_bytes(&of(relation), value, position, &bytes);
        assert!(holds(Relation::Contains, "02 03", "") && !holds(Relation::Contains, "03 03", ""));
        assert!(holds(Relation::Contains, "02", "3") && !holds(Relation::Contains, "02", "2"));
        assert!(!holds(Relation::Contains, "02", "9"));
        assert!(holds(Relation::StartsWith, "0x1", "") && holds(Relation::EndsWith, "0302", ""));
        assert!(holds(Relation::Equals, "01020302", "") && !holds(Relation::Equals, "010203", ""));
    }
}
