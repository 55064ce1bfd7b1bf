//! PostgreSQL databases and their schemas.

use expect_test::{Expect, expect, expect_file};
use prony_postgres::discover::discover;
use prony_sql::{catalog::Catalog, model::Model};
use prony_testkit::TestDatabase;
use tokio_postgres::NoTls;

use crate::support::{lines, model, outline, schema, sdl, settings};

fn catalog(database: &TestDatabase, schemas: &[&str]) -> Catalog {
    catalog_after(database, schemas, "")
}

/// The catalog as a session sees it that has executed `preparation`.
fn catalog_after(database: &TestDatabase, schemas: &[&str], preparation: &str) -> Catalog {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let schemas: Vec<String> = schemas.iter().map(|&schema| schema.to_owned()).collect();
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
        let connection = tokio::spawn(connection);
        client.batch_execute(preparation).await.unwrap();
        let catalog = discover(&client, &schemas).await.unwrap();
        drop(client);
        connection.await.unwrap().unwrap();
        catalog
    })
}

#[test]
fn chinook() {
    let database = prony_testkit::chinook::postgres_database();
    let model = model(&catalog(&database, &[]), "");
    expect_file!["../golden/chinook.postgres.graphql"].assert_eq(&sdl(&model));
}

/// What people have written of their tables is what the documentation of the API says.
#[test]
fn comments_are_descriptions() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'happy'); COMMENT ON TYPE mood IS 'How they feel.';
         CREATE TABLE people (id int PRIMARY KEY, name text UNIQUE, feels mood NOT NULL, twice int GENERATED ALWAYS AS (id * 2) STORED);
         COMMENT ON TABLE people IS 'Those who \"live\" here. '; COMMENT ON COLUMN people.name IS 'As on the door';
         COMMENT ON COLUMN people.feels IS '  ';
         CREATE TABLE pets (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, owner int REFERENCES people);
         CREATE VIEW named AS SELECT name FROM people; COMMENT ON VIEW named IS NULL;",
    );
    let long = "w".repeat(3000);
    database.execute(&format!("COMMENT ON COLUMN pets.owner IS '{long}'"));
    let model = model(&catalog(&database, &[]), "");
    let schema = schema(&model);
    let said = |name: &str, field: &str| {
        let found = &schema.valid().types[name];
        let description = match found.as_object().filter(|_| !field.is_empty()) {
            Some(object) => object.fields[field].description.as_ref(),
            None => found.description(),
        };
        description.map_or("", |text| text.as_str()).to_owned()
    };
    assert_eq!(said("Pet", "owner").len(), 2000);
    let asked = [
        ("Person", ""),
        ("Person", "id"),
        ("Person", "name"),
        ("Person", "feels"),
        ("Person", "twice"),
        ("Person", "pets"),
        ("Pet", ""),
        ("Pet", "id"),
        ("Pet", "owner_person"),
        ("Named", ""),
        ("Mood", ""),
        ("Query", "people"),
        ("Query", "pets"),
        ("Mutation", "createPerson"),
    ];
    let lines: Vec<String> =
        asked.iter().map(|(name, field)| format!("{name}.{field}: {}", said(name, field))).collect();
    expect![[r#"
        Person.: Those who "live" here.
        Person.id: `integer`, primary key
        Person.name: As on the door
        Person.feels: `mood`
        Person.twice: `integer`, generated
        Person.pets: The rows of `public.pets` whose `owner` is this row's `id`.
        Pet.: A row of the table `public.pets`.
        Pet.id: `integer`, primary key, generated
        Pet.owner_person: The row of `public.people` whose `id` is this row's `owner`.
        Named.: A row of the view `public.named`.
        Mood.: How they feel.
        Query.people: Those who "live" here.
        Query.pets: Rows of the table `public.pets`.
        Mutation.createPerson: Creates a row and answers its key."#]]
    .assert_eq(&lines.join("\n"));
}

/// Who serves one schema is told of the others, but for what `prony triggers install` makes.
#[test]
fn tables_of_other_schemas_are_told_of() {
    let sql = "CREATE SCHEMA shop; CREATE SCHEMA \"Audit Log\"; CREATE SCHEMA empty; CREATE TABLE one (id int PRIMARY KEY);
               CREATE TABLE shop.a (id int PRIMARY KEY); CREATE VIEW shop.b AS SELECT 1 AS x;
               CREATE TABLE \"Audit Log\".events (id int PRIMARY KEY) PARTITION BY RANGE (id);
               CREATE TABLE \"Audit Log\".events_1 PARTITION OF \"Audit Log\".events FOR VALUES FROM (1) TO (9);
               CREATE SCHEMA prony; CREATE TABLE prony.change (id bigint PRIMARY KEY);";
    check(
        sql,
        &[],
        &expect![[r#"
        One ones (id:Int!) key [id]
        note: tables of other schemas are not served: `Audit Log` (1), `shop` (2); `schemas` (--schema) names all that are to be
    "#]],
    );
    check(
        sql,
        &["public"],
        &expect![[r#"
        One ones (id:Int!) key [id]
    "#]],
    );
}

/// The outline of a fresh database after `sql`.
fn check(sql: &str, schemas: &[&str], expected: &Expect) {
    let database = TestDatabase::create();
    database.execute(sql);
    expected.assert_eq(&outline(&model(&catalog(&database, schemas), "")));
}

#[test]
fn every_type_has_a_kind() {
    check(
        "CREATE DOMAIN short AS varchar(3);
         CREATE DOMAIN shorter AS short NOT NULL CHECK (length(VALUE) < 3);
         CREATE TYPE mood AS ENUM ('happy', 'sad');
         CREATE TYPE size AS ENUM ('x-large', 'small');
         CREATE TYPE unused AS ENUM ('a');
         CREATE TYPE pair AS (a int, b int);
         CREATE TABLE everything (
             small smallint, whole integer PRIMARY KEY, large bigint, s serial, b bigserial,
             r real, d double precision, n numeric(10, 2), m money,
             flag boolean, t text, v varchar(10), c char(3), c1 \"char\", nm name,
             ts timestamp, tstz timestamptz, day date, at time, attz timetz, span interval,
             u uuid, j json, jb jsonb, bin bytea, bits bit(3), varied bit varying,
             net inet, mac macaddr, spot point, doc xml, search tsvector, span_of int4range, o oid,
             ints int[], grid text[][], feelings mood[], feeling mood NOT NULL, sizing size,
             dom short, dom2 shorter, doms short[], composed pair
         );",
        &[],
        &expect![[r#"
            Everything everythings (small:Int whole:Int! large:BigInt s:Int! b:BigInt! r:Float d:Float n:Numeric m:OtherText flag:Boolean t:Text v:Text c:Text c1:OrderedText nm:Text ts:Timestamp tstz:Timestamp day:OtherText at:OtherText attz:OtherText span:OtherText u:Uuid j:Json jb:Json bin:Bytes bits:OrderedText varied:OrderedText net:OtherText mac:OrderedText spot:UnorderedText doc:UnorderedText search:OrderedText span_of:OrderedText o:BigInt ints:Array(Int) grid:Array(Text) feelings:Array(Enum(0)) feeling:Enum(0)! sizing:OtherText dom:Text dom2:Text! doms:Array(Text) composed:OrderedText) key [whole]
            enum Mood happy sad
            note: column `m` of table `public.everything` has the type `money`, which is served as text
            note: column `c1` of table `public.everything` has the type `"char"`, which is served as text
            note: column `bits` of table `public.everything` has the type `"bit"`, which is served as text
            note: column `varied` of table `public.everything` has the type `bit varying`, which is served as text
            note: column `net` of table `public.everything` has the type `inet`, which is served as text
            note: column `mac` of table `public.everything` has the type `macaddr`, which is served as text
            note: column `spot` of table `public.everything` has the type `point`, which is served as text
            note: column `doc` of table `public.everything` has the type `xml`, which is served as text
            note: column `search` of table `public.everything` has the type `tsvector`, which is served as text
            note: column `span_of` of table `public.everything` has the type `int4range`, which is served as text
            note: column `composed` of table `public.everything` has the type `pair`, which is served as text
            note: enum `size` has labels that are no GraphQL names: served as text
        "#]],
    );
}

#[test]
fn kinds_of_relations_and_columns() {
    check(
        "CREATE TABLE tenants (id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY, name text NOT NULL);
         CREATE TABLE orders (tenant_id int REFERENCES tenants, number int GENERATED BY DEFAULT AS IDENTITY,
             parent_number int, total numeric NOT NULL DEFAULT 0, twice numeric GENERATED ALWAYS AS (total * 2) STORED,
             PRIMARY KEY (tenant_id, number),
             FOREIGN KEY (tenant_id, parent_number) REFERENCES orders (tenant_id, number));
         CREATE TABLE order_lines (id int PRIMARY KEY, tenant_id int NOT NULL, order_number int NOT NULL,
             replaces_tenant int, replaces_number int,
             FOREIGN KEY (tenant_id, order_number) REFERENCES orders,
             FOREIGN KEY (tenant_id, order_number) REFERENCES orders,
             FOREIGN KEY (replaces_tenant, replaces_number) REFERENCES orders);
         CREATE TABLE events (id int, day date NOT NULL, PRIMARY KEY (id, day)) PARTITION BY RANGE (day);
         CREATE TABLE events_2020 PARTITION OF events FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
         CREATE TABLE log (message text NOT NULL, at timestamptz NOT NULL);
         CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.at := now(); RETURN NEW; END';
         CREATE TRIGGER fill BEFORE INSERT ON log FOR EACH ROW EXECUTE FUNCTION fill();
         CREATE VIEW order_totals AS SELECT tenant_id, sum(total) AS total FROM orders GROUP BY tenant_id;
         CREATE MATERIALIZED VIEW order_counts AS SELECT tenant_id, count(*) FROM orders GROUP BY tenant_id;
         CREATE TABLE schema_migrations (version text);
         CREATE TABLE \"no columns\" ();
         CREATE TABLE dropped (a int, b int, c int PRIMARY KEY); ALTER TABLE dropped DROP COLUMN b;",
        &[],
        &expect![[r#"
            Dropped droppeds (a:Int c:Int!) key [c]
            Event events (id:Int! day:OtherText!) key [id day]
            Log logs (message:Text! at:Timestamp!) key []
            OrderCount order_counts (tenant_id:Int count:BigInt) key []
            OrderLine order_lines (id:Int! tenant_id:Int! order_number:Int! replaces_tenant:Int replaces_number:Int) key [id]
              order -> Order on tenant_id=tenant_id order_number=number
              replaces_tenant_replaces_number_order -> Order on replaces_tenant=tenant_id replaces_number=number
            OrderTotal order_totals (tenant_id:Int total:Numeric) key []
            Order orders (tenant_id:Int! number:Int! parent_number:Int total:Numeric! twice:Numeric) key [tenant_id number]
              tenant -> Tenant on tenant_id=id
              order -> Order on tenant_id=tenant_id parent_number=number
              order_lines_on_tenant_id_and_order_number => OrderLine on tenant_id=tenant_id number=order_number
              order_lines_on_replaces_tenant_and_replaces_number => OrderLine on tenant_id=replaces_tenant number=replaces_number
              orders => Order on tenant_id=tenant_id number=parent_number
            Tenant tenants (id:Int! name:Text!) key [id]
              orders => Order on id=tenant_id
            note: table `public.schema_migrations` is left out because its name contains `migration`; name it in `include_tables` to serve it
            note: table `public.no columns` has no columns to serve and is left out
            note: a relation of table `public.order_lines` is called `replaces_tenant_replaces_number_order` because `order` is in use
        "#]],
    );
}

#[test]
fn schemas_keep_equal_names_apart() {
    check(
        "CREATE SCHEMA shop; CREATE SCHEMA \"Crm\";
         CREATE TYPE shop.state AS ENUM ('open'); CREATE TYPE \"Crm\".state AS ENUM ('closed');
         CREATE TABLE shop.people (id int PRIMARY KEY, state shop.state);
         CREATE TABLE \"Crm\".people (id int PRIMARY KEY, shop_person_id int REFERENCES shop.people,
             state \"Crm\".state);
         CREATE TABLE public.people (id int REFERENCES shop.people);",
        &["shop", "Crm"],
        &expect![[r#"
            Person people (id:Int! state:Enum(0)) key [id]
              crm_people => CrmPerson on id=shop_person_id
            CrmPerson crm_people (id:Int! shop_person_id:Int state:Enum(1)) key [id]
              shop_person -> Person on shop_person_id=id
            enum State open
            enum StateEnum closed
            note: table `Crm.people` gets the type `CrmPerson` because `Person` is already in use
            note: table `Crm.people` gets the root field `crm_people` because `people` is already in use
        "#]],
    );
}

#[test]
fn unknown_schemas_are_named() {
    let database = TestDatabase::create();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let error = runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        discover(&client, &["public".to_owned(), "shp".to_owned()]).await.unwrap_err()
    });
    assert_eq!(error.to_string(), "the database has no schema `shp`; it has `public`");
}

#[test]
fn what_the_user_may_not_read_is_left_out() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE open (id int PRIMARY KEY, secret text, name text);
         CREATE TABLE closed (id int PRIMARY KEY, open_id int REFERENCES open);
         CREATE TABLE half (tenant int, id int, open_id int REFERENCES open, PRIMARY KEY (tenant, id));
         CREATE ROLE discovery_reader;
         GRANT SELECT (id, name) ON open TO discovery_reader;
         GRANT SELECT (id, open_id) ON half TO discovery_reader;",
    );
    let seen = catalog_after(&database, &[], "SET ROLE discovery_reader");
    expect![[r#"
        Half halves (id:Int! open_id:Int) key []
          open -> Open on open_id=id
        Open opens (id:Int! name:Text) key [id]
          halves => Half on id=open_id
    "#]]
    .assert_eq(&outline(&model(&seen, "")));
    database.execute("DROP OWNED BY discovery_reader; DROP ROLE discovery_reader;");
}

#[test]
fn types_of_other_schemas_are_ready_for_a_cast() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE SCHEMA \"Other one\";
         CREATE TYPE \"Other one\".\"Mood\" AS ENUM ('fine');
         CREATE DOMAIN \"Other one\".code AS varchar(4);
         CREATE TABLE t (mood \"Other one\".\"Mood\", moods \"Other one\".\"Mood\"[],
             code \"Other one\".code, padded char(7), amount numeric(8, 2), at timestamp(0), bits bit(3));",
    );
    let catalog = catalog(&database, &[]);
    let types: Vec<&str> = catalog.tables[0].columns.iter().map(|column| &*column.database_type).collect();
    for database_type in &types {
        database.query(&format!("SELECT NULL::{database_type}"));
    }
    expect![[r#"
        "Other one"."Mood"
        "Other one"."Mood"[]
        character varying
        bpchar
        numeric
        timestamp without time zone
        "bit""#]]
    .assert_eq(&types.join("\n"));
}

/// Such columns were served, and each request for them failed.
#[test]
fn a_type_of_which_a_column_has_no_values_is_a_fault() {
    let database = TestDatabase::create();
    database.execute(
        "CREATE TABLE things (id int PRIMARY KEY, code uuid, at timestamp, name text, pair point, made boolean, docs jsonb);",
    );
    let settings = settings(
        "[tables.things.columns]
         code.type = 'Int'
         at.type = 'Float'
         name.type = 'Float'
         pair.type = 'JSON'
         made.type = 'Int'
         docs.type = 'UUID'",
    );
    let faults = Model::build(&catalog(&database, &[]), &settings).unwrap_err();
    expect![[r#"
        tables.things.columns.code.type: column `code` of table `public.things` has the type `uuid`, which is never served as Int
        tables.things.columns.at.type: column `at` of table `public.things` has the type `timestamp without time zone`, which is never served as Float
        tables.things.columns.name.type: column `name` of table `public.things` has the type `text`, which is never served as Float
        tables.things.columns.pair.type: column `pair` of table `public.things` has the type `point`, which is never served as JSON
        tables.things.columns.docs.type: column `docs` of table `public.things` has the type `jsonb`, which is never served as UUID
    "#]]
    .assert_eq(&lines(&faults));
}
