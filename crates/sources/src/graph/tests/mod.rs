//! Requests against small graphs: answers, errors, changes of types while serving, and a plain model beside.

mod harness;
mod queries;
