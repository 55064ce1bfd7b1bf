//! SQLite databases and their schemas.

use expect_test::{Expect, expect, expect_file};
use prony_sources::relational::sqlite::discover::discover;
use rusqlite::{Connection, OpenFlags};

use crate::support::{model, outline, sdl, sqlite_catalog};

fn check(sql: &str, expected: &Expect) {
    expected.assert_eq(&outline(&model(&sqlite_catalog(sql), "")));
}

#[test]
fn chinook() {
    let path = prony_testkit::chinook::sqlite_path();
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let model = model(&discover(&connection).unwrap(), "");
    expect_file!["../golden/chinook.sqlite.graphql"].assert_eq(&sdl(&model));
}

#[test]
fn meetup() {
    check(
        "CREATE TABLE venues (id INTEGER PRIMARY KEY, name TEXT NOT NULL, postal_code VARCHAR(20));
         CREATE TABLE meetups (id INTEGER PRIMARY KEY, title TEXT NOT NULL, start_at TIMESTAMP,
             venue_id INTEGER, FOREIGN KEY (venue_id) REFERENCES venues (id));
         CREATE TABLE members (id INTEGER PRIMARY KEY, email TEXT, first_name TEXT);
         CREATE TABLE meetups_members (meetup_id INTEGER REFERENCES meetups, member_id INTEGER
             REFERENCES members, PRIMARY KEY (meetup_id, member_id));
         CREATE TABLE member_follows (created_by INTEGER REFERENCES members (id),
             member_id INTEGER REFERENCES Members (ID), PRIMARY KEY (created_by, member_id));",
        &expect![[r#"
            Meetup meetups (id:Int! title:Text! start_at:Timestamp venue_id:Int) key [id]
              venue -> Venue on venue_id=id
              meetups_members => MeetupsMember on id=meetup_id
            MeetupsMember meetups_members (meetup_id:Int member_id:Int) key [meetup_id member_id]
              meetup -> Meetup on meetup_id=id
              member -> Member on member_id=id
            MemberFollow member_follows (created_by:Int member_id:Int) key [created_by member_id]
              created_by_member -> Member on created_by=id
              member -> Member on member_id=id
            Member members (id:Int! email:Text first_name:Text) key [id]
              meetups_members => MeetupsMember on id=member_id
              member_follows_on_created_by => MemberFollow on id=created_by
              member_follows_on_member_id => MemberFollow on id=member_id
            Venue venues (id:Int! name:Text! postal_code:Text) key [id]
              meetups => Meetup on id=venue_id
        "#]],
    );
}
