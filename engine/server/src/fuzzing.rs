//! The fast way of requests, for fuzzing beside hyper.

use ::http::Request;
use bytes::Bytes;

use crate::{
    config::Settings,
    http::simple::request::{HeaderRoom, Parsed, parse},
};

/// Where the bytes begin with a whole simple request: how many bytes it has, and the request as hyper would hand it to a service;
/// none where a part of it is nothing that hyper takes.
pub fn simple_request(bytes: &[u8]) -> Option<(Option<Request<Bytes>>, usize)> {
    match parse(bytes, &mut HeaderRoom::new(), &Settings::default()) {
        Parsed::Whole(request) => Some((request.to_request(), request.whole.len())),
        Parsed::PartOfHead | Parsed::PartOfBody(_) | Parsed::NotSimple(_) => None,
    }
}
