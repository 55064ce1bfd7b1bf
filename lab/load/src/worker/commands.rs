//! What waiting programs ask for along with a step: calls, WebSockets, channels, and what is given up of them.

use super::Worker;
use super::request::{Context, Open, Purpose};
use crate::error::WorkerError;
use crate::users::UserIndex;
use prony_client::targets::TargetId;
use prony_client::{PoolId, RequestId, RequestOptions, Route};
use prony_model::Nanos;
use prony_model::plan::target::ChannelProtocol;
use prony_model::program::call::{Ask, AskId, Call, ChannelOpening, SocketOpening, StreamOpening};
use prony_model::program::{Outgoing, ProgramError, Step};
use std::mem;

impl Worker<'_> {
    /// Counts what the program has counted itself; the first is as late as its user's iteration began.
    pub(super) fn take_records(&mut self, user: UserIndex) {
        for mut record in self.outgoing.records.drain(..) {
            let lag = self.machine.take_start_lag(user);
            record.scheduled = Nanos(record.scheduled.0.saturating_sub(lag.0));
            self.recorder.sent(1, record.started);
            self.recorder.ended(&record);
        }
    }

    /// Counts what a program would have counted itself and cannot, because its user was interrupted.
    pub(super) fn take_unfinished(&mut self) {
        let count = mem::take(&mut self.outgoing.unfinished);
        if count > 0 {
            let now = self.client.now();
            self.recorder.sent(count, now);
            self.recorder.abandoned(count, now);
        }
    }

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
                if let Some(open) = self.find(user, id) {
                    self.forget(user, open.request);
                    self.abandon_one(open);
                }
            }
            Ask::CloseConnections => self.client.close_idle(PoolId(user.0)),
            Ask::OpenChannel(opening) => self.open_channel(user, &opening, now)?,
            Ask::OpenStream(opening) => self.open_stream(user, opening, text, now)?,
            Ask::SendBytes { id, bytes, is_last } => self.send_bytes(user, id, bytes, is_last),
            Ask::KeepChannel(id) => {
                if let Some(open) = self.find(user, id) {
                    self.forget(user, open.request);
                    self.client.keep_channel(open.request);
                }
            }
            Ask::CloseChannel(target) => self.client.close_channel(self.channel_route(user, target)),
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
        let is_counted = call.request.is_some();
        let mut scheduled = now;
        if is_counted {
            scheduled = Nanos(now.0.saturating_sub(self.machine.take_start_lag(user).0));
            self.recorder.sent(1, now);
        }
        let options = RequestOptions {
            is_head: call.is_head,
            keep: call.keep,
            timeout: call.timeout,
            is_fresh: call.is_fresh,
            is_repeatable: true,
            wants_times: true,
            is_streamed: false,
        };
        let purpose = Purpose::Call { id: call.id, is_counted, expects: call.expects };
        let context = Context { user, request: call.request.unwrap_or(0), scheduled, purpose };
        let request = self.client.send(self.own_route(user, call.target), text, options, now, context)?;
        self.open[user.0 as usize].push(Open { id: call.id, request, is_counted, outlives_iteration: false });
        Ok(())
    }

    fn open_websocket(
        &mut self,
        user: UserIndex,
        opening: SocketOpening,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let SocketOpening { id, target, text: range, timeout, outlives_iteration } = opening;
        let Some(text) = text.get(range) else {
            return Err(ProgramError::WebSocketWithoutText.into());
        };
        let context = Context { user, request: 0, scheduled: now, purpose: Purpose::WebSocket { id } };
        let request =
            self.client.open_websocket(self.own_route(user, target), text, timeout, now, context)?;
        self.open[user.0 as usize].push(Open { id, request, is_counted: false, outlives_iteration });
        Ok(())
    }

    // ---- channels

    fn open_channel(
        &mut self,
        user: UserIndex,
        opening: &ChannelOpening,
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let ChannelOpening { id, target, timeout } = *opening;
        let named = self.shared.workload.tables().and_then(|tables| tables.targets.get(target));
        let channel = named.as_ref().and_then(|target| target.channel.as_ref());
        let Some(protocol) = channel.map(|channel| channel.protocol) else {
            return Err(ProgramError::NoChannel.into());
        };
        let context = Context { user, request: 0, scheduled: now, purpose: Purpose::Channel { id } };
        let (route, speaks_http2) = (self.channel_route(user, target), protocol == ChannelProtocol::Http2);
        let request = self.client.open_channel(route, speaks_http2, timeout, now, context)?;
        self.open[user.0 as usize].push(Open { id, request, is_counted: false, outlives_iteration: false });
        Ok(())
    }

    fn open_stream(
        &mut self,
        user: UserIndex,
        opening: StreamOpening,
        text: &[u8],
        now: Nanos,
    ) -> Result<(), WorkerError> {
        let StreamOpening { id, target, request, text: range, timeout, expects } = opening;
        let Some(text) = text.get(range) else {
            return Err(ProgramError::CallWithoutText.into());
        };
        let is_counted = request.is_some();
        let mut scheduled = now;
        if is_counted {
            scheduled = Nanos(now.0.saturating_sub(self.machine.take_start_lag(user).0));
            self.recorder.sent(1, now);
        }
        let purpose = Purpose::Stream { id, is_counted, expects };
        let context = Context { user, request: request.unwrap_or(0), scheduled, purpose };
        let route = self.channel_route(user, target);
        let request = self.client.open_stream(route, text, timeout, now, context)?;
        self.open[user.0 as usize].push(Open { id, request, is_counted, outlives_iteration: false });
        Ok(())
    }

    fn send_bytes(&mut self, user: UserIndex, id: AskId, bytes: Vec<u8>, is_last: bool) {
        let Some(open) = self.find(user, id) else { return };
        if self.client.get(open.request).is_some() {
            self.client.send_body(open.request, bytes, is_last);
        } else {
            self.client.send_frames(open.request, &bytes);
        }
    }

    /// Channels are kept apart from the connections of calls, which may end with each iteration.
    fn channel_route(&self, user: UserIndex, target: usize) -> Route {
        let pool = PoolId(self.machine.users().len() as u32 + user.0);
        Route { pool, ..self.own_route(user, target) }
    }

    /// The user takes part no more: nothing of it stays open.
    pub(super) fn close_all(&mut self, user: UserIndex) {
        for open in mem::take(&mut self.open[user.0 as usize]) {
            self.abandon_one(open);
        }
        self.client.close_idle(PoolId(user.0));
        if self.shared.workload.tables().is_some() {
            self.client.close_idle(self.channel_route(user, 0).pool);
        }
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

    /// Gives up what the user's program has asked for, as its iteration ends: calls first, WebSockets behind them.
    pub(super) fn abandon(&mut self, user: UserIndex) {
        if self.open[user.0 as usize].is_empty() {
            return;
        }
        let mut open = mem::take(&mut self.open[user.0 as usize]);
        open.sort_by_key(|open| !open.is_counted);
        for open in open.extract_if(.., |open| !open.outlives_iteration) {
            self.abandon_one(open);
        }
        self.open[user.0 as usize] = open;
    }

    fn abandon_one(&mut self, open: Open) {
        let now = self.client.now();
        self.recorder.abandoned(u32::from(open.is_counted), now);
        self.client.abandon(open.request);
    }
}
