//! What users do with their WebSockets: samples begun, what comes over the connection whatever its user is doing, and what is waited for.

use crate::plan::SamplerKind;
use crate::run::context::Context;
use crate::run::user::{Doing, Flow, Runner, SampleOrigin, User};
use crate::run::websocket::{Progress, SocketWire, WebSocketSample};
use crate::text;
use compact_str::CompactString;
use prony_model::program::call::{Ask, AskId, CallBytes, SocketEvent};
use prony_model::program::{ProgramError, Step};
use std::mem;

impl Runner<'_, '_> {
    /// Begins a sample; the error is the step with which the user waits for it.
    pub(super) fn begin_websocket(
        &mut self,
        user: &mut User,
        index: usize,
        label: CompactString,
    ) -> Result<Flow, Step> {
        let begun = self
            .with_websocket(user, index, |wire, context| WebSocketSample::begin(index, label, wire, context));
        let Some((sample, progress)) = begun else { return Ok(Flow::On) };
        self.after_websocket(user, Box::new(sample), progress)
    }

    /// Something has come over a user's connection, whatever it is doing.
    pub(super) fn websocket_event(
        &mut self,
        user: &mut User,
        socket: AskId,
        event: SocketEvent<'_>,
        bytes: CallBytes,
    ) -> Result<Step, ProgramError> {
        if socket != user.socket.id() {
            return Ok(self.wait_on(user));
        }
        match mem::take(&mut user.doing) {
            Doing::WebSocket(mut sample) => {
                let progress = self.with_websocket(user, sample.sampler, |wire, context| {
                    sample.heard(event, bytes, wire, context)
                });
                self.go_on(user, sample, progress)
            }
            doing => {
                user.doing = doing;
                if user.socket.take(event) {
                    self.out.asks.push(Ask::DropCall(socket));
                }
                Ok(self.wait_on(user))
            }
        }
    }

    pub(super) fn websocket_woken(
        &mut self,
        user: &mut User,
        mut sample: Box<WebSocketSample>,
    ) -> Result<Step, ProgramError> {
        let progress = self.with_websocket(user, sample.sampler, |wire, context| sample.woken(wire, context));
        self.go_on(user, sample, progress)
    }

    /// With what a WebSocket sampler needs; none where the sampler is another one.
    fn with_websocket<R>(
        &mut self,
        user: &mut User,
        index: usize,
        run: impl FnOnce(&mut SocketWire<'_, '_>, &mut Context<'_>) -> R,
    ) -> Option<R> {
        let group = &self.workload.groups[user.group];
        let SamplerKind::WebSocket(websocket) = &group.group.samplers[index].kind else { return None };
        let mut context = Context {
            vars: &mut user.vars,
            thread: &mut user.thread,
            shared: &self.workload.shared,
            engine: self.engine,
            evaluate_text: text::evaluate,
        };
        let mut wire = SocketWire {
            tables: &self.workload.tables,
            out: self.out,
            web: &mut user.web,
            socket: &mut user.socket,
            websocket,
        };
        Some(run(&mut wire, &mut context))
    }

    fn go_on(
        &mut self,
        user: &mut User,
        sample: Box<WebSocketSample>,
        progress: Option<Progress>,
    ) -> Result<Step, ProgramError> {
        let progress = progress.unwrap_or(Progress::Ended);
        match self.after_websocket(user, sample, progress) {
            Ok(flow) => self.follow(user, flow),
            Err(step) => Ok(step),
        }
    }

    fn after_websocket(
        &mut self,
        user: &mut User,
        sample: Box<WebSocketSample>,
        progress: Progress,
    ) -> Result<Flow, Step> {
        if let Progress::Waits(until) = progress {
            user.doing = Doing::WebSocket(sample);
            return Err(Step::Wait(until.map(|until| until.since(self.now()))));
        }
        let made = sample.transport.map_or(SampleOrigin::Requested, SampleOrigin::Failing);
        let WebSocketSample { sampler, result, parts, .. } = *sample;
        Ok(self.finish(user, sampler, result, parts, made))
    }

    /// The user waits for what it waited for, as long as it has still to.
    fn wait_on(&self, user: &User) -> Step {
        Step::Wait(user.wake_at.map(|at| at.since(self.now())))
    }
}
