//! Names that GraphQL cannot take, names that collide, and the types of the schema.

use std::fmt::Write as _;

use expect_test::{Expect, expect, expect_file};
use prony_graphql::schema::{Contribution, Schema, SourceId, build};
use prony_source::{ReservedNames, Source as _};
use proptest::prelude::*;

use super::queries::rooms;
use crate::tests::harness::Harness;

fn notify(harness: &Harness, tenant: &str, of: &str, attributes: &[&str]) {
    let mut entity = serde_json::json!({"id": "x", "type": of});
    for name in attributes {
        entity[*name] = serde_json::json!({"type": "Number", "value": 1});
    }
    let header = format!("fiware-service: {tenant}");
    let headers: &[&str] = if tenant.is_empty() { &[] } else { &[&header] };
    harness.notify(&format!("[{entity}]"), headers);
}

#[expect(clippy::needless_pass_by_value, reason = "reads like the text beside it")]
fn check(types: &[(&str, &str, &[&str])], reserved: &ReservedNames, expected: Expect) {
    let harness = Harness::new();
    for (tenant, of, attributes) in types {
        notify(&harness, tenant, of, attributes);
    }
    let schema = harness.source.schema(reserved);
    let contribution = schema.contribution();
    let mut text = String::new();
    for field in contribution.query.iter().chain(&contribution.subscription) {
        if !contribution.query.iter().any(|query| query.name == field.name && !std::ptr::eq(query, field)) {
            writeln!(text, "{}: {}", field.name, field.ty).unwrap();
        }
    }
    for note in schema.notes().iter().chain(schema.collisions()) {
        writeln!(text, "{note}").unwrap();
    }
    Schema::merge(vec![(SourceId(0), contribution)]).expect("the names make a schema");
    expected.assert_eq(&text);
}

