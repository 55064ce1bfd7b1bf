//! Responses of any length: the first part of their body is made at once, and the rest as the client takes it, with others of
//! the core going first in between.
//!
//! Nothing is held of the graph between two parts: writers free what they replace while a client reads slowly. A response
//! whose graph is changed while it is sent has what was there all the time once, and what came or went perhaps. A part is sent once all that
//! was seen for it may be told.
//!
//! The first part comes within the time limit, or the response is that it does not; so does each that follows, or the body is cut. How
//! long a client takes to read does not count.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use prony_graph_store::LogError;
use prony_source::http_api::{ApiResponse, AsyncResponse, BodyCut, Progress, ResponseStream};
use tokio::time::Instant;

use crate::{
    databases::{
        Database,
        settle::{self, Untold},
    },
    http_api::{error::CallError, turns},
};

/// Slots that are visited in one go: well below a millisecond, or a few where they are far apart in memory.
pub(super) const SLICE_VISITS: usize = 1024;
/// A part of a body ends with the member that makes it as long.
const SLICE_BYTES: usize = 64 << 10;

/// A body that is being written.
pub(super) trait LongBody {
    /// Writes the next part, which may be empty, and adds what was seen for it; true where there may be more.
    ///
    /// # Errors
    /// The deadline is over.
    async fn write_slice(
        &mut self,
        out: &mut Vec<u8>,
        untold: &mut Untold,
        deadline: Deadline,
    ) -> Result<bool, TooLong>;

    /// What is looked at; none where that is no graph.
    fn database(&self) -> Option<&Arc<Database>>;

    /// Whether something was written that only a success has.
    fn has_content(&self) -> bool;
}

/// It took longer than the limit to come to the next part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooLong {
    limit: Duration,
}

/// When a part has to be there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    began: Instant,
    limit: Option<Duration>,
}

impl Deadline {
    fn new(limit: Option<Duration>) -> Self {
        Self { began: Instant::now(), limit }
    }

    pub(super) fn check(self) -> Result<(), TooLong> {
        match self.limit {
            Some(limit) if self.began.elapsed() >= limit => Err(TooLong { limit }),
            _ => Ok(()),
        }
    }

    /// What comes in time.
    pub(super) async fn within<T>(self, work: impl Future<Output = T>) -> Result<T, TooLong> {
        let Some(limit) = self.limit else { return Ok(work.await) };
        tokio::time::timeout_at(self.began + limit, work).await.map_err(|_| TooLong { limit })
    }
}

impl TooLong {
    fn text(self) -> String {
        format!(
            "it took longer than {} ms (statement_timeout_ms) to look at what this asks for: make an index of the property, name a type, \
             or skip less",
            self.limit.as_millis()
        )
    }
}

impl From<TooLong> for CallError {
    fn from(too_long: TooLong) -> Self {
        Self::BadRequest(too_long.text().into())
    }
}

impl From<TooLong> for BodyCut {
    fn from(too_long: TooLong) -> Self {
        tracing::warn!("a response of a graph is cut: {}", too_long.text());
        Self(too_long.text().into())
    }
}

fn cut_as_not_durable(error: &LogError) -> BodyCut {
    let text = settle::not_durable(error);
    tracing::warn!("a response of a graph is cut: {text}");
    BodyCut(text.into())
}

#[cfg(test)]
pub(super) const fn too_long(limit: Duration) -> TooLong {
    TooLong { limit }
}

pub(super) fn is_full(out: &[u8]) -> bool {
    out.len() >= SLICE_BYTES
}

/// Goes on with a body that is begun in a response: what of it has content is sent at once, else once there is some.
pub(super) fn go_on(
    body: impl LongBody + 'static,
    response: &mut ApiResponse,
    limit: Option<Duration>,
) -> Progress {
    if body.has_content() {
        return Progress::Streams(rest_of(body, limit));
    }
    let deadline = Deadline::new(limit);
    let begun = std::mem::take(response);
    Progress::Asynchronous(Box::new(move |_body| Box::pin(first_part(body, begun, deadline))))
}

async fn first_part(
    mut body: impl LongBody + 'static,
    mut response: ApiResponse,
    deadline: Deadline,
) -> AsyncResponse {
    let mut untold = Untold::default();
    loop {
        match next_slice(&mut body, &mut response.body, &mut untold, deadline).await {
            Ok(true) if !body.has_content() => {}
            Ok(has_more) => {
                if let Err(error) = may_be_told(&body, &mut untold).await {
                    CallError::ReadNotDurable(error).write(&mut response);
                    return AsyncResponse { response, ..AsyncResponse::default() };
                }
                let rest = has_more.then(|| rest_of(body, deadline.limit));
                return AsyncResponse { response, rest, closes_connection: false };
            }
            Err(too_long) => {
                CallError::from(too_long).write(&mut response);
                return AsyncResponse { response, ..AsyncResponse::default() };
            }
        }
    }
}

