//! SQLite databases and their schemas.

use expect_test::{Expect, expect, expect_file};
use prony_sqlite::file::discover::discover;
use rusqlite::{Connection, OpenFlags};

use crate::support::{model, outline, schema, sdl, sqlite_catalog};

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

#[test]
fn every_declared_type_has_a_kind() {
    check(
        "CREATE TABLE everything (
             i INTEGER PRIMARY KEY, i2 INT, i3 TINYINT, i4 MEDIUMINT(8), big BIGINT, ubig UNSIGNED BIG INT, i8 INT8,
             c CHARACTER(20), v VARCHAR(255), n NVARCHAR(20), nc NATIVE CHARACTER(70), t TEXT, cl CLOB,
             bl BLOB, bin VARBINARY(16), none, r REAL, d DOUBLE PRECISION, f FLOAT,
             num NUMERIC, num2 NUMERIC(10,2), dec DECIMAL(10,5), flag BOOLEAN, day DATE, at DATETIME, ts TIMESTAMP,
             u UUID, j JSON, jb JSONB, spot POINT, span INTERVAL, s STRING, m MONEY,
             nb NUMBER(10,2), dc DEC, dc2 DEC(8,2), cur CURRENCY);
         CREATE TABLE strict (id INT PRIMARY KEY, whatever ANY) STRICT;",
        &expect![[r#"
            Everything everythings (i:Int! i2:Int i3:Int i4:Int big:BigInt ubig:BigInt i8:BigInt c:Text v:Text n:Text nc:Text t:Text cl:Text bl:Bytes bin:Bytes none:OtherText r:Float d:Float f:Float num:Numeric num2:Numeric dec:Numeric flag:Boolean day:Timestamp at:Timestamp ts:Timestamp u:Uuid j:Json jb:Json spot:OtherText span:OtherText s:OtherText m:Numeric nb:Numeric dc:Numeric dc2:Numeric cur:Numeric) key [i]
            Strict stricts (id:Int! whatever:OtherText) key [id]
            note: column `none` of table `everything` has no declared type and is served as text
            note: column `spot` of table `everything` has the type `POINT`, which is served as text
            note: column `span` of table `everything` has the type `INTERVAL`, which is served as text
            note: column `s` of table `everything` has the type `STRING`, which is served as text
            note: column `whatever` of table `strict` has the type `ANY`, which is served as text
        "#]],
    );
}

/// SQLite says `BLOB` of all, and texts were served as base64.
#[test]
fn a_column_of_a_view_without_a_type_is_no_blob() {
    check(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, loose, picture BLOB, title TEXT);
         CREATE VIEW seen AS SELECT id, loose, picture, CAST(title AS BLOB) AS raw FROM notes;
         CREATE VIEW zone AS SELECT title AS value FROM notes UNION SELECT id FROM notes;",
        &expect![[r#"
            Note notes (id:Int! loose:OtherText picture:Bytes title:Text) key [id]
            Seen seens (id:Int loose:OtherText picture:Bytes raw:Bytes) key []
            Zone zones (value:OtherText) key []
            note: column `loose` of table `notes` has no declared type and is served as text
        "#]],
    );
}

#[test]
fn keys_and_defaults() {
    check(
        "CREATE TABLE alias (id INTEGER PRIMARY KEY, x INT DEFAULT 1, y INT NOT NULL);
         CREATE TABLE falling (id INTEGER PRIMARY KEY DESC);
         CREATE TABLE int_key (id INT PRIMARY KEY);
         CREATE TABLE text_key (id TEXT PRIMARY KEY NOT NULL);
         CREATE TABLE without_rowid (b TEXT, a TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID;
         CREATE TABLE keyless (a TEXT, b TEXT GENERATED ALWAYS AS (a) STORED, c AS (a) VIRTUAL);",
        &expect![[r#"
            Alias aliases (id:Int! x:Int y:Int!) key [id]
            Falling fallings (id:Int) key [id]
            IntKey int_keys (id:Int) key [id]
            Keyless keylesses (a:Text b:Text c:OtherText) key []
            TextKey text_keys (id:Text!) key [id]
            WithoutRowid without_rowids (b:Text! a:Text!) key [a b]
            note: column `c` of table `keyless` has no declared type and is served as text
        "#]],
    );
}

#[test]
fn relations_by_every_rule() {
    check(
        "CREATE TABLE employees (EmployeeId INTEGER PRIMARY KEY, ReportsTo INT REFERENCES employees,
             mentor_id INT REFERENCES EMPLOYEES (employeeid));
         CREATE TABLE venues (id INTEGER PRIMARY KEY, code TEXT UNIQUE, venues TEXT);
         CREATE TABLE meetups (id INTEGER PRIMARY KEY, venue TEXT, venue_id INT REFERENCES venues (id),
             _id INT REFERENCES venues (code), nowhere INT REFERENCES missing (id),
             wrong INT REFERENCES venues (no_such_column));
         CREATE TABLE parts (maker TEXT, number INT, of_maker TEXT, of_number INT,
             PRIMARY KEY (maker, number), FOREIGN KEY (of_maker, of_number) REFERENCES parts);
         CREATE TABLE uses (maker TEXT, number INT, other_maker TEXT, other_number INT, id INTEGER PRIMARY KEY,
             FOREIGN KEY (maker, number) REFERENCES parts (maker, number),
             FOREIGN KEY (maker, number) REFERENCES parts (maker, number),
             FOREIGN KEY (other_maker, other_number) REFERENCES parts);",
        &expect![[r#"
            Employee employees (EmployeeId:Int! ReportsTo:Int mentor_id:Int) key [EmployeeId]
              reports_to_employee -> Employee on ReportsTo=EmployeeId
              mentor -> Employee on mentor_id=EmployeeId
              employees_on_reports_to => Employee on EmployeeId=ReportsTo
              employees_on_mentor_id => Employee on EmployeeId=mentor_id
            Meetup meetups (id:Int! venue:Text venue_id:Int _id:Int nowhere:Int wrong:Int) key [id]
              venue_id_venue -> Venue on venue_id=id
              _id_venue -> Venue on _id=code
            Part parts (maker:Text number:Int of_maker:Text of_number:Int) key [maker number]
              part -> Part on of_maker=maker of_number=number
              parts => Part on maker=of_maker number=of_number
              uses_on_maker_and_number => Use on maker=maker number=number
              uses_on_other_maker_and_other_number => Use on maker=other_maker number=other_number
            Use uses (maker:Text number:Int other_maker:Text other_number:Int id:Int!) key [id]
              part -> Part on maker=maker number=number
              other_maker_other_number_part -> Part on other_maker=maker other_number=number
            Venue venues (id:Int! code:Text venues:Text) key [id]
              meetups_on_venue_id => Meetup on id=venue_id
              meetups_on__id => Meetup on code=_id
            note: a foreign key of table `meetups` refers to `missing`, which does not have what it names; no relation
            note: a foreign key of table `meetups` refers to `venues`, which does not have what it names; no relation
            note: a relation of table `meetups` is called `venue_id_venue` because `venue` is in use
            note: a relation of table `uses` is called `other_maker_other_number_part` because `part` is in use
        "#]],
    );
}

#[test]
fn awkward_names() {
    check(
        "CREATE TABLE \"it's \"\"quoted\"\"\" (\"a b\" INT, \"a-b\" INT, a_b INT, \"1st\" INT, \"__typename\" INT,
             \"größe\" INT, \"名前\" TEXT, \"💥\" INT, \"\" INT, \"type\" INT);
         CREATE TABLE reserved (\"and\" INT PRIMARY KEY, \"or\" INT, \"not\" INT, pk_columns INT, \"where\" INT);
         CREATE TABLE query (id INT); CREATE TABLE mutations (id INT); CREATE TABLE strings (id INT);
         CREATE TABLE ints (id INT); CREATE TABLE results (id INT); CREATE TABLE sort_operators (id INT);
         CREATE TABLE \"__private\" (id INT); CREATE TABLE \"2020 reports\" (id INT); CREATE TABLE \"--\" (id INT);
         CREATE TABLE \"straße\" (id INT); CREATE TABLE HTTPRequestLog (id INT);",
        &expect![[r#"
            _ _rows (id:Int) key []
            _2020Report _2020_reports (id:Int) key []
            HttpRequestLog http_request_logs (id:Int) key []
            Private _privates (id:Int) key []
            Ints ints (id:Int) key []
            ItSQuoted it_s_quoteds (a_b_2:Int a_b_3:Int a_b:Int _1st:Int _typename:Int grosse:Int MingQian:Text boom:Int _:Int type:Int) key []
            Mutations mutations (id:Int) key []
            QueryTable queries (id:Int) key []
            Reserved reserveds (and:Int or:Int not:Int pk_columns:Int where:Int) key [and]
            Results results (id:Int) key []
            SortOperators sort_operators (id:Int) key []
            Strasse strasses (id:Int) key []
            Strings strings (id:Int) key []
            note: column `a b` of table `it's "quoted"` is served as `a_b_2`
            note: column `a-b` of table `it's "quoted"` is served as `a_b_3`
            note: column `1st` of table `it's "quoted"` is served as `_1st`
            note: column `__typename` of table `it's "quoted"` is served as `_typename`
            note: column `größe` of table `it's "quoted"` is served as `grosse`
            note: column `名前` of table `it's "quoted"` is served as `MingQian`
            note: column `💥` of table `it's "quoted"` is served as `boom`
            note: column `` of table `it's "quoted"` is served as `_`
            note: column `and` of table `reserved` takes the place of the operator `and` in its filter
            note: column `or` of table `reserved` takes the place of the operator `or` in its filter
            note: column `not` of table `reserved` takes the place of the operator `not` in its filter
            note: column `pk_columns` of table `reserved` cannot be updated: the key's argument has that name
            note: table `ints` gets the type `Ints` because `Int` is already in use
            note: table `mutations` gets the type `Mutations` because `Mutation` is already in use
            note: table `query` gets the type `QueryTable` because `Query` is already in use
            note: table `results` gets the type `Results` because `Result` is already in use
            note: table `sort_operators` gets the type `SortOperators` because `SortOperator` is already in use
            note: table `strings` gets the type `Strings` because `String` is already in use
        "#]],
    );
}

#[test]
fn colliding_names() {
    check(
        "CREATE TABLE member (id INTEGER PRIMARY KEY);
         CREATE TABLE members (id INTEGER PRIMARY KEY);
         CREATE TABLE member_sort (id INTEGER PRIMARY KEY);
         CREATE TABLE member_clauses (id INTEGER PRIMARY KEY, member_id INT REFERENCES members);
         CREATE TABLE member_pk_columns (id INTEGER PRIMARY KEY);
         CREATE TABLE people (id INTEGER PRIMARY KEY);
         CREATE TABLE person (id INTEGER PRIMARY KEY);
         CREATE TABLE orders_aggregate (id INTEGER PRIMARY KEY);
         CREATE TABLE orders (id INTEGER PRIMARY KEY);
         CREATE TABLE fish_aggregate (id INTEGER PRIMARY KEY, fish_id INT REFERENCES fish);
         CREATE TABLE fish (id INTEGER PRIMARY KEY, fish_aggregates INT, fish_aggregates_aggregate INT);
         CREATE VIEW InvoiceLine AS SELECT 1 AS one; CREATE TABLE invoice_lines (id INT);",
        &expect![[r#"
            InvoiceLineView invoice_line (one:OtherText) key []
            Fish fish (id:Int! fish_aggregates:Int fish_aggregates_aggregate:Int) key [id]
              fish_aggregates_on_fish_id => FishAggregateTable on id=fish_id
            FishAggregateTable fish_aggregates (id:Int! fish_id:Int) key [id]
              fish -> Fish on fish_id=id
            InvoiceLine invoice_lines (id:Int) key []
            Member members (id:Int!) key [id]
            MemberClause member_clauses (id:Int! member_id:Int) key [id]
              member -> Members on member_id=id
            MemberPkColumn member_pk_columns (id:Int!) key [id]
            MemberSortTable member_sorts (id:Int!) key [id]
            Members members_2 (id:Int!) key [id]
              member_clauses => MemberClause on id=member_id
            Order orders (id:Int!) key [id]
            OrdersAggregate orders_aggregates (id:Int!) key [id]
            Person people (id:Int!) key [id]
            PersonTable person (id:Int!) key [id]
            note: table `fish_aggregate` gets the type `FishAggregateTable` because `FishAggregate` is already in use
            note: table `member_sort` gets the type `MemberSortTable` because `MemberSort` is already in use
            note: table `members` gets the type `Members` because `Member` is already in use
            note: table `members` gets the root field `members_2` because `members` is already in use
            note: table `person` gets the type `PersonTable` because `Person` is already in use
            note: table `person` gets the root field `person` because `people` is already in use
            note: view `InvoiceLine` gets the type `InvoiceLineView` because `InvoiceLine` is already in use
            note: view `InvoiceLine` gets the root field `invoice_line` because `invoice_lines` is already in use
            note: a relation of table `fish` is called `fish_aggregates_on_fish_id` because `fish_aggregates` is in use
        "#]],
    );
}

#[test]
fn what_is_left_out() {
    check(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY AUTOINCREMENT, body TEXT);
         CREATE VIRTUAL TABLE search USING fts5 (body);
         CREATE TABLE gone (x INT, y INT);
         CREATE VIEW broken AS SELECT x FROM gone; CREATE VIEW whole AS SELECT id, upper(body) AS loud FROM notes;
         DROP TABLE gone;
         CREATE TABLE SchemaMigrations (version TEXT); CREATE TABLE knex_migrations_lock (x INT);",
        &expect![[r#"
            Note notes (id:Int! body:Text) key [id]
            Whole wholes (id:Int loud:OtherText) key []
            note: virtual table `search` is left out
            note: view `broken` cannot be read and is left out: no such table: main.gone
            note: table `SchemaMigrations` is left out because its name contains `migration`; name it in `include_tables` to serve it
            note: table `knex_migrations_lock` is left out because its name contains `migration`; name it in `include_tables` to serve it
        "#]],
    );
}

/// A table with the name of any type that tables share gets another type.
#[test]
fn shared_types_are_kept_apart_from_tables() {
    let everything =
        "CREATE TABLE everything (a INTEGER PRIMARY KEY, b BIGINT, c BLOB, d NUMERIC, e REAL, f JSON,
        g BOOLEAN, h TEXT, i UUID, j DECIMAL);";
    let as_decimal = "tables.everything.columns.j.type = 'Decimal'";
    let types: Vec<String> = schema(&model(&sqlite_catalog(everything), as_decimal))
        .valid()
        .types
        .keys()
        .filter(|name| !name.starts_with("__") && **name != "Everything")
        .map(|name| format!("CREATE TABLE \"{name}\" (x INT);"))
        .collect();
    assert!(types.len() > 25, "{types:?}");
    // Merging refuses types that are defined twice.
    schema(&model(&sqlite_catalog(&(everything.to_owned() + &types.concat())), as_decimal));
}
