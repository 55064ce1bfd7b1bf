//! `POST /explain`: what an operation becomes at its sources, for people who look for what is slow. The request is one of GraphQL
//! over HTTP, and is let in and checked as such; nothing of it is executed. It shows what databases are asked, so that it is for
//! those alone who may do everything.

use std::{fmt::Display, rc::Rc};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use hyper::body::Body;
use prony_access::{AuthRefusal, RefusalKind};
use prony_graphql::request::RequestParameters;

use super::{
    authentication,
    graphql::{Wishes, to_http},
    graphql_body::read_body,
    media::Media,
    reply::{JSON, Reply, not_allowed, reply},
};
use crate::{
    config::Settings,
    graphql::{CoreEngine, RequestContext, StageClock, explain, outcome::Seen, pipeline},
};

pub(super) const PATH: &str = "/explain";
pub(super) const ALLOW: &str = "POST, OPTIONS";

/// Whether operations are explained: where that is said, or where only this machine is let in, to everything.
pub(super) fn is_on(settings: &Settings) -> bool {
    let is_local = || settings.listen.iter().all(|address| address.ip().is_loopback());
    settings.explain.unwrap_or_else(|| settings.lets_only_this_machine_in() && is_local())
}

/// Whether who asks may be told.
pub(super) fn is_for(context: &RequestContext) -> bool {
    context.asker.as_ref().is_none_or(authentication::is_unrestricted)
}

pub(super) async fn answer<B>(core: &Rc<CoreEngine>, request: Request<B>) -> Reply
where
    B: Body<Data = Bytes, Error: Display>,
{
    if request.method() != Method::POST {
        return not_allowed(ALLOW, &format!("{} is not allowed here; use POST", request.method()));
    }
    let (head, body) = request.into_parts();
    let context = match authentication::context(&**core, &head).await {
        Ok(context) if is_for(&context) => context,
        Ok(_) => {
            let refusal = AuthRefusal::new(
                RefusalKind::RoleNotAllowed,
                "operations are explained to roles that are `unrestricted`",
            );
            authentication::note(&**core, &refusal, authentication::address(&**core, &head));
            return authentication::refused(&refusal);
        }
        Err(refusal) => return authentication::refused(&refusal),
    };
    let body = match read_body(&**core, &head, body, Media::Json).await {
        Ok(body) => body,
        Err(refused) => return refused,
    };
    explained(core, context, &body).await
}

async fn explained(core: &Rc<CoreEngine>, context: RequestContext, body: &[u8]) -> Reply {
    let (mut clock, mut seen) = (StageClock::of(context.clock), Seen::default());
    let parsed = RequestParameters::from_json(body);
    let allowed = pipeline::AllowedKinds::All;
    let prepared = pipeline::prepare(&**core, context, parsed, allowed, &mut clock, &mut seen);
    let explained = match &prepared {
        Ok(prepared) => explain::explain(core, prepared).await,
        Err(error) => Err(error.clone()),
    };
    match explained {
        Ok(operation) => {
            let body = serde_json::to_vec(&operation).expect("plain texts are JSON");
            let mut http = reply(StatusCode::OK, JSON, body);
            http.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            http
        }
        Err(error) => {
            let response = pipeline::response(&**core, Err(error), seen, clock.times());
            let mut http = to_http(&**core, response, Media::GraphqlResponse, &Wishes::default());
            http.headers_mut().insert(header::CONTENT_TYPE, JSON);
            http
        }
    }
}
