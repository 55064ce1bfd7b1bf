//! Configuration of sources: values as they are typed, with their places; options, whatever they change; and the kinds of
//! sources, each of which reads what is its own. Which file and which flags there are is the server's business.

mod address;
mod common;
mod environment;
mod fault;
mod file;
mod kind;
mod option;
mod value;

pub use self::{
    address::{AddressForm, SourceUrl},
    common::{CommonSettings, DURABILITY, RECOVER, SLOW_STATEMENT_MS},
    environment::{FILE_SUFFIX, VariableFault, process_variable, substitute, substitute_of_process},
    fault::{Fault, Faults, Origin, suggestion},
    file::{FileEntry, FileText},
    kind::{Kinds, Opening, ServerDefault, SourceEntry, SourceKind, SourceOpener, SourceSection},
    option::{ConfigOption, GivenValue, OptionOf, OptionSpec, all},
    value::{TypedValue, ValueKind, described},
};
