//! Contributions of several sources.

use expect_test::{Expect, expect};
use prony_graphql::{
    document::limits::Limits,
    schema::{
        Contribution, Schema, SourceId,
        build::{self, Pool},
    },
    selection::OperationKind,
};

use crate::fixture::{parameters, pipeline, schema, shared_types, table};

fn source(row: &str, list: &str) -> Contribution {
    let mut pool = Pool::default();
    let mut contribution = Contribution::default();
    shared_types(&mut pool, &mut contribution);
    table(&mut pool, &mut contribution, row, list, &[]);
    contribution
}

fn check(contributions: Vec<Contribution>, expected: &Expect) {
    let numbered = (0..).map(SourceId).zip(contributions).collect();
    let outcome = match Schema::merge(numbered) {
        Ok(schema) => format!("{schema:?}"),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    };
    expected.assert_eq(&outcome);
}

#[test]
fn equal_types_are_merged_and_owners_known() {
    let schema = Schema::merge(vec![
        (SourceId(0), source("Venue", "venues")),
        (SourceId(7), source("Member", "members")),
    ])
    .unwrap();
    let owner = |kind, field| schema.owner(kind, field).map(|source| source.0);
    assert_eq!(owner(OperationKind::Query, "venues"), Some(0));
    assert_eq!(owner(OperationKind::Query, "members"), Some(7));
    assert_eq!(owner(OperationKind::Mutation, "createMember"), Some(7));
    assert_eq!(owner(OperationKind::Mutation, "members"), None);
}

#[test]
fn collisions_name_both_sources() {
    let mut pool = Pool::default();
    let (venue, name, string) = (pool.name("Venue"), pool.name("name"), pool.name("String"));
    let field = pool.field(&name, build::named(&string));
    let other = Contribution {
        types: vec![
            build::object(&venue, None, [field]),
            build::enumeration(&pool.name("Query"), None, [name]),
        ],
        query: vec![build::field_with_arguments(&pool.name("venues"), Vec::new(), build::named(&venue))],
        ..Contribution::default()
    };
    check(
        vec![source("Venue", "venues"), other],
        &expect![[r#"
        type Venue comes from source 0 and, with another definition, from source 1; rename or exclude one
        type Query of source 1 has a name that the server needs for itself; rename it
        query field venues comes from source 0 and from source 1; rename or exclude one
    "#]],
    );
}

#[test]
fn what_is_missing() {
    check(
        vec![],
        &expect![[r#"
        no source has a query field; serve at least one table
    "#]],
    );
    let mut pool = Pool::default();
    let [field, absent] = ["field", "Absent"].map(|name| pool.name(name));
    let query = vec![pool.field(&field, build::named(&absent))];
    check(
        vec![Contribution { query, ..Contribution::default() }],
        &expect![[r#"
        the merged schema is not valid: cannot find type `Absent` in this document
    "#]],
    );
}

#[test]
fn sdl() {
    let sdl = schema().sdl();
    let parsed = prony_graphql::compiler::Schema::parse_and_validate(&sdl, "sdl").unwrap();
    assert_eq!(parsed.to_string(), sdl, "its text reads back");
    let venue: String = sdl.split_inclusive("}\n").filter(|part| part.contains("type Venue ")).collect();
    expect![[r#"

        """A row."""
        type Venue {
          id: Int!
          title: String
          active: Boolean
          meetups(where: MeetupClauses, sort: [MeetupSort!], limit: Int, offset: Int): [Meetup!]!
        }
    "#]]
    .assert_eq(&venue);
}

/// Values of a scalar that another server has given one of our names are not looked at, unless a source of ours has it too.
#[test]
fn a_scalar_is_checked_where_somebody_knows_it() {
    let mut pool = Pool::default();
    let (uuid, id) = (pool.name("UUID"), pool.name("id"));
    let mut contribution = |field: &str, is_opaque: bool| {
        let (field, argument) = (pool.name(field), pool.input(&id, build::named(&uuid)));
        Contribution {
            types: vec![build::scalar(&uuid, None, None)],
            query: vec![build::field_with_arguments(&field, vec![argument], build::named(&uuid))],
            opaque_scalars: if is_opaque { vec![uuid.clone()] } else { Vec::new() },
            ..Contribution::default()
        }
    };
    for (sources, is_checked) in [
        (&[true][..], false),
        (&[true, true][..], false),
        (&[false][..], true),
        (&[true, false][..], true),
        (&[false, true][..], true),
    ] {
        let all = sources.iter().enumerate().map(|(index, is_opaque)| {
            (SourceId(index as u16), contribution(["one", "two"][index], *is_opaque))
        });
        let schema = Schema::merge(all.collect()).unwrap();
        let by_variable = parameters("query ($id: UUID) { one(id: $id) }", r#"{"id": "x"}"#);
        for parameters in [by_variable, parameters(r#"{ one(id: "x") }"#, "{}")] {
            let found = pipeline(&schema, parameters, &Limits::default());
            assert_eq!(found.is_err(), is_checked, "{sources:?}: {found:?}");
        }
    }
}
