//! Which fields and arguments a request comes to.

use expect_test::{Expect, expect};
use prony_graphql::document::limits::Limits;

use crate::fixture::{from_sdl, lines, parameters, pipeline, shared_schema};

fn check(query: &str, variables: &str, expected: &Expect) {
    let outcome = pipeline(shared_schema(), parameters(query, variables), &Limits::default());
    expected.assert_eq(&outcome.unwrap_or_else(|errors| lines(&errors)));
}

#[test]
fn nested_lists_with_literals() {
    check(
        r#"{ venues(where: {id: {gt: 5}, title: {eq: "x"}}, sort: [{title: desc}, {id: asc}], limit: 3) { id v: meetups(limit: 2) { title __typename } } }"#,
        "{}",
        &expect![[r#"
            query
              Query.venues(where: {id: {gt: 5}, title: {eq: "x"}}, sort: [{title: desc}, {id: asc}], limit: 3) [Venue!]! @1:3
                Venue.id Int! @1:96
                v: Venue.meetups(limit: 2) [Meetup!]! @1:99
                  Meetup.title String @1:122
                  Meetup.__typename String! @1:128
        "#]],
    );
}

#[test]
fn fragments_merge_by_response_key() {
    check(
        "query Q { venues { id ...A ... on Venue { meetups { title } } } } fragment A on Venue { id meetups { id } }",
        "{}",
        &expect![[r#"
            query
              Query.venues [Venue!]! @1:11
                Venue.id Int! @1:20
                Venue.meetups [Meetup!]! @1:92
                  Meetup.id Int! @1:102
                  Meetup.title String @1:53
        "#]],
    );
}

#[test]
fn skip_and_include_follow_literals_and_variables() {
    check(
        "query ($yes: Boolean!, $no: Boolean = false) { venues { id @skip(if: $yes) title @include(if: $no) active @include(if: true) } }",
        r#"{"yes": true}"#,
        &expect![[r#"
            query
              Query.venues [Venue!]! @1:48
                Venue.active Boolean @1:100
        "#]],
    );
}

#[test]
fn variables_keep_only_slots() {
    check(
        "query ($where: VenueClauses, $limit: Int, $offset: Int, $sort: [VenueSort!], $ids: [Int!], $t: StrWhere) {
           venues(where: $where, limit: $limit, offset: $offset, sort: $sort) { id }
           members(where: {id: {in: $ids}, title: $t}) { id }
         }",
        r#"{"where": {"and": [{"id": {"gt": 3}}, {"active": {"eq": false, "is_null": null}}], "title": {"eq": "a"}},
            "limit": 5, "sort": {"id": "desc"}, "ids": [1, 2], "t": null}"#,
        &expect![[r#"
            query
              Query.venues(where: {and: [{id: {gt: $0.and[0].id.gt}}, {active: {eq: false, is_null: null}}], title: {eq: $0.title.eq}}, sort: [{id: desc}], limit: $1) [Venue!]! @2:12
                Venue.id Int! @2:81
              Query.members(where: {id: {in: $4}, title: null}) [Member!]! @3:12
                Member.id Int! @3:58
        "#]],
    );
}

#[test]
fn root_typename_and_introspection_are_fields_too() {
    check(
        "{ a: __typename __type(name: \"Venue\") { name fields { name } } }",
        "{}",
        &expect![[r#"
        query
          a: Query.__typename String! @1:3
          Query.__type(name: "Venue") __Type @1:17
            __Type.name String @1:41
            __Type.fields(includeDeprecated: false) [__Field!] @1:46
              __Field.name String! @1:55
    "#]],
    );
}

#[test]
fn mutations() {
    check(
        "mutation ($id: Int!) { createVenue(id: $id, title: \"t\") { id } }",
        r#"{"id": 4}"#,
        &expect![[r#"
        mutation
          Mutation.createVenue(id: $0, title: "t") Venue @1:24
            Venue.id Int! @1:59
    "#]],
    );
}

#[test]
fn directives_of_the_schema_come_with_their_arguments() {
    let schema = from_sdl(
        "directive @cut(at: Int! = 3, mark: String) repeatable on FIELD  type Query { a: String b: String }",
    );
    let query = r#"query ($at: Int!) {
        a @cut a @cut(at: 1) @skip(if: false)
        b @cut(at: $at, mark: "x") ... on Query { b @cut(at: $at, mark: "x") }
    }"#;
    let outcome = pipeline(&schema, parameters(query, r#"{"at": 5}"#), &Limits::default());
    expect![[r#"
        query
          Query.a @cut(at: 3) @cut(at: 1) String @2:9
          Query.b @cut(at: $0, mark: "x") String @3:9
    "#]]
    .assert_eq(&outcome.unwrap_or_else(|errors| lines(&errors)));
}
