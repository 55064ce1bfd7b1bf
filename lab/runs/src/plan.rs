//! Plan files as arguments: what is no other kind.

use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings};
use crate::subject::Subject;
use prony_load::read_plan;
use std::path::Path;

pub(crate) static KIND: Kind =
    Kind { name: "a plan", flags: Flags::Plan, needs_url: false, is_named: |_| true, open };

fn open(argument: &Argument, _settings: &OpenSettings) -> Result<Box<dyn Subject>, OpenError> {
    Ok(Box::new(read_plan(Path::new(&argument.text))?))
}
