//! From a store to lines.

use std::io::Write;

use prony_graphql::json::write_string;
use prony_series_store::{AttributeId, Kind, Rows, Store, TableId, TimeRange, Value};

use super::{TransferError, Transferred, VERSION, name_of};
use crate::query::value::write_value;

/// Lines are given to the writer when they are so many bytes.
const PART_BYTES: usize = 256 << 10;

/// An attribute of the type whose rows are written.
struct ExportedAttribute {
    id: AttributeId,
    name: String,
    declared: String,
    kind: Kind,
}

/// Writes the store as it is now: all tenants, all types, all rows, also those that are later shown as one.
///
/// # Errors
/// It cannot be read, or the writer takes no more.
pub fn export(store: &Store, out: &mut impl Write) -> Result<Transferred, TransferError> {
    let read = store.read();
    let mut part = format!("{{\"prony\":\"series\",\"version\":{VERSION}}}\n").into_bytes();
    let mut transferred = Transferred::default();
    let tables: Vec<TableId> = read.with_catalog(|catalog| {
        let types = catalog.served_tables().map(|(_, table)| table);
        types.filter_map(|table| catalog.find_table(&table.tenant, &table.name)).collect()
    });
    for table in tables {
        let (attributes, series) = read.with_catalog(|catalog| {
            let of = catalog.table(table);
            write_type(&mut part, &of.tenant, &of.name);
            let attributes: Vec<ExportedAttribute> = of
                .ids()
                .map(|(id, of)| ExportedAttribute {
                    id,
                    name: of.name.to_string(),
                    declared: of.declared.to_string(),
                    kind: of.kind,
                })
                .collect();
            (attributes, of.series.clone())
        });
        write_attributes(&mut part, &attributes);
        let wanted: Vec<AttributeId> = attributes.iter().map(|of| of.id).collect();
        for id in series {
            let mut owner = Vec::new();
            read.with_catalog(|catalog| {
                let of = catalog.series(id);
                owner.extend_from_slice(b"{\"id\":");
                write_string(&mut owner, &of.entity);
                owner.extend_from_slice(b",\"path\":");
                write_string(&mut owner, &of.path);
            });
            let mut written = Ok(());
            read.series(id, TimeRange::ALL, &wanted).visit(0..u64::MAX, &wanted, |rows, range| {
                for row in range {
                    write_row(&mut part, &owner, &attributes, rows, row);
                    transferred.rows += 1;
                }
                if part.len() >= PART_BYTES {
                    written = out.write_all(&part);
                    part.clear();
                }
                written.is_ok()
            })?;
            written?;
        }
        transferred.types += 1;
    }
    part.extend_from_slice(format!("{{\"end\":{{\"rows\":{}}}}}\n", transferred.rows).as_bytes());
    out.write_all(&part)?;
    out.flush()?;
    Ok(transferred)
}

fn write_type(out: &mut Vec<u8>, tenant: &str, name: &str) {
    out.extend_from_slice(b"{\"tenant\":");
    write_string(out, tenant);
    out.extend_from_slice(b",\"type\":");
    write_string(out, name);
}

fn write_attributes(out: &mut Vec<u8>, attributes: &[ExportedAttribute]) {
    out.extend_from_slice(b",\"attributes\":[");
    for (place, attribute) in attributes.iter().enumerate() {
        out.extend_from_slice(if place == 0 { b"{\"name\":" } else { b",{\"name\":" });
        write_string(out, &attribute.name);
        out.extend_from_slice(b",\"type\":");
        write_string(out, &attribute.declared);
        out.extend_from_slice(format!(",\"kind\":\"{}\"}}", name_of(attribute.kind)).as_bytes());
    }
    out.extend_from_slice(b"]}\n");
}

fn write_row(out: &mut Vec<u8>, owner: &[u8], attributes: &[ExportedAttribute], rows: &Rows, row: usize) {
    out.extend_from_slice(owner);
    out.extend_from_slice(format!(",\"time_ms\":{},\"values\":{{", rows.times[row]).as_bytes());
    let mut is_first = true;
    for attribute in attributes {
        let value = rows.get(row, attribute.id);
        if value == Value::Null {
            continue;
        }
        out.extend_from_slice(if std::mem::replace(&mut is_first, false) { b"" } else { b"," });
        write_string(out, &attribute.name);
        out.push(b':');
        // Times are milliseconds here, as they are kept.
        let kind = if attribute.kind == Kind::Time { Kind::Integer } else { attribute.kind };
        write_value(out, kind, value);
    }
    out.extend_from_slice(b"}}\n");
}
