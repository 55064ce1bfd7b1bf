//! The older sub-protocol `graphql-ws`, as PROTOCOL.md of the npm package subscriptions-transport-ws has it. It has no
//! close codes of its own: before a close with one of the newer protocol's, `connection_error` says why.

use super::{
    ACKNOWLEDGED, Action, Close, Phase, Session,
    message::{self, Message},
    parameters,
};

pub(super) const KEEP_ALIVE: &str = r#"{"type":"ka"}"#;

impl Session {
    pub(super) fn receive_legacy(&mut self, message: &Message<'_>) -> Vec<Action> {
        self.answer_legacy(message).unwrap_or_else(|close| self.close(close))
    }

    fn answer_legacy(&mut self, message: &Message<'_>) -> Result<Vec<Action>, Close> {
        match &*message.r#type {
            "connection_init" => {
                message.check_payload().map_err(Close::invalid)?;
                // The protocol has no ping, and no word against a second one.
                if let Some(renewal) = self.renewal(message)? {
                    return Ok(vec![renewal, Action::Send(ACKNOWLEDGED.into())]);
                }
                if self.phase != Phase::Opening {
                    return Err(Close::too_many_inits());
                }
                let mut actions = self.let_in(message)?;
                actions.push(Action::Send(KEEP_ALIVE.into()));
                Ok(actions)
            }
            "start" => {
                let id = message.operation().map_err(Close::invalid)?;
                if self.phase != Phase::Ready {
                    return Err(Close::unauthorized());
                }
                // The id of an operation that runs is used again: the new one comes instead.
                let mut actions = self.stop(id);
                actions.extend(match parameters(message) {
                    Ok(parameters) => self.start(id, parameters),
                    Err(fault) => vec![error(id, &fault.to_string())],
                });
                Ok(actions)
            }
            "stop" => {
                let id = message.operation().map_err(Close::invalid)?;
                let mut actions = self.stop(id);
                if !actions.is_empty() {
                    actions.push(Action::Send(message::of(id, "complete").into()));
                }
                Ok(actions)
            }
            "connection_terminate" => Err(Close::normal()),
            other => Err(Close::invalid(format!("Invalid message: clients send no type `{other}`"))),
        }
    }
}

/// An operation that could not be understood.
fn error(id: &str, text: &str) -> Action {
    let payload = format!("{{\"message\":{}}}", message::quoted(text));
    Action::Send(format!("{}{payload}}}", message::head(id, "error")).into())
}

pub(super) fn connection_error(close: Close) -> Vec<Action> {
    let payload = message::quoted(&close.reason);
    let text = format!("{{\"type\":\"connection_error\",\"payload\":{{\"message\":{payload}}}}}");
    vec![Action::Send(text.into()), Action::Close(close)]
}
