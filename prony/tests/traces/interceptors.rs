//! What a trace says of functions that are called around fields.

use prony_testkit::chinook::sqlite_copy;
use serde_json::json;

use super::{
    Server, TRACE,
    collector::{Collector, Export, named, tree},
    is_server, parent, with_database,
};

const MODULE: &str = r#"
export function before(request) {
    if (request.arguments.limit === 7) throw new Error("geheim");
    if (request.arguments.limit === 8) refuse("geheim", "EIGHT");
    return request;
}
export function after(rows) { for (const row of rows) row.Name = row.Name.toUpperCase(); }
"#;

#[test]
fn functions_around_a_field_are_told_by_their_file() {
    let (collector, database) = (Collector::start(), sqlite_copy());
    let text = with_database(
        &database,
        &collector,
        "",
        "[interceptors.sources.music.tables]\nArtist = \"artist.js\"\n",
    );
    let server = Server::with_files(&text, &[("artist.js", MODULE)]);
    let response = server.graphql(&parent("01"), "{ artists(limit: 1) { Name } }", &json!({}));
    assert!(response.contains("AC/DC"), "{response}");
    let spans = collector.trace_with("the request", |span| is_server(span) && span.trace == TRACE);
    let lines = tree(&spans);
    for line in ["before < execute", "after < execute"] {
        assert!(lines.iter().any(|known| known == line), "{line} is not in {lines:#?}");
    }
    for name in ["before", "after"] {
        let span = named(&spans, name);
        assert_eq!((span.kind, span.has_failed), (1, false));
        assert_eq!(span.attributes["code.file.path"], "artist.js");
        assert_eq!(span.attributes["code.function.name"], name);
    }
    // A code that the module chooses is for the client alone.
    for (limit, told, error_type) in
        [(7, "INTERCEPTOR_FAILED", "INTERCEPTOR_FAILED"), (8, "EIGHT", "FORBIDDEN")]
    {
        collector.forget();
        let response =
            server.graphql(&parent("01"), &format!("{{ artists(limit: {limit}) {{ Name }} }}"), &json!({}));
        assert!(response.contains(&format!("\"code\":\"{told}\"")), "{response}");
        let spans = collector.trace_with("the failure", |span| is_server(span) && span.trace == TRACE);
        let failed = named(&spans, "before");
        assert!(failed.has_failed && spans.iter().all(|span| span.name != "after"));
        assert_eq!(failed.attributes["error.type"], error_type);
        let is_said =
            |export: &Export| ["geheim", "EIGHT"].iter().any(|word| contains(&export.bytes, word.as_bytes()));
        assert!(!collector.exports().iter().any(is_said), "what it says is in no span");
    }
}

fn contains(bytes: &[u8], word: &[u8]) -> bool {
    bytes.windows(word.len()).any(|part| part == word)
}
