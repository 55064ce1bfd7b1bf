//! `GET /v2/entities`: which entities there are, and when each was last written.

use std::{cmp::Reverse, sync::Arc};

use prony_graphql::json::write_string;
use prony_series_store::{Page, Read, SeriesId, TimeMs};

use crate::query::{
    fault::Fault,
    parameters::Parameters,
    result::{self, Asked, Scope},
    row_format::{self, Format},
    shape::{Output, Stopped, full},
    value::write_time,
};

/// When an entity was last written, its id and its type.
pub(super) type LastWritten = (Reverse<TimeMs>, String, Arc<str>);

/// All entities that have rows, the one that was written last first.
pub(super) fn find(read: &Read, scope: &Scope, parameters: &Parameters) -> Result<Vec<LastWritten>, Fault> {
    let mut all: Vec<LastWritten> = Vec::new();
    for (table, entities) in result::find(read, scope, Asked::All, parameters) {
        let type_name: Arc<str> = read.with_catalog(|catalog| Arc::from(&*catalog.table(table).name));
        let all_ids: Vec<SeriesId> = entities.iter().flat_map(|(_, ids)| ids).copied().collect();
        let mut rows = read.series_of_type(&all_ids, parameters.range, &[]).into_iter();
        for (id, ids) in entities {
            let mut last = None;
            for mut rows in rows.by_ref().take(ids.len()) {
                last = last.max(rows.last_time()?);
            }
            if let Some(last) = last {
                all.push((Reverse(last), id, Arc::clone(&type_name)));
            }
        }
    }
    all.sort_unstable();
    Ok(all)
}

/// `[{"id": …, "type": …, "index": …}]` of those that are asked for, or a row of each in another format.
pub(super) fn write(
    format: Format,
    out: &mut dyn Output,
    all: &[LastWritten],
    parameters: &Parameters,
) -> Result<(), Stopped> {
    let (Page::First { offset, limit } | Page::Last { offset, limit }) = parameters.page;
    let shown = all.iter().skip(offset.min(1 << 40) as usize).take(limit.min(1 << 40) as usize);
    if format != Format::Shapes {
        let rows = shown.map(|(Reverse(last), id, type_name)| (&**id, &**type_name, *last));
        return row_format::write_entities(format, parameters, out, rows);
    }
    out.part().push(b'[');
    for (place, (Reverse(last), id, type_name)) in shown.enumerate() {
        let body = out.part();
        body.extend_from_slice(if place > 0 { b",{\"id\":" } else { b"{\"id\":" });
        write_string(body, id);
        body.extend_from_slice(b",\"type\":");
        write_string(body, type_name);
        body.extend_from_slice(b",\"index\":");
        write_time(body, *last);
        body.push(b'}');
        full(out)?;
    }
    out.part().push(b']');
    Ok(())
}
