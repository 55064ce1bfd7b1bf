//! What the users of one thread do when a script says so: ask it for a delay and a request, show it the answer.

use super::error::{Role, ScriptError};
use super::state::{Returned, State};
use super::text;
use super::thread::Shared;
use mlua::Value;
use prony_model::measurement::record::Outcome;
use prony_model::program::{Answer, Event, Keep, Outgoing, Program, ProgramError, Sent, Step, UserPlace};
use prony_model::units::Nanos;

/// wrk counts answers above this as errors.
const STATUS_GOOD_MAX: u16 = 399;
/// Longer delays are taken for a mistake of units.
const DELAY_MAX_MS: f64 = 86_400_000.0;

#[derive(Debug)]
pub(super) struct ScriptProgram<'a> {
    state: &'a State,
    shared: &'a Shared,
    /// As at the start, as in wrk.
    has_delay: bool,
    has_response: bool,
    has_request: bool,
    last: Rendered,
}

/// The text that was asked for last, and where its requests end.
#[derive(Debug, Default)]
struct Rendered {
    text: Vec<u8>,
    parts: Vec<text::Part>,
}

impl<'a> ScriptProgram<'a> {
    pub(super) fn new(state: &'a State, shared: &'a Shared) -> Result<Self, ScriptError> {
        let mut program = Self {
            state,
            shared,
            has_delay: state.defines(Role::Delay),
            has_response: state.defines(Role::Response),
            has_request: state.defines(Role::Request),
            last: Rendered::default(),
        };
        if !program.has_request {
            program.render()?;
        }
        Ok(program)
    }

    fn delay(&self) -> Result<Nanos, ScriptError> {
        let value: Value = self.state.call(Role::Delay, &self.state.functions().delay, ())?;
        let type_name = value.type_name();
        let millis = match value {
            // As in wrk, where what is no number is none.
            Value::Nil => Some(0.0),
            // As in wrk, where a text that says a number is one.
            other => self.state.lua.coerce_number(other).ok().flatten(),
        };
        let Some(millis) = millis else {
            let message = format!("it returned a {type_name}, not a number of milliseconds");
            return Err(self.state.fault(Role::Delay, &message));
        };
        if millis.is_nan() || millis > DELAY_MAX_MS {
            let message =
                format!("it returned {millis:e} milliseconds; at most {DELAY_MAX_MS} (a day) can be waited");
            return Err(self.state.fault(Role::Delay, &message));
        }
        Ok(Nanos::from_secs_f64(millis / 1e3))
    }

    /// Asks for the text, and counts its requests where it is another one than before.
    fn render(&mut self) -> Result<(), ScriptError> {
        let returned = self.state.ask_for_text(&mut self.last.text)?;
        if let Returned::Other(_) = returned {
            let message =
                format!("it returned {}, not the text of a request; return wrk.format(…)", returned.shown());
            return Err(self.state.fault(Role::Request, &message));
        }
        if returned == Returned::Changed || self.last.parts.is_empty() {
            let parts = text::parts(&self.last.text);
            self.last.parts = parts.map_err(|fault| self.state.fault(Role::Request, &fault.to_string()))?;
        }
        Ok(())
    }

    fn send(&mut self, out: &mut Outgoing) -> Result<Step, ScriptError> {
        if self.has_request {
            self.render()?;
        }
        let keep = if self.has_response { Keep::Whole } else { Keep::Status };
        let start = out.text.len();
        out.text.extend_from_slice(&self.last.text);
        out.requests.extend(self.last.parts.iter().map(|part| Sent {
            request: 0,
            target: 0,
            text_end: start + part.end,
            is_head: part.is_head,
            keep,
        }));
        Ok(Step::Send)
    }
}

impl Program for ScriptProgram<'_> {
    fn next(&mut self, _user: UserPlace, event: Event<'_>, out: &mut Outgoing) -> Result<Step, ProgramError> {
        if self.shared.is_stopped() {
            return Ok(Step::StopThread);
        }
        match event {
            Event::Begin if self.has_delay => Ok(Step::Pause(self.delay()?)),
            Event::Begin | Event::Paused => Ok(self.send(out)?),
            Event::Answered | Event::Failed(_) | Event::Waited(_) => Ok(Step::EndIteration),
        }
    }

    fn judge(
        &mut self,
        _user: UserPlace,
        _request: usize,
        answer: &Answer<'_>,
    ) -> Result<Outcome, ProgramError> {
        if self.has_response && !self.shared.is_stopped() {
            self.state.show_answer(answer.status, header_lines(answer.head), answer.body)?;
        }
        let is_good = answer.status <= STATUS_GOOD_MAX;
        Ok(if is_good { Outcome::Success } else { Outcome::Status(answer.status) })
    }
}

/// Names and values of a head, without the spaces around values.
fn header_lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|byte| *byte == b'\n').skip(1).filter_map(|line| {
        let colon = line.iter().position(|byte| *byte == b':')?;
        Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
    })
}
