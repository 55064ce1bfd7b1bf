//! What users set: included, excluded, renamed and added tables, columns and relations, and their faults.

use expect_test::{Expect, expect};
use prony_sql::model::Model;

use crate::support::{lines, model, outline, sdl, settings, sqlite_catalog};

const DATABASE: &str = "
    CREATE TABLE venues (id INTEGER PRIMARY KEY, name TEXT NOT NULL, secret TEXT);
    CREATE TABLE meetups (id INTEGER PRIMARY KEY, venue_id INT REFERENCES venues, organizer INT REFERENCES members,
        price NUMERIC, flags INT, data TEXT);
    CREATE TABLE members (id INTEGER PRIMARY KEY, email TEXT);
    CREATE TABLE app_migrations (id INTEGER PRIMARY KEY);
    CREATE TABLE audit_log (message TEXT);
    CREATE VIEW busy_venues AS SELECT venue_id, organizer FROM meetups;";

/// The outline, or the faults.
fn check(toml: &str, expected: &Expect) {
    let got = match Model::build(&sqlite_catalog(DATABASE), &settings(toml)) {
        Ok(model) => {
            assert!(!sdl(&model).is_empty());
            outline(&model)
        }
        Err(faults) => lines(&faults),
    };
    expected.assert_eq(&got);
}

