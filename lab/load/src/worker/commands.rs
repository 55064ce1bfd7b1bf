//! What waiting programs ask for along with a step: calls, WebSockets, and what is given up of them.

use super::Worker;
use super::request::{Context, Open, Purpose};
use crate::error::WorkerError;
use crate::users::UserIndex;
use prony_client::targets::TargetId;
use prony_client::{PoolId, RequestId, RequestOptions, Route};
use prony_model::Nanos;
use prony_model::program::call::{Ask, AskId, Call, SocketOpening};
use prony_model::program::{Outgoing, ProgramError, Step};
use std::mem;

impl Worker<'_> {
    /// Begins what the program has asked for along with its step.
    pub(super) fn begin_commands(&mut self, user: UserIndex, step: Step) -> Result<(), WorkerError> {
        if self.outgoing.asks.is_empty() {
            return Ok(());
        }
        if matches!(step, Step::Send | Step::Pause(_)) {
            return Err(ProgramError::AskWithoutWait.into());
        }
        self.machine.note_open(user);
        let mut outgoing = mem::take(&mut self.outgoing);
        let Outgoing { asks, text, .. } = &mut outgoing;
        let now = self.client.now();
        let begun = asks.drain(..).try_for_each(|ask| self.begin_command(user, ask, text, now));
        self.outgoing = outgoing;
        begun
    }

    fn begin_command(
        &mut self,
        user: UserIndex,
        ask: Ask,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        match ask {
            Ask::Call(call) => self.begin_call(user, call, text, now)?,
            Ask::DropCall(id) => {
                if let Some(open) = self.find(user, id).filter(|open| open.is_counted) {
                    self.forget(user, open.request);
                    self.abandon_one(open);
                }
            }
            Ask::CloseConnections => self.client.close_idle(PoolId(user.0)),
            Ask::OpenSocket(opening) => self.open_websocket(user, opening, text, now)?,
            Ask::SendSocket(id, message) => {
                if let Some(open) = self.find(user, id) {
                    self.client.send_message(open.request, message);
                }
            }
            Ask::CloseSocket(id, close) => {
                if let Some(open) = self.find(user, id) {
                    self.client.close_websocket(open.request, close);
                }
            }
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        user: UserIndex,
        call: Call,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let Some(text) = text.get(call.text.clone()) else {
            return Err(ProgramError::CallWithoutText.into());
        };
        let scheduled = Nanos(now.0.saturating_sub(self.machine.take_start_lag(user).0));
        self.recorder.sent(1, now);
        let options = RequestOptions {
            is_head: call.is_head,
            keep: call.keep,
            timeout: call.timeout,
            is_fresh: call.is_fresh,
            is_repeatable: true,
            wants_times: true,
            is_streamed: false,
        };
        let purpose = Purpose::Call { id: call.id, expects: call.expects };
        let context = Context { user, request: call.request, scheduled, purpose };
        let request = self.client.send(self.own_route(user, call.target), text, options, now, context)?;
        self.open[user.0 as usize].push(Open { id: call.id, request, is_counted: true });
        Ok(())
    }

    fn open_websocket(
        &mut self,
        user: UserIndex,
        opening: SocketOpening,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let SocketOpening { id, target, text: range, timeout } = opening;
        let Some(text) = text.get(range) else {
            return Err(ProgramError::WebSocketWithoutText.into());
        };
        let context = Context { user, request: 0, scheduled: now, purpose: Purpose::WebSocket { id } };
        let request =
            self.client.open_websocket(self.own_route(user, target), text, timeout, now, context)?;
        self.open[user.0 as usize].push(Open { id, request, is_counted: false });
        Ok(())
    }

    /// Connections of waiting programs are their user's own.
    fn own_route(&self, user: UserIndex, target: usize) -> Route {
        let number = self.machine.place_of(user).number;
        Route { pool: PoolId(user.0), target: TargetId(target as u32), user: number }
    }

    /// Few of each user, so they are searched from one end to the other.
    fn find(&self, user: UserIndex, id: AskId) -> Option<Open> {
        self.open[user.0 as usize].iter().copied().find(|open| open.id == id)
    }

    /// It has come to its end.
    pub(super) fn forget(&mut self, user: UserIndex, request: RequestId) {
        let open = &mut self.open[user.0 as usize];
        if let Some(at) = open.iter().position(|open| open.request == request) {
            open.swap_remove(at);
        }
    }

    /// Gives up all that the user's program has asked for: calls first, WebSockets behind them.
    pub(super) fn abandon(&mut self, user: UserIndex) {
        if self.open[user.0 as usize].is_empty() {
            return;
        }
        let mut open = mem::take(&mut self.open[user.0 as usize]);
        open.sort_by_key(|open| !open.is_counted);
        for open in open.drain(..) {
            self.abandon_one(open);
        }
        self.open[user.0 as usize] = open;
    }

    fn abandon_one(&mut self, open: Open) {
        self.recorder.abandoned(u32::from(open.is_counted));
        self.client.abandon(open.request);
    }
}
