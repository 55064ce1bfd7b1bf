//! Row-level security of the database's own: what a policy reads is the session of the request, on every way and on shared
//! connections.

use std::{collections::BTreeMap, time::Duration};

use futures_util::future::join_all;
use prony_sql::session_settings::SessionSettings;
use prony_testkit::postgres::TestDatabase;

use crate::tests::*;

const ORDERS: &str = "
    create role \"web's\" nologin;
    create table customer (id int primary key, tenant text not null, name text not null);
    create table purchase (id int primary key, tenant text not null, customer_id int references customer, total int not null);
    insert into customer values (1, 'a', 'Ann'), (2, 'b', 'Ben'), (3, 'a', 'Al');
    insert into purchase select n, chr(97 + n % 2), 1 + n % 2, n from generate_series(1, 40) n;
    alter table customer enable row level security;
    alter table purchase enable row level security;
    create policy own on customer using (tenant = current_setting('app.tenant'));
    create policy own on purchase using (tenant = current_setting('app.tenant') and current_setting('app.kind') = 'shop');
    grant select, insert, update, delete on customer, purchase to \"web's\";
    create view slow as select id, pg_sleep(5)::text as nothing from customer;
    grant select on slow to \"web's\";";

/// Roles are of the cluster, and each test has its own.
fn made() -> TestDatabase {
    let database = TestDatabase::create();
    let role = role(&database);
    database.execute(&ORDERS.replace("web's", &role));
    database
}

fn role(database: &TestDatabase) -> String {
    format!("web's of {}", database.name())
}

fn secured(database: &TestDatabase, model: ResolverModel, role: Option<&str>) -> RelationalSettings {
    let given = [("app.tenant", "$tenant"), ("app.kind", "shop")];
    let given = given.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let own = self::role(database);
    let session =
        SessionSettings { settings: BTreeMap::from(given), role: Some(role.map_or(own, str::to_owned)) };
    let mut settings = settings(model);
    settings.session = Some(session);
    settings.tables.insert(
        "slow".to_owned(),
        prony_sql::settings::TableSettings { primary_key: vec!["id".to_owned()], ..Default::default() },
    );
    settings
}

impl Planned {
    /// As somebody of a tenant.
    fn of(mut self, tenant: &Json) -> Self {
        let names: Arc<[Box<str>]> = ["tenant", "role"].map(Into::into).into();
        let session: Arc<[Json]> = [tenant.clone(), json!("nobody")].into();
        self.variables = self.variables.with_session(session).with_session_names(names);
        self
    }
}

async fn answer(served: &Served, session: &Session, text: &str, tenant: &Json) -> String {
    let planned = served.plan(text, none()).of(tenant);
    let results = planned.results(session).await;
    String::from_utf8(assemble(&planned.selection.fields, &results, Detail::Hidden)).unwrap()
}

