//! Requests against small graphs: answers, errors, changes of types while serving, and a plain model beside.

mod bounds;
mod changes;
mod events;
mod harness;
mod mutations;
mod names;
mod oracle;
mod properties;
mod queries;
mod reads;
mod restrictions;
mod rights;
mod scripts;
mod slow;