#[test]
fn tenants_have_their_own_names() {
    let types: &[(&str, &str, &[&str])] = &[
        ("factory", "Room", &["n"]),
        ("", "Room", &["n"]),
        ("", "factory_Room", &["n"]),
        ("f2", "a b", &["n"]),
    ];
    check(
        types,
        &ReservedNames::default(),
        expect![[r#"
        factory_room_entities: [factory_RoomEntity!]!
        factory_room_entity: factory_RoomEntity
        rooms: [Room!]!
        room: Room
        factory_rooms: [factory_Room!]!
        factory_room: factory_Room
        f2_a_bs: [f2_a_b!]!
        f2_a_b: f2_a_b
        seriesTypes: [SeriesType!]!
        onFactory_RoomEntityRow: factory_RoomEntityRow!
        onRoomRow: RoomRow!
        onFactory_RoomRow: factory_RoomRow!
        onF2_a_bRow: f2_a_bRow!
        type `Room` of tenant `factory` is served as `factory_RoomEntity`
        type `a b` of tenant `f2` is served as `f2_a_b`
    "#]],
    );
}

#[test]
fn names_that_cannot_be_taken_become_others() {
    let own: &[&str] = &["time", "rows", "Größe", "a b", "a_b", "x", "x_aggregate", "_", "__typename", "7"];
    let types: &[(&str, &str, &[&str])] = &[
        ("", "Room", own),
        ("", "RoomRow", &[]),
        ("", "Query", &[]),
        ("", "SeriesType", &[]),
        ("", "String", &[]),
        ("", "urn:ngsi-ld:Thing", &[]),
        ("", "", &["n"]),
        ("", "Sheep", &[]),
    ];
    check(
        types,
        &ReservedNames::default(),
        expect![[r#"
        rooms: [Room!]!
        room: Room
        room_row_entities: [RoomRowEntity!]!
        room_row_entity: RoomRowEntity
        query_entities: [QueryEntity!]!
        query_entity: QueryEntity
        series_type_entities: [SeriesTypeEntity!]!
        series_type_entity: SeriesTypeEntity
        string_entities: [StringEntity!]!
        string_entity: StringEntity
        urn_ngsi_ld_things: [urn_ngsi_ld_Thing!]!
        urn_ngsi_ld_thing: urn_ngsi_ld_Thing
        _rows: [_!]!
        _: _
        sheep: [Sheep!]!
        sheep_by_id: Sheep
        seriesTypes: [SeriesType!]!
        onRoomRow: RoomRow!
        onRoomRowEntityRow: RoomRowEntityRow!
        onQueryEntityRow: QueryEntityRow!
        onSeriesTypeEntityRow: SeriesTypeEntityRow!
        onStringEntityRow: StringEntityRow!
        onUrn_ngsi_ld_ThingRow: urn_ngsi_ld_ThingRow!
        on_Row: _Row!
        onSheepRow: SheepRow!
        attribute `time` of type `Room` is served as `time_attribute`
        attribute `rows` of type `Room` is served as `rows_attribute`
        attribute `Größe` of type `Room` is served as `Grosse`
        attribute `a b` of type `Room` is served as `a_b_attribute`
        attribute `__typename` of type `Room` is served as `_typename`
        attribute `7` of type `Room` is served as `_7`
        type `RoomRow` is served as `RoomRowEntity`
        type `Query` is served as `QueryEntity`
        type `SeriesType` is served as `SeriesTypeEntity`
        type `String` is served as `StringEntity`
        type `urn:ngsi-ld:Thing` is served as `urn_ngsi_ld_Thing`
        type `` is served as `_`
    "#]],
    );
}

#[test]
fn names_of_other_sources_stay_theirs() {
    let name = |text| prony_graphql::Name::new(text).unwrap();
    let field = build::field_with_arguments(&name("rooms"), Vec::new(), build::named(&name("Street")));
    let mut reserved = ReservedNames::default();
    reserved.add(&Contribution {
        types: vec![build::object(&name("Street"), None, [field.clone()])],
        query: vec![field],
        ..Contribution::default()
    });
    check(
        &[("", "Room", &["n"]), ("", "Street", &["n"])],
        &reserved,
        expect![[r#"
        rooms_2: [Room!]!
        room: Room
        street_entities: [StreetEntity!]!
        street_entity: StreetEntity
        seriesTypes: [SeriesType!]!
        onRoomRow: RoomRow!
        onStreetEntityRow: StreetEntityRow!
        type `Room` is served as `Room`, its list as `rooms_2`, because another source has its names
        type `Street` is served as `StreetEntity`, its list as `street_entities`, because another source has its names
    "#]],
    );
}

#[test]
fn joined_fields_keep_their_names() {
    let mut reserved = ReservedNames::default();
    for (of, field) in [("Room", "devices"), ("RoomRow", "place"), ("Room", "n_aggregate"), ("Street", "n")] {
        reserved.add_field(of, field);
    }
    check(
        &[("", "Room", &["devices", "place", "n", "Devices"]), ("t", "Room", &["devices"])],
        &reserved,
        expect![[r#"
            rooms: [Room!]!
            room: Room
            t_rooms: [t_Room!]!
            t_room: t_Room
            seriesTypes: [SeriesType!]!
            onRoomRow: RoomRow!
            onT_RoomRow: t_RoomRow!
            attribute `devices` of type `Room` is served as `devices_attribute`
            attribute `place` of type `Room` is served as `place_attribute`
        "#]],
    );
}

#[test]
fn the_schema_of_rooms() {
    expect_file!["rooms.graphql"].assert_eq(&rooms().offered().schema.sdl());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever is notified, fields that are joined to a type have their names for themselves.
    #[test]
    fn no_attribute_has_the_name_of_a_joined_field(
        joined in proptest::collection::vec("(x|x_attribute|x_aggregate|x_2|[a-z])", 1..6),
        attributes in proptest::collection::vec("(x|x_attribute|x_aggregate|x_2|_|[a-zA-Z :]{1,2})", 1..12),
    ) {
        let harness = Harness::new();
        notify(&harness, "", "Room", &attributes.iter().map(String::as_str).collect::<Vec<_>>());
        let mut reserved = ReservedNames::default();
        for field in &joined {
            reserved.add_field("Room", field);
        }
        let contribution = harness.source.schema(&reserved).contribution();
        let (_, room) = contribution.types.iter().find(|(name, _)| name == "Room").unwrap();
        let room = &room.as_object().expect("it is an object type").fields;
        for field in &joined {
            prop_assert!(!room.contains_key(field.as_str()), "{field}");
        }
    }

    /// Whatever is notified, the schema is valid, and each type and attribute can be asked for.
    #[test]
    fn nothing_that_is_notified_makes_the_schema_invalid(
        types in proptest::collection::vec(
            ("[a-z]{0,2}", "(Room|Query|Series[A-Z]|[a-zA-Z_ é:/0-9]{1,4})", proptest::collection::vec("(rows|time|x_aggregate|[a-zA-Z_ é:0-9]{1,3})", 1..5)),
            1..12,
        )
    ) {
        let harness = Harness::new();
        for (tenant, of, attributes) in &types {
            notify(&harness, tenant, of, &attributes.iter().map(String::as_str).collect::<Vec<_>>());
        }
        let offered = harness.offered();
        let example = offered.source.example().unwrap();
        let response = harness.ask_by(&offered, &example, "{}");
        prop_assert!(!response.contains("errors"), "{example} {response}");
        for list in offered.source.list_fields() {
            if list != "seriesTypes" {
                let response = harness.ask_by(&offered, &format!("{{ {list} {{ id rows {{ time }} }} }}"), "{}");
                prop_assert!(response.starts_with(&format!("{{\"data\":{{\"{list}\":[{{\"id\":\"x\"")), "{response}");
            }
        }
    }
}