#[test]
fn each_request_sees_the_rows_of_its_tenant() {
    let database = made();
    on_a_core(async {
        for model in MODELS {
            let served = Served::open(&database.url(), &secured(&database, model, None)).await;
            let session = served.session();
            let query =
                "{ customers { name purchases(limit: 2) { id } } purchases_aggregate { count max { id } } }";
            let expected = [
                (
                    "a",
                    r#"{"data":{"customers":[{"name":"Ann","purchases":[{"id":2},{"id":4}]},{"name":"Al","purchases":[]}],"purchases_aggregate":{"count":20,"max":{"id":40}}}}"#,
                ),
                (
                    "b",
                    r#"{"data":{"customers":[{"name":"Ben","purchases":[{"id":1},{"id":3}]}],"purchases_aggregate":{"count":20,"max":{"id":39}}}}"#,
                ),
                ("c", r#"{"data":{"customers":[],"purchases_aggregate":{"count":0,"max":{"id":null}}}}"#),
            ];
            // Many at a time over few connections, each of which serves all tenants.
            let asked = (0..150).map(|number| {
                let (tenant, expected) = expected[number % 3];
                let (served, session) = (&served, &session);
                async move { (answer(served, session, query, &json!(tenant)).await, expected) }
            });
            for (found, expected) in join_all(asked).await {
                assert_eq!(found, expected, "{model:?}");
            }
            let nobody = answer(&served, &session, query, &Json::Null).await;
            assert_eq!(nobody, expected[2].1, "{model:?}");
        }
    });
}

#[test]
fn writes_pass_the_policies() {
    let database = made();
    on_a_core(async {
        let settings = secured(&database, ResolverModel::Subquery, None);
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        for (tenant, text, expected) in [
            ("a", r#"createCustomer(id: 10, tenant: "a", name: "New") { id }"#, r#"{"id":10}"#),
            ("a", r#"createCustomer(id: 11, tenant: "b", name: "New") { id }"#, "FORBIDDEN"),
            ("b", r#"updateCustomer(pk_columns: {id: 10}, name: "Mine") { result }"#, r#"{"result":false}"#),
            ("a", r#"updateCustomer(pk_columns: {id: 10}, name: "Old") { result }"#, r#"{"result":true}"#),
            ("a", r#"updateCustomer(pk_columns: {id: 10}, tenant: "b") { result }"#, "FORBIDDEN"),
            ("b", "deleteCustomer(pk_columns: {id: 10}) { result }", r#"{"result":false}"#),
            ("a", "deleteCustomer(pk_columns: {id: 10}) { result }", r#"{"result":true}"#),
        ] {
            let response =
                answer(&served, &session, &format!("mutation {{ m: {text} }}"), &json!(tenant)).await;
            assert!(response.contains(expected), "{tenant} {text}: {response}");
        }
    });
    assert_eq!(database.query("select count(*) from customer"), [[Some("3".to_owned())]]);
}

#[test]
fn requests_that_are_given_up_leave_nothing_behind() {
    let database = made();
    on_a_core(async {
        let served = Served::open(&database.url(), &secured(&database, ResolverModel::Subquery, None)).await;
        let session = served.session();
        for round in 0..20 {
            // Given up while a transaction begins, and while its statement runs.
            let patience = Duration::from_millis([0, 1, 3, 30][round % 4]);
            let slow = served.plan("{ slows { id nothing } }", none()).of(&json!("a"));
            assert!(tokio::time::timeout(patience, slow.results(&session)).await.is_err());
            let found = answer(&served, &session, "{ customers { id } }", &json!("b")).await;
            assert_eq!(found, r#"{"data":{"customers":[{"id":2}]}}"#, "{round}");
        }
    });
}

#[test]
fn without_its_role_nothing_is_read() {
    let database = made();
    on_a_core(async {
        for (role, tenant, expected) in [
            // The role is a variable of the session, which is the name of none.
            ("$role", json!("a"), "SOURCE_FAILED"),
            ("$nothing", json!("a"), "FORBIDDEN"),
            ("no such role", json!("a"), "SOURCE_FAILED"),
        ] {
            let settings = secured(&database, ResolverModel::Subquery, Some(role));
            let served = Served::open(&database.url(), &settings).await;
            let session = served.session();
            for text in [
                "{ customers { id } }",
                r#"mutation { createCustomer(id: 20, tenant: "a", name: "x") { id } }"#,
            ] {
                let response = answer(&served, &session, text, &tenant).await;
                assert!(response.contains(expected), "{role}: {response}");
            }
        }
    });
    assert_eq!(database.query("select count(*) from customer"), [[Some("3".to_owned())]]);
}

#[test]
fn a_source_for_reading_only_refuses_writes_at_the_database() {
    let database = made();
    on_a_core(async {
        let mut settings = settings(ResolverModel::Subquery);
        settings.common.read_only = true;
        // The schema of this harness has mutations all the same.
        let served = Served::open(&database.url(), &settings).await;
        let session = served.session();
        let text = r#"mutation { createCustomer(id: 20, tenant: "a", name: "x") { id } }"#;
        let response = answer(&served, &session, text, &Json::Null).await;
        assert!(response.contains("the database is read-only"), "{response}");
    });
}
