//! A scanner that is fed pieces, for tests and fuzzing.

use super::{head::HeadMemo, scanner::Scanner, sink::Sink};
use prony_model::program::Keep;

/// Feeds the pieces as a connection would, then ends it; says what was seen.
pub fn scan(pieces: &[&[u8]], is_head_request: bool) -> String {
    let mut scanner = Scanner::default();
    scanner.begin(is_head_request);
    let mut sink = Sink::new(Keep::GraphQlErrors, &mut Vec::new());
    let mut memo = HeadMemo::default();
    let mut fed = 0;
    for piece in pieces {
        match scanner.feed(piece, &mut sink, &mut memo) {
            Ok(None) => fed += piece.len(),
            Ok(Some(answer)) => {
                let (status, keeps, end) = (answer.status, answer.keeps_connection, fed + answer.consumed);
                let failure = sink.answer(200).has_graphql_errors;
                return format!("{status} keeps={keeps} end={end} failure={failure}");
            }
            Err(error) => return format!("{error}"),
        }
    }
    match scanner.end() {
        Ok(answer) => {
            format!("{} until close failure={}", answer.status, sink.answer(200).has_graphql_errors)
        }
        Err(error) => format!("{error}"),
    }
}
