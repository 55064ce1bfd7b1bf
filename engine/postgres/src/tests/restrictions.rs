//! Restricted plans on PostgreSQL: what cannot be seen is absent on every way to it, and what may not be written is not.

use prony_source::permissions::{
    Columns, DeletePermission, InsertPermission, Permissions, SelectPermission, SessionNames,
    TablePermissions, UpdatePermission,
};
use prony_testkit::postgres::TestDatabase;

use prony_sql::contribution::contribution_for;

use crate::tests::*;

/// Keys of several types and several parts, a table that leads to itself, and a trigger that changes what was written.
const SHOP: &str = "
    create table customer (code uuid primary key, login text not null);
    create table purchase (customer_id uuid not null references customer, day date, total numeric(8,2) not null,
                           primary key (customer_id, day));
    create table person (id smallint primary key, name varchar(20), boss_id smallint references person);
    insert into customer values ('00000000-0000-0000-0000-000000000001', 'ada'),
                                ('00000000-0000-0000-0000-000000000002', 'bob');
    insert into purchase values ('00000000-0000-0000-0000-000000000001', '2024-01-01', 5),
                                ('00000000-0000-0000-0000-000000000001', '2024-01-02', 500),
                                ('00000000-0000-0000-0000-000000000002', '2024-01-01', 7);
    insert into person values (1, 'Ann', null), (2, 'Ben', 1), (3, 'Cy', 2);
    create function raise_total() returns trigger language plpgsql as $$
        begin update purchase set total = 1000 where customer_id = new.customer_id and day = new.day; return null; end $$;
    create trigger raise_total after update of total on purchase for each row when (new.total = 13)
        execute function raise_total();";

impl Served {
    /// For a session whose user sees, and writes, what is theirs.
    fn restricted_to(mut self, user: &str) -> Self {
        let mut names = SessionNames::default();
        let mut condition = |written: Json| names.condition(&written).unwrap();
        let own = condition(json!({"customer": {"login": {"eq": "$user"}}}));
        let cheap = condition(json!({"customer": {"login": {"eq": "$user"}}, "total": {"lt": 100}}));
        let purchases = TablePermissions {
            select: Some(SelectPermission::of_rows(own.clone())),
            insert: Some(InsertPermission::checked(cheap.clone())),
            update: Some(UpdatePermission::of_rows(own.clone(), cheap)),
            delete: Some(DeletePermission { rows: own }),
        };
        let customers = TablePermissions {
            select: Some(SelectPermission::of_rows(condition(json!({"login": {"eq": "$user"}})))),
            ..TablePermissions::default()
        };
        let people = TablePermissions {
            select: Some(SelectPermission::of_rows(condition(json!({"not": {"name": {"eq": "Ann"}}})))),
            insert: Some(InsertPermission::checked(condition(
                json!({"or": [{"boss": {"name": {"eq": "Ann"}}}, {"id": {"lt": 10}}]}),
            ))),
            ..TablePermissions::default()
        };
        let tables = [("purchase", purchases), ("public.customer", customers), ("person", people)];
        let tables = tables.map(|(table, permissions)| (table.to_owned(), permissions.into()));
        let restrictions =
            Restrictions::new(&self.model, &Permissions { tables: tables.into(), ..Permissions::default() })
                .unwrap();
        let contribution = contribution_for(&self.model, &restrictions);
        self.schema = Schema::merge(vec![(SourceId(0), contribution)]).unwrap();
        self.restricted = Some((restrictions, [json!(user)].into()));
        self
    }

    /// For a session with one variable, which sees the rows of a table that fulfil a condition.
    fn seeing(mut self, table: &str, condition: &Json, variable: &Json) -> Self {
        let rows = SessionNames::default().condition(condition).unwrap();
        let select = Some(SelectPermission::of_rows(rows));
        let seen = TablePermissions { select, ..TablePermissions::default() };
        let tables = [(table.to_owned(), seen.into())].into();
        let permissions = Permissions { tables, ..Permissions::default() };
        let restrictions = Restrictions::new(&self.model, &permissions).unwrap();
        self.restricted = Some((restrictions, [variable.clone()].into()));
        self
    }
}

