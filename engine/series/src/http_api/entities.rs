//! `GET /v2/entities`: which entities there are, and when each was last written.

use std::cmp::Reverse;

use http::StatusCode;
use prony_graphql::json::write_string;
use prony_series_store::{Page, TimeMs};
use prony_source::http_api::ApiResponse;

use super::shared::set_count;
use crate::{
    query::{
        fault::{Fault, JSON},
        parameters::Parameters,
        result::{self, Asked, Scope},
        value::write_time,
    },
    series::Series,
};

/// `[{"id": …, "type": …, "index": …}]`, the one that was written last first.
pub(super) fn respond(
    series: &Series,
    scope: &Scope,
    parameters: &Parameters,
    response: &mut ApiResponse,
) -> Result<(), Fault> {
    let read = series.store.read();
    let mut all: Vec<(Reverse<TimeMs>, String, String)> = Vec::new();
    for (table, entities) in result::find(&read, scope, Asked::All, parameters) {
        let type_name = read.with_catalog(|catalog| catalog.table(table).name.to_string());
        for (id, ids) in entities {
            let mut last = None;
            for id in ids {
                last = last.max(read.series(id, parameters.range, &[]).last_time()?);
            }
            if let Some(last) = last {
                all.push((Reverse(last), id, type_name.clone()));
            }
        }
    }
    all.sort_unstable();
    if parameters.counts {
        set_count(all.len() as u64, response);
    }
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = parameters.page;
    let shown = all.iter().skip(offset.min(1 << 40) as usize).take(limit.min(1 << 40) as usize);
    (response.status, response.content_type) = (StatusCode::OK, Some(JSON));
    let body = &mut response.body;
    body.push(b'[');
    for (place, (Reverse(last), id, type_name)) in shown.enumerate() {
        body.extend_from_slice(if place > 0 { b",{\"id\":" } else { b"{\"id\":" });
        write_string(body, id);
        body.extend_from_slice(b",\"type\":");
        write_string(body, type_name);
        body.extend_from_slice(b",\"index\":");
        write_time(body, *last);
        body.push(b'}');
    }
    body.push(b']');
    Ok(())
}