/// What is not written yet. To be polled on a core's thread.
fn rest_of(body: impl LongBody + 'static, limit: Option<Duration>) -> ResponseStream {
    Box::pin(stream::unfold(Some(body), move |rest| async move {
        let mut rest = rest?;
        let (deadline, mut untold) = (Deadline::new(limit), Untold::default());
        let mut slice = Vec::with_capacity(SLICE_BYTES);
        loop {
            match next_slice(&mut rest, &mut slice, &mut untold, deadline).await {
                Ok(true) if slice.is_empty() => {}
                Ok(has_more) => {
                    if let Err(error) = may_be_told(&rest, &mut untold).await {
                        return Some((Err(cut_as_not_durable(&error)), None));
                    }
                    let has_content = !slice.is_empty();
                    return has_content.then(|| (Ok(Bytes::from(slice)), has_more.then_some(rest)));
                }
                Err(too_long) => return Some((Err(too_long.into()), None)),
            }
        }
    }))
}

/// Waits until what was seen may be told; how long that takes does not count.
async fn may_be_told(body: &impl LongBody, untold: &mut Untold) -> Result<(), LogError> {
    match body.database() {
        Some(database) => untold.behind(database).outcome().await,
        None => Ok(()),
    }
}

/// The next slice, at the turn of this body.
async fn next_slice(
    body: &mut impl LongBody,
    out: &mut Vec<u8>,
    untold: &mut Untold,
    deadline: Deadline,
) -> Result<bool, TooLong> {
    turns::next().await;
    deadline.check()?;
    body.write_slice(out, untold, deadline).await
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt as _;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Parts that take some time each; an empty one has no content.
    struct Parts(Vec<(u64, &'static str)>, bool);

    impl Parts {
        fn new(parts: &[(u64, &'static str)]) -> Self {
            Self(parts.iter().rev().copied().collect(), false)
        }
    }

    impl LongBody for Parts {
        async fn write_slice(
            &mut self,
            out: &mut Vec<u8>,
            _untold: &mut Untold,
            _deadline: Deadline,
        ) -> Result<bool, TooLong> {
            let (seconds, text) = self.0.pop().expect("there is more");
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            out.extend_from_slice(text.as_bytes());
            self.1 |= !text.is_empty();
            Ok(!self.0.is_empty())
        }

        fn database(&self) -> Option<&Arc<Database>> {
            None
        }

        fn has_content(&self) -> bool {
            self.1
        }
    }

    /// Status and body of the response; the third says whether the body was cut. The client reads one part in a minute.
    async fn respond(parts: &[(u64, &'static str)]) -> (u16, String, bool) {
        let mut response = ApiResponse { body: b"[".to_vec(), ..ApiResponse::default() };
        let Progress::Asynchronous(respond) = go_on(Parts::new(parts), &mut response, Some(LIMIT)) else {
            panic!("it has no content yet")
        };
        let AsyncResponse { response, rest, .. } =
            respond(Box::<prony_source::http_api::WholeBody>::default()).await;
        let (mut body, mut is_cut) = (response.body, false);
        if let Some(mut rest) = rest {
            while let Some(part) = rest.next().await {
                match part {
                    Ok(part) => body.extend_from_slice(&part),
                    Err(_) => is_cut = true,
                }
                tokio::time::sleep(Duration::from_secs(60)).await;
            }
        }
        (response.status.as_u16(), String::from_utf8(body).expect("it is text"), is_cut)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_part_and_each_next_one_come_within_the_limit_or_the_response_says_so() {
        // Nine seconds for each part, and as long as the client likes between them.
        let (status, body, is_cut) = respond(&[(9, "a"), (9, "b"), (4, ""), (5, "c"), (9, "]")]).await;
        assert_eq!((status, &*body, is_cut), (200, "[abc]", false));
        // Nothing comes in time: nothing was sent, and the response is an error.
        let (status, body, is_cut) = respond(&[(4, ""), (4, ""), (4, ""), (0, "a]")]).await;
        assert!(
            status == 400 && body.contains("10000 ms (statement_timeout_ms)") && !is_cut,
            "{status} {body}"
        );
        // Something was sent already: the body does not end as a whole one does.
        let (status, body, is_cut) = respond(&[(1, "a"), (4, ""), (4, ""), (4, ""), (0, "b]")]).await;
        assert_eq!((status, &*body, is_cut), (200, "[a", true));
    }
}
