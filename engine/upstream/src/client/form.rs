//! A form that is posted over a connection of its own, as token servers want it.

use std::fmt::Write as _;

use prony_source::ContentCoding;
use tokio::time::Instant;

use super::{
    coding::decode,
    connection::Connection,
    error::SendError,
    message::{IncomingResponse, ResponseLimits},
    transport::Connector,
};
use crate::address::Address;

/// Posts a form by HTTP/1.1; redirects are not followed.
pub(crate) async fn post_form(
    connector: &Connector,
    address: &Address,
    authorization: Option<&str>,
    form: &str,
    limits: &ResponseLimits,
) -> Result<IncomingResponse, SendError> {
    let transport = connector.open_stream(address).await?;
    let Address { target, authority, .. } = address;
    let mut request = format!(
        "POST {target} HTTP/1.1\r\nhost: {authority}\r\ncontent-type: application/x-www-form-urlencoded\r\n\
         accept: application/json\r\nconnection: close\r\ncontent-length: {}\r\n",
        form.len()
    );
    if let Some(authorization) = authorization {
        let _ = write!(request, "authorization: {authorization}\r\n");
    }
    request.push_str("\r\n");
    request.push_str(form);
    let exchanged = Connection::new(transport, Instant::now()).exchange(request.as_bytes(), limits).await?;
    let mut response = exchanged.response;
    let decoded = decode(response.coding, response.body, limits.max_bytes).await;
    response.body = decoded.map_err(|kind| SendError::sent(kind, true))?;
    response.coding = ContentCoding::Identity;
    Ok(response)
}