#[test]
fn tables_are_chosen() {
    check(
        "include_tables = ['m*', 'app_migrations']\nexclude_tables = ['members']",
        &expect![[r#"
        AppMigration app_migrations (id:Int!) key [id]
        Meetup meetups (id:Int! venue_id:Int organizer:Int price:Numeric flags:Int data:Text) key [id]
    "#]],
    );
}

#[test]
fn names_begin_with_a_prefix_where_none_are_given() {
    check(
        "name_prefix = 'HR'
         exclude_tables = ['audit_log', 'busy_venues']
         [tables.members]
         list_name = 'hr_staff'
         [tables.venues]
         type_name = 'Place'",
        &expect![[r#"
            HrMeetup hr_meetups (id:Int! venue_id:Int organizer:Int price:Numeric flags:Int data:Text) key [id]
              venue -> Place on venue_id=id
              organizer_member -> HrMember on organizer=id
            HrMember hr_staff (id:Int! email:Text) key [id]
              meetups => HrMeetup on id=organizer
            Place hr_venues (id:Int! name:Text! secret:Text) key [id]
              meetups => HrMeetup on id=venue_id
            note: table `app_migrations` is left out because its name contains `migration`; name it in `include_tables` to serve it
        "#]],
    );
}

#[test]
fn names_are_given() {
    check(
        "[tables.venues]
         type_name = 'Place'
         list_name = 'allPlaces'
         exclude_columns = ['secret']
         columns.name.name = 'title'
         [tables.meetups]
         columns.price.type = 'Decimal'
         columns.flags.type = 'BigInt'
         columns.data.type = 'JSON'
         exclude_relations = ['organizer_member']
         [[tables.meetups.relations]]
         columns = ['venue_id']
         target = 'venues'
         target_columns = ['id']
         name = 'where_it_is'
         reverse_name = 'events'",
        &expect![[r#"
            AuditLog audit_logs (message:Text) key []
            BusyVenue busy_venues (venue_id:Int organizer:Int) key []
            Meetup meetups (id:Int! venue_id:Int organizer:Int price:Decimal flags:BigInt data:Json) key [id]
              where_it_is -> Place on venue_id=id
            Member members (id:Int! email:Text) key [id]
              meetups => Meetup on id=organizer
            Place allPlaces (id:Int! title:Text!) key [id]
              events => Meetup on id=venue_id
            note: table `app_migrations` is left out because its name contains `migration`; name it in `include_tables` to serve it
        "#]],
    );
}

#[test]
fn mutations_are_switched_off_by_table() {
    let of = |toml: &str| sdl(&model(&sqlite_catalog(DATABASE), toml));
    let mutations = |sdl: &str| {
        let verbs = ["create", "update", "delete"];
        let names = ["Venue", "Meetup", "Member"].map(|name| verbs.map(|verb| format!("{verb}{name}")));
        let is_there = |name: &String| sdl.contains(&format!(" {name}("));
        names.into_iter().flatten().filter(is_there).collect::<Vec<_>>().join(" ")
    };
    let all = "createVenue updateVenue deleteVenue createMeetup updateMeetup deleteMeetup \
               createMember updateMember deleteMember";
    assert_eq!(mutations(&of("")), all);
    // One that rows are only added to, one that is only read, and one of which nothing is said.
    let switched = of("[tables.venues]
         update = false
         delete = false
         [tables.meetups]
         insert = false
         update = false
         delete = false
         [tables.members]
         insert = true");
    assert_eq!(mutations(&switched), "createVenue createMember updateMember deleteMember");
    assert!(switched.contains(" venues(") && switched.contains(" meetups("), "they are read all the same");
    assert!(!switched.contains("MeetupPkColumns") && !switched.contains("VenuePkColumns"));
    check(
        "[tables.busy_venues]\ninsert = true\ndelete = false",
        &expect![[r#"
            tables.busy_venues.insert: view `busy_venues` has no mutations; leave it out
            tables.busy_venues.delete: view `busy_venues` has no mutations; leave it out
        "#]],
    );
}

#[test]
fn views_get_keys_and_relations() {
    check(
        "include_tables = ['venues', 'members', 'busy_venues']
         [tables.busy_venues]
         primary_key = ['venue_id']
         [[tables.busy_venues.relations]]
         columns = ['venue_id']
         target = 'venues'
         target_columns = ['id']
         [[tables.busy_venues.relations]]
         columns = ['organizer']
         target = 'members'
         target_columns = ['id']
         name = 'who'",
        &expect![[r#"
            BusyVenue busy_venues (venue_id:Int organizer:Int) key [venue_id]
              venue -> Venue on venue_id=id
              who -> Member on organizer=id
            Member members (id:Int! email:Text) key [id]
              busy_venues => BusyVenue on id=organizer
            Venue venues (id:Int! name:Text! secret:Text) key [id]
              busy_venues => BusyVenue on id=venue_id
        "#]],
    );
}

#[test]
fn a_hidden_key_column_leaves_no_key() {
    check(
        "include_tables = ['members']\n[tables.members]\nexclude_columns = ['id']",
        &expect![[r#"
            Member members (email:Text) key []
            note: a column of the primary key of table `members` is left out: it is served without a key
        "#]],
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    check(
        "default_limit = 500
         max_limit = 100
         include_tables = ['venuez', 'm*', 'venues', 'busy_venues']
         exclude_tables = ['nothing like it']
         [tables.meetup]
         [tables.members]
         type_name = 'Not a name'
         list_name = 'meetups'
         primary_key = ['email']
         columns.emial.name = 'x'
         columns.id.name = 'email'
         columns.email.name = 'email'
         [tables.meetups]
         type_name = 'Int'
         list_name = 'meetups'
         exclude_columns = ['prize']
         exclude_relations = ['organiser_member', 'venue_']
         [[tables.meetups.relations]]
         columns = ['venue_id', 'price']
         target = 'venues'
         target_columns = ['id']
         [[tables.meetups.relations]]
         columns = ['venue']
         target = 'vanues'
         target_columns = ['id']
         [[tables.meetups.relations]]
         columns = ['venue']
         target = 'venues'
         target_columns = ['key']
         [[tables.meetups.relations]]
         columns = ['price']
         target = 'venues'
         target_columns = ['id']
         name = 'flags'
         reverse_name = '__meetups'
         [[tables.meetups.relations]]
         columns = ['price']
         target = 'audit_log'
         target_columns = ['message']",
        &expect![[r#"
            default_limit: 500 rows are more than `max_limit` allows (100); lower it or raise `max_limit`
            include_tables.0: no table or view matches `venuez`; did you mean `venues`?
            exclude_tables.0: no table or view matches `nothing like it`
            tables.meetup: there is no table or view `meetup`; did you mean `meetups`?
            tables.meetups.exclude_columns.0: table `meetups` has no column `prize`; did you mean `price`?
            tables.members.columns.emial: table `members` has no column `emial`; did you mean `email`?
            tables.members.columns.email.name: another column is already called `email`
            tables.members.primary_key: table `members` has a primary key of its own in the database
            tables.meetups.type_name: the type name `Int` is already in use
            tables.members.type_name: `Not a name` is no GraphQL name: letters, digits and `_`, no digit first, and not `__` first; try `Not_a_name`
            tables.members.list_name: the root field `meetups` is already in use
            tables.meetups.relations.0.columns: 2 columns cannot be compared with 1 `target_columns`; give as many, and at least one
            tables.meetups.relations.1.target: there is no table or view `vanues`; did you mean `venues`?
            tables.meetups.relations.2.columns: table `meetups` has no column `venue`; did you mean `venue_id`?
            tables.meetups.relations.2.target_columns: table `venues` has no column `key`
            tables.meetups.relations.4.target: `audit_log` is not served
            tables.meetups.relations.3.name: table `meetups` already has a field `flags`
            tables.meetups.relations.3.reverse_name: `__meetups` is no GraphQL name: letters, digits and `_`, no digit first, and not `__` first; try `_meetups`
            tables.meetups.exclude_relations.0: table `meetups` has no relation `organiser_member`; did you mean `organizer_not_a_name`?
            tables.meetups.exclude_relations.1: table `meetups` has no relation `venue_`; did you mean `venue`?
        "#]],
    );
}
