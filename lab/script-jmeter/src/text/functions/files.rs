//! Functions that read files; each file is read once in a run.

use super::super::expression::FunctionCall;
use crate::run::context::Context;

/// Rows of a file, shared by all threads; each thread has a row of its own until it asks for `next`.
pub(super) fn csv_read(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let (name, column) = (call.argument(0, context), call.argument(1, context));
    let column = column.trim();
    // A name with its asterisk is the file's other name from now on, with rows of its own: `*A`.
    if column.starts_with('*') {
        if let Err(message) = context.shared.files.open_rows(&name, column) {
            context.shared.log(&format!("__CSVRead: {message}"));
        }
        return String::new();
    }
    if column.eq_ignore_ascii_case("next") || column.eq_ignore_ascii_case("next()") {
        context.thread.rows.remove(&name);
        return String::new();
    }
    let row = match context.thread.rows.get(&name) {
        Some(row) => row.clone(),
        None => match context.shared.files.next_row(&name) {
            Ok(row) => {
                context.thread.rows.insert(name, row.clone());
                row
            }
            Err(message) => {
                context.shared.log(&format!("__CSVRead: {message}"));
                return String::new();
            }
        },
    };
    let place = column.parse::<usize>().ok();
    place.and_then(|place| row.get(place).cloned()).unwrap_or_default()
}

pub(super) fn file_to_string(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let value = match context.shared.files.text(&name) {
        Ok(text) => text.to_string(),
        Err(message) => {
            context.shared.log(&format!("__FileToString: {message}"));
            "**ERR**".to_owned()
        }
    };
    call.keep(2, &value, context);
    value
}

/// The file's lines, one at each call, from the beginning again after the last one. Each function of a plan reads them by itself.
pub(super) fn string_from_file(call: &FunctionCall, context: &mut Context<'_>) -> String {
    let name = call.argument(0, context);
    let value = match context.shared.files.next_line(&name, call.site) {
        Ok(line) => line,
        Err(message) => {
            context.shared.log(&format!("__StringFromFile: {message}"));
            "**ERR**".to_owned()
        }
    };
    let variable = call.given(1, context).unwrap_or_else(|| "StringFromFile_".to_owned());
    context.vars.set(&variable, &value);
    value
}
