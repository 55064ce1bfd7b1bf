//! URLs as arguments: one page that is fetched again and again.

use crate::kind::{Argument, Flags, Kind, OpenError, OpenSettings};
use crate::subject::Subject;
use prony_load::Url;

pub(crate) static KIND: Kind =
    Kind { name: "a URL", flags: Flags::Wrk, needs_url: false, is_named: Url::is_one, open };

fn open(argument: &Argument, settings: &OpenSettings) -> Result<Box<dyn Subject>, OpenError> {
    Ok(Box::new(Url::parse(&argument.text)?.plan(settings.load.clone()).check()?))
}
