//! The page of errors, `docs/errors.md`, names every code of GraphQL that the server gives and every status of HTTP, and no other.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use http::StatusCode;
use prony_access::{AuthRefusal, RefusalKind};
use prony_graphql::error::ErrorCode;

const PAGE: &str = include_str!("../../../../docs/errors.md");

/// Rows of a table between two comments, without its head: what stands in the first two columns.
fn rows(what: &str) -> Vec<(&'static str, &'static str)> {
    let (_, rest) = PAGE.split_once(&format!("<!-- {what} -->\n")).expect("the table begins");
    let (table, _) = rest.split_once(&format!("<!-- end of {what} -->")).expect("the table ends");
    let cells = table.lines().skip(2).map(|line| line.trim_start_matches("| ").splitn(3, " | "));
    cells.map(|mut cells| (cells.next().unwrap_or_default(), cells.next().unwrap_or_default())).collect()
}

#[test]
fn all_codes_are_on_the_page() {
    let rows = rows("codes");
    let listed: Vec<&str> = rows.iter().map(|(code, _)| code.trim_matches('`')).collect();
    let refusals = RefusalKind::ALL.map(|kind| AuthRefusal::new(kind, ""));
    let given: BTreeSet<&str> = ErrorCode::ALL
        .iter()
        .map(|code| code.as_str())
        .chain(refusals.iter().map(AuthRefusal::code))
        .collect();
    assert_eq!(listed.iter().copied().collect::<BTreeSet<_>>(), given);
    assert_eq!(listed.len(), given.len(), "a code stands there twice");
    for refusal in &refusals {
        let (_, place) =
            rows.iter().find(|(code, _)| code.trim_matches('`') == refusal.code()).expect("it is listed");
        let status = refusal.status();
        assert!(place.contains(status.as_str()), "{}: no {status} in {place:?}", refusal.code());
    }
}

/// Files of a folder and of those in it, without those of tests and examples.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("it is a folder of this repository") {
        let path = entry.expect("it can be listed").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.contains("test") || name == "examples" {
            continue;
        }
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The constant's name of a status, as `BAD_REQUEST`.
fn constant(status: StatusCode) -> Option<String> {
    Some(status.canonical_reason()?.to_uppercase().replace([' ', '-'], "_"))
}

/// By the constants that the code names.
fn given_statuses() -> BTreeSet<u16> {
    let engine = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = ["server", "graph", "series", "access", "source"].map(|name| engine.join(name).join("src"));
    let text: String = folders
        .iter()
        .flat_map(|folder| sources(folder))
        .map(|path| {
            let text = fs::read_to_string(path).expect("it is text");
            text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned()
        })
        .collect();
    let words = text.split("StatusCode::").skip(1);
    let names: BTreeSet<&str> = words
        .map(|rest| &rest[..rest.find(|c: char| !c.is_ascii_uppercase() && c != '_').unwrap_or(rest.len())])
        .collect();
    let all = (300..600).filter_map(|number| StatusCode::from_u16(number).ok());
    let found = all.filter(|status| constant(*status).is_some_and(|name| names.contains(name.as_str())));
    found.map(|status| status.as_u16()).collect()
}

#[test]
fn all_statuses_are_on_the_page() {
    let listed: BTreeSet<u16> =
        rows("statuses").iter().map(|(status, _)| status.parse().expect("it is a status")).collect();
    let given = given_statuses();
    assert!(given.contains(&400) && given.contains(&507), "{given:?}");
    assert_eq!(listed, given);
}
