//! The sub-protocol `graphql-transport-ws`, as PROTOCOL.md of the npm package graphql-ws has it.

use super::{Action, Close, Phase, Session, message::Message, parameters};

impl Session {
    pub(super) fn receive_transport(&mut self, message: &Message<'_>) -> Vec<Action> {
        self.answer_transport(message).unwrap_or_else(|close| self.close(close))
    }

    fn answer_transport(&mut self, message: &Message<'_>) -> Result<Vec<Action>, Close> {
        match &*message.r#type {
            "connection_init" => {
                message.check_payload().map_err(Close::invalid)?;
                if self.phase != Phase::Opening {
                    return Err(Close::too_many_inits());
                }
                self.let_in(message)
            }
            "ping" => {
                message.check_payload().map_err(Close::invalid)?;
                if let Some(renewal) = self.renewal(message)? {
                    return Ok(vec![renewal, Action::Send(r#"{"type":"pong"}"#.into())]);
                }
                let pong = match message.payload {
                    Some(payload) => format!("{{\"type\":\"pong\",\"payload\":{payload}}}").into(),
                    None => r#"{"type":"pong"}"#.into(),
                };
                Ok(vec![Action::Send(pong)])
            }
            "pong" => message.check_payload().map(|()| Vec::new()).map_err(Close::invalid),
            "subscribe" => {
                let id = message.operation().map_err(Close::invalid)?;
                if self.phase != Phase::Ready {
                    return Err(Close::unauthorized());
                }
                if self.open.contains(id) {
                    return Err(Close::doubled(id));
                }
                let parameters = parameters(message)
                    .map_err(|fault| Close::invalid(format!("Invalid message: payload: {fault}")))?;
                Ok(self.start(id, parameters))
            }
            "complete" => {
                let id = message.operation().map_err(Close::invalid)?;
                Ok(self.stop(id))
            }
            other => Err(Close::invalid(format!("Invalid message: clients send no type `{other}`"))),
        }
    }
}
