//! Reading a request's body within its limits of bytes and time.

use std::{
    fmt::Display,
    pin::{Pin, pin},
    task::Poll,
};

use bytes::{Bytes, BytesMut};
use futures_util::poll;
use http::{StatusCode, header, request::Parts};
use http_body_util::BodyExt;
use hyper::body::Body;
use prony_source::http_api::BodyError;

use super::unfinished::Unfinished;
use crate::{config::Settings, site::Site};

/// Reads the whole body. One that says it is too long is refused before it is read.
pub(crate) async fn read<B: Body<Data = Bytes, Error: Display>>(
    head: &Parts,
    body: B,
    site: &Site,
) -> Result<Bytes, BodyError> {
    let Settings { max_body_bytes: max_bytes, body_timeout: timeout, .. } = site.settings;
    let announced =
        head.headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > max_bytes as u64) {
        return Err(too_large(max_bytes));
    }
    let unfinished = site.unfinished_bodies.begin(site.access.client_network(head), &site.settings);
    let mut whole = pin!(collect(body, max_bytes, unfinished));
    // Most bodies have come with their headers, and need no timer.
    if let Poll::Ready(outcome) = poll!(whole.as_mut()) {
        return outcome;
    }
    tokio::time::timeout(timeout, whole).await.unwrap_or_else(|_| {
        let message = format!("the body took longer than {} ms (body_timeout_ms)", timeout.as_millis());
        Err(BodyError { status: StatusCode::REQUEST_TIMEOUT, message })
    })
}

fn too_large(max_bytes: usize) -> BodyError {
    let message = format!("the body is over the limit of {max_bytes} bytes (max_body_bytes)");
    BodyError { status: StatusCode::PAYLOAD_TOO_LARGE, message }
}

pub(super) fn broken(error: &impl Display) -> BodyError {
    BodyError { status: StatusCode::BAD_REQUEST, message: format!("the body broke off: {error}") }
}

/// Most bodies arrive in one piece, which is then not copied.
async fn collect<B: Body<Data = Bytes, Error: Display>>(
    body: B,
    max_bytes: usize,
    mut unfinished: Unfinished<'_>,
) -> Result<Bytes, BodyError> {
    let mut body = pin!(body);
    let first = next(&mut body).await?.unwrap_or_default();
    if first.len() > max_bytes {
        return Err(too_large(max_bytes));
    }
    if body.is_end_stream() {
        return Ok(first);
    }
    unfinished.add(first.len())?;
    let mut whole = BytesMut::from(first);
    while let Some(piece) = next(&mut body).await? {
        if whole.len() + piece.len() > max_bytes {
            return Err(too_large(max_bytes));
        }
        unfinished.add(piece.len())?;
        whole.extend_from_slice(&piece);
    }
    Ok(whole.freeze())
}

async fn next<B: Body<Data = Bytes, Error: Display>>(
    body: &mut Pin<&mut B>,
) -> Result<Option<Bytes>, BodyError> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Ok(frame)) => {
                // Trailers say nothing that we need.
                if let Ok(data) = frame.into_data() {
                    return Ok(Some(data));
                }
            }
            Some(Err(error)) => return Err(broken(&error)),
        }
    }
}
