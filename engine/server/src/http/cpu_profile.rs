//! `GET /debug/pprof/profile?seconds=N`, for operators alone: takes a profile of the process for so long, and responds with it. The path and the
//! parameter are those of Go's servers, so that `go tool pprof` can ask for it. A client that goes away ends it.

use std::{ops::RangeInclusive, time::Duration};

use http::{HeaderValue, StatusCode, header};
use prony_source::http_api::query;

use super::reply::{JSON, Reply, refusal, reply};
use crate::observe::{CpuProfile, ProfileFault};

pub(super) const PATH: &str = "/debug/pprof/profile";

/// A longer one tells no more, and holds a connection.
const SECONDS: RangeInclusive<u64> = 1..=60;
/// As Go has it.
const SECONDS_DEFAULT: u64 = 30;
const BYTES: HeaderValue = HeaderValue::from_static("application/octet-stream");
const FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"profile.pb.gz\"");

pub(super) async fn answer(query: Option<&str>) -> Reply {
    let Some(seconds) = seconds(query.unwrap_or_default()) else {
        let message = format!("`seconds` is a number from {} to {}", SECONDS.start(), SECONDS.end());
        return refusal(StatusCode::BAD_REQUEST, JSON, &message);
    };
    let profile = match CpuProfile::begin() {
        Ok(profile) => profile,
        Err(fault) => return refused(fault),
    };
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    match profile.end() {
        Ok(bytes) => {
            let mut response = reply(StatusCode::OK, BYTES, bytes);
            response.headers_mut().insert(header::CONTENT_DISPOSITION, FILE);
            response
        }
        Err(fault) => refused(fault),
    }
}

fn refused(fault: ProfileFault) -> Reply {
    match fault {
        ProfileFault::Busy => {
            let message =
                "a profile is being taken already, and there is one at a time; try again when it is done";
            refusal(StatusCode::CONFLICT, JSON, message)
        }
        ProfileFault::Failed(why) => {
            tracing::warn!(%why, "cannot take a profile");
            refusal(StatusCode::SERVICE_UNAVAILABLE, JSON, &format!("cannot take a profile: {why}"))
        }
    }
}

fn seconds(query: &str) -> Option<u64> {
    let Some(text) = query::parameter(query, "seconds").ok()? else { return Some(SECONDS_DEFAULT) };
    text.parse().ok().filter(|seconds| SECONDS.contains(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_bounded() {
        for (query, expected) in [
            ("", Some(30)),
            ("debug=1", Some(30)),
            ("seconds=1", Some(1)),
            ("debug=1&seconds=60", Some(60)),
            ("seconds=0", None),
            ("seconds=61", None),
            ("seconds=-1", None),
            ("seconds=", None),
            ("seconds=5s", None),
        ] {
            assert_eq!(seconds(query), expected, "{query}");
        }
    }
}
