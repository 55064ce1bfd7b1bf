//! Running a plan: functions are called level by level, each once for all parents of its level where it can be,
//! and what they answer is written when everything below it is there.
//!
//! A plan in which nothing waits runs without a future; the others await the functions of one level together.

use std::any::Any;

use futures_util::future::join_all;
use prony_graphql::{error::PathSegment, response::FieldResult};

use crate::{
    api::{answer::Answer, parent::Parent},
    execute::{
        guard::{self, Later, Row, Rows, Scope},
        plan::{CallPlan, ObjectPlan},
        rows::Column,
    },
    write::{Level, Path, Writer},
};

/// Objects of one level, by the object plans of its answer.
type Parents<'a> = Vec<Vec<&'a dyn Parent>>;

fn calls_below(call: &CallPlan) -> bool {
    call.output.kind.objects().iter().any(|object| !object.calls.is_empty())
}

fn parents<'a, A: Answer>(rows: &'a [Row<A>], objects: &[ObjectPlan]) -> Parents<'a> {
    let mut parents: Parents<'_> = objects.iter().map(|_| Vec::new()).collect();
    for answer in rows.iter().flatten() {
        answer.objects(&mut |object| {
            if let Some(index) = objects.iter().position(|plan| plan.type_name == object.name()) {
                parents[index].push(object);
            }
        });
    }
    parents
}

fn levels<A: Answer>(rows: &[Row<A>], scope: Scope<'_>, call: &CallPlan) -> Vec<Level> {
    if !calls_below(call) {
        return Vec::new();
    }
    let objects = call.output.kind.objects();
    let level = |(object, parents): (&ObjectPlan, Vec<&dyn Parent>)| {
        let columns = object.calls.iter().map(|call| call.function.column(scope, call, &parents));
        Level { columns: columns.collect(), begun: 0 }
    };
    objects.iter().zip(parents(rows, objects)).map(level).collect()
}

async fn levels_later<A: Answer>(rows: &[Row<A>], scope: Scope<'_>, call: &CallPlan) -> Vec<Level> {
    if !calls_below(call) {
        return Vec::new();
    }
    let objects = call.output.kind.objects();
    let parents = parents(rows, objects);
    // Of an interface or a union the objects of one type do not wait for those of another.
    let levels = objects.iter().zip(&parents).map(|(object, parents)| level_later(scope, object, parents));
    join_all(levels).await
}

fn level_later<'a>(
    scope: Scope<'a>,
    object: &'a ObjectPlan,
    parents: &'a [&'a dyn Parent],
) -> Later<'a, Level> {
    Box::pin(async move {
        let columns = object.calls.iter().map(|call| column_later(scope, call, parents));
        Level { columns: join_all(columns).await, begun: 0 }
    })
}

fn column_later<'a>(
    scope: Scope<'a>,
    call: &'a CallPlan,
    parents: &'a [&'a dyn Parent],
) -> Later<'a, Column> {
    if call.waits {
        call.function.column_later(scope, call, parents)
    } else {
        Box::pin(std::future::ready(call.function.column(scope, call, parents)))
    }
}

fn write_root<A: Answer>(writer: Writer<'_>, row: &Row<A>, call: &CallPlan) -> FieldResult {
    let mut writer = writer;
    let written = write_row(&mut writer, row, call);
    FieldResult { data: written.then_some(writer.out), errors: writer.errors }
}

fn write_row<A: Answer>(writer: &mut Writer<'_>, row: &Row<A>, call: &CallPlan) -> bool {
    let path = Path::root(&call.response_key);
    let written = match row {
        Ok(answer) => answer.write(&call.output, path, writer),
        Err(error) => writer.fail((**error).clone(), &call.output, path),
    };
    written.is_ok()
}

fn write_column<A: Answer>(mut writer: Writer<'_>, rows: &[Row<A>], call: &CallPlan) -> Column {
    let mut column = Column::with_capacity(rows.len());
    for row in rows {
        let written = write_row(&mut writer, row, call);
        column.end_row(writer.out.len(), writer.errors.len(), !written);
    }
    column.finish(writer.out, writer.errors)
}

/// Of a root field whose answer has panicked where it is no function that does: while it was written.
#[cold]
pub(crate) fn panicked(panic: &(dyn Any + Send), call: &CallPlan) -> FieldResult {
    let error = guard::panicked(panic).at(call.position);
    let error = error.with_path(vec![PathSegment::Key(call.response_key.clone())]);
    let data = (!call.output.non_null).then(|| b"null".to_vec());
    FieldResult { data, errors: vec![error] }
}

/// Bytes that a row's answer is expected to take; a better guess saves copying, nothing else.
const ROW_BYTES: usize = 64;

pub(crate) fn finish_root<A: Answer>(rows: &Rows<A>, scope: Scope<'_>, call: &CallPlan) -> FieldResult {
    let rows = rows.as_slice();
    let writer = Writer::new(scope, call.expected_bytes(), levels(rows, scope, call));
    write_root(writer, &rows[0], call)
}

pub(crate) async fn finish_root_later<A: Answer>(
    rows: &Rows<A>,
    scope: Scope<'_>,
    call: &CallPlan,
) -> FieldResult {
    let rows = rows.as_slice();
    let levels = levels_later(rows, scope, call).await;
    write_root(Writer::new(scope, call.expected_bytes(), levels), &rows[0], call)
}

pub(crate) fn finish_column<A: Answer>(rows: &Rows<A>, scope: Scope<'_>, call: &CallPlan) -> Column {
    let rows = rows.as_slice();
    let writer = Writer::new(scope, rows.len() * ROW_BYTES, levels(rows, scope, call));
    write_column(writer, rows, call)
}

pub(crate) async fn finish_column_later<A: Answer>(
    rows: &Rows<A>,
    scope: Scope<'_>,
    call: &CallPlan,
) -> Column {
    let rows = rows.as_slice();
    let levels = levels_later(rows, scope, call).await;
    write_column(Writer::new(scope, rows.len() * ROW_BYTES, levels), rows, call)
}