#[test]
fn what_is_hidden_is_absent_in_all_models() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let mut answers = Vec::new();
        for model in MODELS {
            let served = Served::open(&database.url(), &settings(model)).await.restricted_to("bob");
            let session = served.session();
            let query = r#"{ customers { login purchases { total } purchases_aggregate { count } }
                             purchases { total customer { login } } purchases_aggregate { count sum { total } }
                             people { id boss { name } }
                             guessed: people(where: {boss: {name: {eq: "Ann"}}}) { id } }"#;
            answers.push(served.ask(&session, query, none()).await);
        }
        assert_eq!(answers[0], answers[1], "subquery and per-nest differ");
        assert_eq!(answers[0], answers[2], "subquery and bucket differ");
        assert_eq!(
            answers[0],
            r#"{"data":{"customers":[{"login":"bob","purchases":[{"total":7.00}],"purchases_aggregate":{"count":1}}],"purchases":[{"total":7.00,"customer":{"login":"bob"}}],"purchases_aggregate":{"count":1,"sum":{"total":7.00}},"people":[{"id":2,"boss":null},{"id":3,"boss":{"name":"Ben"}}],"guessed":[]}}"#
        );
    });
}

#[test]
fn what_may_not_be_written_is_taken_back() {
    const ADA: &str = "00000000-0000-0000-0000-000000000001";
    const BOB: &str = "00000000-0000-0000-0000-000000000002";
    let refused = |path: &str| {
        format!(
            r#"{{"data":{{"{path}":null}},"errors":[{{"message":"a row with these values may not be written; nothing was changed","locations":[{{"line":1,"column":12}}],"path":["{path}"],"extensions":{{"code":"FORBIDDEN"}}}}]}}"#
        )
    };
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let served =
            Served::open(&database.url(), &settings(ResolverModel::Subquery)).await.restricted_to("ada");
        let session = served.session();
        let key =
            |day: &str, customer: &str| format!(r#"pk_columns: {{customer_id: "{customer}", day: "{day}"}}"#);
        let cases = [
            (
                format!(
                    r#"mutation {{ createPurchase(customer_id: "{ADA}", day: "2024-02-01", total: 99) {{ day }} }}"#
                ),
                r#"{"data":{"createPurchase":{"day":"2024-02-01"}}}"#.to_owned(),
            ),
            (
                format!(
                    r#"mutation {{ createPurchase(customer_id: "{ADA}", day: "2024-02-02", total: 100) {{ day }} }}"#
                ),
                refused("createPurchase"),
            ),
            (
                format!(
                    r#"mutation {{ createPurchase(customer_id: "{BOB}", day: "2024-02-02", total: 1) {{ __typename }} }}"#
                ),
                refused("createPurchase"),
            ),
            (
                format!(
                    r#"mutation {{ updatePurchase({}, total: 98) {{ result }} }}"#,
                    key("2024-02-01", ADA)
                ),
                r#"{"data":{"updatePurchase":{"result":true}}}"#.to_owned(),
            ),
            (
                format!(
                    r#"mutation {{ updatePurchase({}, total: 13) {{ result }} }}"#,
                    key("2024-02-01", ADA)
                ),
                refused("updatePurchase"),
            ),
            (
                format!(
                    r#"mutation {{ updatePurchase({}, customer_id: "{BOB}", day: "2025-01-01") {{ result }} }}"#,
                    key("2024-02-01", ADA)
                ),
                refused("updatePurchase"),
            ),
            (
                format!(
                    r#"mutation {{ updatePurchase({}, day: "2025-01-01") {{ result }} }}"#,
                    key("2024-02-01", ADA)
                ),
                r#"{"data":{"updatePurchase":{"result":true}}}"#.to_owned(),
            ),
            (
                format!(
                    r#"mutation {{ updatePurchase({}, total: 1) {{ result }} }}"#,
                    key("2024-01-01", BOB)
                ),
                r#"{"data":{"updatePurchase":{"result":false}}}"#.to_owned(),
            ),
            (
                format!(r#"mutation {{ deletePurchase({}) {{ result }} }}"#, key("2024-01-01", BOB)),
                r#"{"data":{"deletePurchase":{"result":false}}}"#.to_owned(),
            ),
            (
                format!(r#"mutation {{ deletePurchase({}) {{ result }} }}"#, key("2024-01-02", ADA)),
                r#"{"data":{"deletePurchase":{"result":true}}}"#.to_owned(),
            ),
            (
                r#"mutation { createPerson(id: 12, name: "Ann", boss_id: 12) { id } }"#.to_owned(),
                r#"{"data":{"createPerson":{"id":12}}}"#.to_owned(),
            ),
            (
                r#"mutation { createPerson(id: 13, name: "Di", boss_id: 3) { id } }"#.to_owned(),
                refused("createPerson"),
            ),
        ];
        for (text, response) in cases {
            assert_eq!(served.ask(&session, &text, none()).await, response, "{text}");
        }
    });
    let rows = |query: &str| -> Vec<String> {
        let rows = database.query(query).into_iter();
        rows.map(|row| row.into_iter().flatten().collect::<Vec<_>>().join(",")).collect()
    };
    assert_eq!(
        rows("select right(customer_id::text, 1), day, total from purchase order by 1, 2"),
        ["1,2024-01-01,5.00", "1,2025-01-01,98.00", "2,2024-01-01,7.00"]
    );
    assert_eq!(rows("select id from person order by 1"), ["1", "2", "3", "12"]);
}

/// A row that passes let others of its key through, as inherited tables have them.
#[test]
fn all_rows_that_are_written_must_pass() {
    let database = TestDatabase::create();
    database.execute(
        "create table animal (id int primary key, owner text, name text);
         create table dog (primary key (id)) inherits (animal);
         insert into animal values (1, 'ann', 'a'), (2, 'ann', 'b');
         insert into dog values (1, 'bob', 'c'), (2, 'ann', 'd'), (3, 'ann', 'e');",
    );
    on_a_core(async {
        let mut served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let mut names = SessionNames::default();
        let mut condition = |written: Json| names.condition(&written).unwrap();
        let (everything, own) = (condition(json!({})), condition(json!({"owner": {"eq": "ann"}})));
        let animals = TablePermissions {
            select: Some(SelectPermission::of_rows(everything.clone())),
            insert: Some(InsertPermission::checked(own.clone())),
            update: Some(UpdatePermission::of_rows(everything, own)),
            ..TablePermissions::default()
        };
        let tables = [("animal".to_owned(), animals.into())];
        let granted = Permissions { tables: tables.into(), ..Permissions::default() };
        let restrictions = Restrictions::new(&served.model, &granted).unwrap();
        let contribution = contribution_for(&served.model, &restrictions);
        served.schema = Schema::merge(vec![(SourceId(0), contribution)]).unwrap();
        served.restricted = Some((restrictions, [].into()));
        let session = served.session();
        for (change, expected) in [
            (r#"updateAnimal(pk_columns: {id: 1}, name: "x") { result }"#, "FORBIDDEN"),
            (r#"updateAnimal(pk_columns: {id: 2}, name: "x") { result }"#, "true"),
            (r#"createAnimal(id: 3, owner: "bob") { id }"#, "FORBIDDEN"),
            (r#"createAnimal(id: 3, owner: "ann") { id }"#, r#""id":3"#),
        ] {
            let answer = served.ask(&session, &format!("mutation {{ {change} }}"), none()).await;
            assert!(answer.contains(expected), "{change}: {answer}");
        }
    });
}

/// Of a table whose rows are seen as far as they are for everybody, without their codes; a unique key that is checked at the end.
const COUPONS: &str = "
    create table shop (id integer primary key);
    create table coupon (id integer primary key, code text unique, hall text, place integer, is_public boolean not null,
                         rank integer unique deferrable initially deferred, shop_id integer references shop,
                         unique (hall, place) include (rank));
    create unique index on coupon (lower(hall)) where place = 7;
    insert into shop values (1);
    insert into coupon values (1, 'one', 'a', 1, true, 1, 1), (2, 'two', 'a', 2, false, 2, 1), (3, 'three', 'a', 3, true, 3, 1);";

fn coupons(names: &mut SessionNames) -> TablePermissions {
    let mut condition = |written: Json| names.condition(&written).unwrap();
    let mut select = SelectPermission::of_rows(condition(json!({"is_public": {"eq": true}})));
    select.columns = Columns::Only(["id", "hall", "place", "is_public", "rank"].map(str::to_owned).into());
    let check = condition(json!({"place": {"lt": 10}}));
    TablePermissions {
        select: Some(select),
        insert: Some(InsertPermission::checked(check.clone())),
        update: Some(UpdatePermission::of_rows(condition(json!({})), check)),
        ..TablePermissions::default()
    }
}

/// What stands in the way is named where it can be seen; all else is as a row that does not pass its check.
#[test]
fn constraints_tell_nothing_of_what_is_hidden() {
    const STEPS: [(&str, &str); 14] = [
        ("createCoupon(id: 9, code: \"x\", place: 10, is_public: true) { id }", "FORBIDDEN"),
        ("createCoupon(id: 2, code: \"x\", is_public: true, place: 4) { id }", "FORBIDDEN"),
        ("createCoupon(id: 1, code: \"x\", is_public: true, place: 4) { id }", "CONSTRAINT_VIOLATION"),
        ("createCoupon(id: 1, code: \"two\", is_public: true, place: 40) { id }", "CONSTRAINT_VIOLATION"),
        ("createCoupon(id: 9, code: \"one\", is_public: true, place: 4) { id }", "FORBIDDEN"),
        ("createCoupon(id: 9, code: \"one\", is_public: true, place: 40) { id }", "FORBIDDEN"),
        ("createCoupon(id: 9, hall: \"a\", place: 2, is_public: true) { id }", "FORBIDDEN"),
        ("createCoupon(id: 9, hall: \"a\", place: 3, is_public: true) { id }", "CONSTRAINT_VIOLATION"),
        ("createCoupon(id: 9, rank: 2, is_public: true, place: 4) { id }", "FORBIDDEN"),
        ("createCoupon(id: 9, shop_id: 7, is_public: true, place: 4) { id }", "FORBIDDEN"),
        ("updateCoupon(pk_columns: {id: 1}, place: 2) { result }", "FORBIDDEN"),
        ("updateCoupon(pk_columns: {id: 1}, place: 3) { result }", "CONSTRAINT_VIOLATION"),
        ("updateCoupon(pk_columns: {id: 1}, place: 1, hall: \"a\") { result }", "true"),
        ("updateCoupon(pk_columns: {id: 1}, code: \"two\") { result }", "FORBIDDEN"),
    ];
    let database = TestDatabase::create();
    database.execute(COUPONS);
    on_a_core(async {
        let mut served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let mut names = SessionNames::default();
        let tables = [("coupon".to_owned(), coupons(&mut names).into())];
        let granted = Permissions { tables: tables.into(), ..Permissions::default() };
        let restrictions = Restrictions::new(&served.model, &granted).unwrap();
        let contribution = contribution_for(&served.model, &restrictions);
        served.schema = Schema::merge(vec![(SourceId(0), contribution)]).unwrap();
        served.restricted = Some((restrictions, [].into()));
        let session = served.session();
        let refused = served.ask(&session, &format!("mutation {{ m: {} }}", STEPS[0].0), none()).await;
        for (step, expected) in STEPS {
            let answer = served.ask(&session, &format!("mutation {{ m: {step} }}"), none()).await;
            assert!(answer.contains(expected), "{step}: {answer}");
            // Not by a word are they told from each other.
            assert!(expected != "FORBIDDEN" || answer == refused, "{step}: {answer}");
        }
        // The row of an earlier field stands in the way: where it can be seen, and where it cannot; and so does a hidden one behind it.
        for (first, second, expected) in [
            (
                "id: 20, is_public: true, place: 4",
                "id: 20, is_public: true, place: 5",
                "CONSTRAINT_VIOLATION",
            ),
            ("id: 20, is_public: false, place: 4", "id: 20, is_public: true, place: 5", "FORBIDDEN"),
            (
                "id: 20, is_public: true, hall: \"b\", place: 2",
                "id: 21, is_public: true, hall: \"b\", place: 2",
                "CONSTRAINT_VIOLATION",
            ),
            (
                "id: 20, is_public: true, hall: \"b\", place: 2",
                "id: 21, is_public: true, hall: \"a\", place: 2",
                "FORBIDDEN",
            ),
        ] {
            let document = format!(
                "mutation {{ a: createCoupon({first}) {{ id }} b: createCoupon({second}) {{ id }} }}"
            );
            let answer = served.ask(&session, &document, none()).await;
            assert!(answer.contains(expected), "{document}: {answer}");
        }
        let written = database.query("select count(*) from coupon where id >= 20");
        assert_eq!(written[0][0].as_deref(), Some("0"));
    });
}

/// They were compared with an array that has a null in the place of the variable, from which all others differ.
#[test]
fn arrays_with_variables_that_are_not_known_compare_with_nothing() {
    let database = TestDatabase::create();
    database.execute(
        "create table post (id int primary key, tags text[]);
         insert into post values (1, '{a}'), (2, '{}'), (3, '{NULL}'), (4, null)",
    );
    on_a_core(async {
        const NONE: &str = r#"{"data":{"posts":[]}}"#;
        for (written, known, expected) in [
            (json!({"tags": {"ne": ["$known"]}}), json!(null), NONE),
            (json!({"tags": {"eq": ["$known"]}}), json!(null), NONE),
            (json!({"not": {"tags": {"eq": ["a", "$known"]}}}), json!(null), NONE),
            (json!({"tags": {"lte": ["$known"]}}), json!(null), NONE),
            (json!({"tags": {"eq": ["$known"]}}), json!("a"), r#"{"data":{"posts":[{"id":1}]}}"#),
            (json!({"tags": {"ne": ["$known"]}}), json!("a"), r#"{"data":{"posts":[{"id":2},{"id":3}]}}"#),
        ] {
            let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
            let served = served.seeing("post", &written, &known);
            let session = served.session();
            let answer = served.ask(&session, "{ posts { id } }", none()).await;
            assert_eq!(answer, expected, "{written} {known}");
        }
    });
}

/// It was told as a value of the request (`BAD_USER_INPUT`).
#[test]
fn what_is_known_of_a_session_and_fits_no_column_is_forbidden() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        const OTHER: &str = "(where: {day: {eq: \"no day\"}})";
        for (written, known, arguments, expected) in [
            (json!({"day": {"eq": "$known"}}), "2024-01-02", "", "500.00"),
            (json!({"day": {"eq": "$known"}}), "no day", "", "FORBIDDEN"),
            (json!({"customer_id": {"ne": "$known"}}), "nobody", "", "FORBIDDEN"),
            (json!({"day": {"eq": "$known"}}), "2024-01-02", OTHER, "BAD_USER_INPUT"),
        ] {
            let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
            let served = served.seeing("purchase", &written, &json!(known));
            let session = served.session();
            let answer =
                served.ask(&session, &format!("{{ purchases{arguments} {{ total }} }}"), none()).await;
            assert!(answer.contains(expected), "{written} {known} {arguments}: {answer}");
        }
    });
}
