//! What root fields become, with the plans that PostgreSQL has for them.

use prony_source::{Explanation, Runs};
use prony_testkit::postgres::TestDatabase;

use crate::tests::*;

const ORDERS: &str = "
    create table customers (id int primary key, name text not null);
    create table orders (id int primary key, customer_id int not null references customers, note text);
    insert into customers select n, 'customer ' || n from generate_series(1, 2000) n;
    insert into orders select n, 1 + n % 2000, 'note' from generate_series(1, 20000) n;
    analyze;";

/// What becomes of the only root field.
async fn explained(served: &Served, session: &Session, text: &str, variables: Json) -> Explanation {
    let planned = served.plan(text, variables);
    session.explain(&planned.prepared[0], &planned.variables).await
}

#[test]
fn plans_are_told_without_values_in_all_models() {
    let database = TestDatabase::create();
    database.execute(ORDERS);
    on_a_core(async {
        for model in MODELS {
            let served = Served::open(&database.url(), &settings(model)).await;
            let session = served.session();
            let text = "query ($name: String) { customers(where: {name: {eq: $name}}) { orders(where: {note: {ne: \"hidden\"}}) { id } } }";
            let told = explained(&served, &session, text, json!({"name": "geheim"})).await;
            let expected = if model == ResolverModel::Subquery {
                vec![Runs::Once]
            } else {
                vec![Runs::Once, Runs::OnceALevel]
            };
            assert_eq!(told.statements.iter().map(|statement| statement.runs).collect::<Vec<_>>(), expected);
            for statement in &told.statements {
                let plan = statement.plan.as_ref().unwrap_or_else(|| panic!("{statement:#?}")).join("\n");
                assert!(plan.contains("cost=") && !plan.contains("actual"), "{plan}");
                assert!(!plan.contains("geheim") && !plan.contains("hidden"), "values are not told: {plan}");
            }
            let name = told.statements[0].values.iter().find(|value| value.of == "public.customers.name");
            assert_eq!(name.and_then(|value| value.length), Some(6), "{told:#?}");
            let hints: Vec<&str> = told
                .statements
                .iter()
                .flat_map(|statement| &statement.hints)
                .map(|hint| &*hint.message)
                .collect();
            assert!(
                hints.iter().any(|hint| hint.contains("an index on public.customers(name) would help")),
                "{hints:#?}"
            );
        }
    });
}

#[test]
fn an_index_that_is_missing_is_named_and_one_that_is_there_is_not() {
    let database = TestDatabase::create();
    database.execute(ORDERS);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        let text = "{ customers(limit: 5) { name orders { id } } }";
        let hints = |told: Explanation| {
            told.statements.into_iter().flat_map(|statement| statement.hints).collect::<Vec<_>>()
        };
        let told = hints(explained(&served, &session, text, none()).await);
        assert_eq!(told.len(), 1, "{told:#?}");
        assert_eq!((&*told[0].table, told[0].columns.join(",")), ("public.orders", "customer_id".to_owned()));
        database.execute("create index on orders (customer_id); analyze orders;");
        assert_eq!(hints(explained(&served, &session, text, none()).await), []);
        // Nothing of it is left at the connection, and it goes on being used.
        let left = database.query(
            "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
        );
        assert!(left.is_empty(), "{left:?}");
    });
}

#[test]
fn a_database_that_is_gone_tells_why_there_is_no_plan() {
    let database = TestDatabase::create();
    database.execute(ORDERS);
    on_a_core(async {
        let served = Served::open(&database.url(), &settings(ResolverModel::Subquery)).await;
        let session = served.session();
        database.execute("drop table orders cascade");
        let told = explained(&served, &session, "{ orders { id } }", none()).await;
        assert!(told.statements[0].plan.is_none(), "{told:#?}");
        assert!(told.statements[0].plan_fault.is_some(), "{told:#?}");
        let told = explained(&served, &session, "{ customers { id } }", none()).await;
        assert!(told.statements[0].plan.is_some(), "the connection goes on: {told:#?}");
    });
}
