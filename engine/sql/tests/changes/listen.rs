//! Changes that others make in PostgreSQL: each told once, whatever happens to the connection.

use std::fmt::Write as _;

use expect_test::expect;
use prony_testkit::postgres::{Cluster, TestDatabase};
use tokio_postgres::{Client, NoTls};

use crate::harness::{Bed, on_a_core};
use prony_postgres::changes::triggers::{Triggers, TriggersRequest};
use prony_sql::{changes::Reader, settings::RelationalSettings};

const SHOP: &str = "
    create table shelf (id int primary key, label text not null, size numeric(30, 10), at timestamptz, raw bytea);
    create table item (shelf_id int references shelf on delete cascade, place int, note text, primary key (shelf_id, place));
    create table unwatched (id int primary key);
    create table log (line text);
    create table part (id int, region text, primary key (id, region)) partition by list (region);
    create table part_eu partition of part for values in ('eu');
    create table part_us partition of part for values in ('us');";

fn listening() -> RelationalSettings {
    RelationalSettings { listen: true, ..RelationalSettings::default() }
}

async fn triggers(url: &str, tables: &[&str]) -> Triggers {
    let tables = tables.iter().map(ToString::to_string).collect();
    Triggers::open(url, TriggersRequest { tables, ..TriggersRequest::default() }).await.unwrap()
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::task::spawn_local(connection);
    client
}

/// As many transactions as are expected.
async fn told(bed: &Bed, reader: &mut Reader, count: usize) -> String {
    let mut text = String::new();
    for _ in 0..count {
        let heard = reader.next().await;
        let _ = writeln!(text, "{}", bed.described(&heard));
    }
    text
}

const TABLES: &[&str] = &["shelf", "item", "part", "unwatched"];

#[test]
fn what_others_change_is_told_and_what_this_server_changes_is_not_doubled() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf", "item", "part"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        assert!(bed.listener().is_connected());
        let mut reader = bed.listen(TABLES);
        database.execute(
            "insert into shelf values (1, 'a', 1.50, '2021-01-01 18:00:00+00', '\\x00ff'), (2, 'b', null, null, null)",
        );
        database.execute("insert into item values (1, 1, null), (1, 2, 'n')");
        bed.ask("mutation { a: updateItem(pk_columns: {shelf_id: 1, place: 2}, place: 3) { result } b: createUnwatched(id: 7) { id } }")
            .await;
        bed.ask("mutation { createUnwatched(id: 8) { id } }").await;
        database
            .execute("begin; insert into shelf values (3, 'gone'); rollback; delete from shelf where id = 1");
        database.execute("insert into part values (1, 'eu'); insert into part_us values (2, 'us'); update part set region = 'us' where id = 1");
        database.execute("truncate item");
        database.execute("insert into shelf values (4, 'last')");
        // Of a table without triggers this server tells by itself, and need not wait for the database to tell of others.
        let mut all = told(&bed, &mut reader, 9).await.lines().map(str::to_owned).collect::<Vec<_>>();
        all.sort_by_key(|line| !line.contains("unwatched"));
        expect![[r#"
            Insert unwatched 7
            Insert unwatched 8
            Insert shelf 1,"a",1.5000000000,"2021-01-01T18:00:00+00:00","AP8="; Insert shelf 2,"b",null,null,null
            Insert item 1,1,null; Insert item 1,2,"n"
            Update item 1,3,"n" was 1,2
            Delete shelf 1,"a",1.5000000000,"2021-01-01T18:00:00+00:00","AP8="; Delete item 1,1,null; Delete item 1,3,"n"
            Insert part 1,"eu"; Insert part 2,"us"; Delete part 1,"eu"; Insert part 1,"us"
            Unknown
            Insert shelf 4,"last",null,null,null"#]]
        .assert_eq(&all.join("\n"));
    });
}

#[test]
fn a_transaction_that_began_early_and_commits_late_is_told() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        let (early, waiting) = (connect(&url).await, connect(&url).await);
        early.batch_execute("begin; insert into shelf values (1, 'early')").await.unwrap();
        database.execute("insert into shelf values (2, 'late')");
        assert_eq!(told(&bed, &mut reader, 1).await, "Insert shelf 2,\"late\",null,null,null\n");
        // It has its number before the row is free, and changes the row after the other's commit.
        let after = async {
            waiting
                .batch_execute("begin; insert into shelf values (3, 'c'); insert into shelf values (1, 'x') on conflict (id) do update set label = 'after'; commit")
                .await
                .unwrap();
        };
        let commit = async {
            let blocked = "select 1 from pg_locks where not granted";
            while database.query(blocked).is_empty() {
                tokio::task::yield_now().await;
            }
            early.batch_execute("commit").await.unwrap();
        };
        tokio::join!(after, commit);
        expect![[r#"
            Insert shelf 1,"early",null,null,null
            Insert shelf 3,"c",null,null,null; Update shelf 1,"after",null,null,null
        "#]]
        .assert_eq(&told(&bed, &mut reader, 2).await);
    });
}

#[test]
fn nothing_is_missed_or_doubled_when_connections_break_and_postgresql_restarts() {
    let cluster = Cluster::start_new().unwrap();
    cluster.execute("postgres", SHOP).unwrap();
    on_a_core(async {
        let url = cluster.url("postgres");
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        // The testkit's servers may lose commits when they are killed.
        let insert = |id: usize| format!("set synchronous_commit = on; insert into shelf values ({id}, 'x')");
        let mut id = 0;
        for stop in [Cluster::stop, Cluster::kill, Cluster::stop] {
            for _ in 0..5 {
                id += 1;
                let cut = "select pg_terminate_backend(pid) from pg_stat_activity where query ilike '%pg_current_snapshot%' and pid <> pg_backend_pid()";
                cluster.query("postgres", cut).unwrap();
                cluster.execute("postgres", &insert(id)).unwrap();
            }
            stop(&cluster).unwrap();
            cluster.start().unwrap();
            for _ in 0..3 {
                id += 1;
                cluster.execute("postgres", &insert(id)).unwrap();
            }
        }
        cluster.execute("postgres", "insert into shelf values (99, 'last')").unwrap();
        let all = told(&bed, &mut reader, id + 1).await;
        let ids: Vec<&str> = all
            .lines()
            .map(|line| line.trim_start_matches("Insert shelf ").split(',').next().unwrap())
            .collect();
        let wanted: Vec<String> = (1..=id).map(|id| id.to_string()).chain(["99".to_owned()]).collect();
        assert_eq!(ids, wanted);
        assert_eq!(bed.heard(&mut reader), "");
        assert!(bed.listener().connections() > 1);
    });
}

#[test]
fn a_connection_that_breaks_in_the_middle_of_many_changes_loses_and_doubles_none() {
    let database = TestDatabase::create();
    // Reading the row that says so ends the connection, twice.
    database.execute(
        "create sequence cuts;
         create function cut(text) returns boolean language plpgsql as $$ begin
             if $1 = 'cut' and current_query() like '%jsonb_populate_record%' and nextval('cuts') <= 2 then
                 perform pg_terminate_backend(pg_backend_pid());
             end if;
             return true;
         end $$;
         create domain marked as text check (cut(value));
         create table shelf (id int primary key, label marked)",
    );
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        database.execute(
            "insert into shelf select g, case when g = 2500 then 'cut' else 'x' end from generate_series(1, 3000) as g",
        );
        let all = told(&bed, &mut reader, 3).await;
        database.execute("insert into shelf values (3001, 'last')");
        assert_eq!(told(&bed, &mut reader, 1).await, "Insert shelf 3001,\"last\"\n");
        let ids = all.lines().flat_map(|line| line.split("; ")).map(|change| {
            let row = change.strip_prefix("Insert shelf ").unwrap_or_else(|| panic!("{change}"));
            row.split(',').next().unwrap().parse().unwrap()
        });
        assert_eq!(ids.collect::<Vec<usize>>(), (1..=3000).collect::<Vec<_>>());
        // The second of three broke before it had read all.
        assert_eq!(bed.listener().connections(), 2);
    });
}

#[test]
fn what_is_not_kept_any_more_is_told_as_lost() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        database.execute(
            "alter table prony.change alter id restart with 200000; insert into shelf values (1, 'a')",
        );
        expect![[r#"
            Insert shelf 1,"a",null,null,null
            Unknown
        "#]]
        .assert_eq(&told(&bed, &mut reader, 2).await);
        // Every thousandth change removes those that are too many.
        database.execute("insert into shelf select g, 'b' from generate_series(2, 1101) as g");
        let kept = database.query("select count(*) from prony.change where id < 200000");
        assert_eq!(kept, [[Some("0".to_owned())]]);
        database.execute("update prony.change set id = default where id = 200000; alter table prony.change alter id restart with 400000");
        database.execute("insert into shelf select g, 'c' from generate_series(2001, 3100) as g");
        assert_eq!(
            database.query("select count(*) from prony.change where id < 300000"),
            [[Some("0".to_owned())]]
        );
    });
}

#[test]
fn triggers_are_installed_again_and_removed() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    database.execute("drop role if exists rows_app; create role rows_app; grant insert on shelf to rows_app");
    on_a_core(async {
        let url = database.url();
        let all = triggers(&url, &[]).await;
        assert_eq!(all.tables(), ["public.item", "public.part", "public.shelf", "public.unwatched"]);
        all.install().await.unwrap();
        all.install().await.unwrap();
        // Who writes needs no right to the table of changes.
        database.execute("set role rows_app; insert into shelf values (1, 'a'); reset role");
        let count = "select count(*) from pg_trigger where tgname like '0_prony%' and tgparentid = 0";
        assert_eq!(database.query(count), [[Some("16".to_owned())]]);
        triggers(&url, &["shelf"]).await.remove().await.unwrap();
        assert_eq!(database.query(count), [[Some("12".to_owned())]]);
        all.remove().await.unwrap();
        all.remove().await.unwrap();
        assert_eq!(database.query(count), [[Some("0".to_owned())]]);
        assert!(database.query("select 1 from pg_namespace where nspname = 'prony'").is_empty());
        let request = TriggersRequest { tables: vec!["log".into()], ..TriggersRequest::default() };
        let error = Triggers::open(&url, request).await.unwrap_err().to_string();
        expect!["there is no table `log` with a primary key; there are `public.item`, `public.part`, `public.shelf`, `public.unwatched`"]
            .assert_eq(&error);
        // Without triggers, this server tells of its own changes.
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        bed.ask("mutation { createShelf(id: 5, label: \"own\") { id } }").await;
        assert_eq!(bed.heard(&mut reader), "Insert shelf 5,\"own\",null,null,null\n");
        assert!(!bed.listener().is_connected());
    });
    database.execute("drop owned by rows_app; drop role rows_app");
}

/// Columns have names that the function uses itself.
#[test]
fn rows_of_a_statement_are_told_in_the_order_of_their_changes() {
    let database = TestDatabase::create();
    database.execute("create table odd (key int primary key, written int, tg_argv text, prony text)");
    on_a_core(async {
        let url = database.url();
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["odd"]);
        for sql in [
            "insert into odd select g, 0, 'a' from generate_series(1, 4) as g",
            "update odd set written = key where key < 3",
            "update odd set key = key + 10 where key in (2, 3)",
            "insert into odd values (1, 7), (5, 8) on conflict (key) do update set written = excluded.written",
            "update odd set written = 9 where false",
            "delete from odd where key > 4",
            "with gone as (delete from odd where key = 4 returning *) insert into odd select key, 5, 'b' from gone",
        ] {
            database.execute(sql);
        }
        expect![[r#"
            Insert odd 1,0,"a",null; Insert odd 2,0,"a",null; Insert odd 3,0,"a",null; Insert odd 4,0,"a",null
            Update odd 1,1,"a",null; Update odd 2,2,"a",null
            Update odd 12,2,"a",null was 2; Update odd 13,0,"a",null was 3
            Update odd 1,7,"a",null; Insert odd 5,8,null,null
            Delete odd 12,2,"a",null; Delete odd 13,0,"a",null; Delete odd 5,8,null,null
            Delete odd 4,0,"a",null; Insert odd 4,5,"b",null
        "#]]
        .assert_eq(&told(&bed, &mut reader, 6).await);
    });
}

/// The lines of `show` that say which form the triggers of a table have.
async fn forms(url: &str) -> String {
    let sql = triggers(url, &[]).await.installing();
    let lines = sql.lines().filter(|line| line.starts_with("-- public."));
    lines.fold(String::new(), |all, line| all + line + "\n")
}

const AUDITED: &str = "
    create table plain (id int primary key);
    create table audited (id int primary key, change_count int);
    create function count_it() returns trigger language plpgsql as $$ begin
        if pg_trigger_depth() = 1 then update audited set change_count = change_count + 1 where id = new.id; end if;
        return null;
    end $$;
    create table parent (id int primary key);
    create table child (primary key (id)) inherits (parent);
    create table part (id int primary key) partition by list (id);";
const AUDIT: &str = "create trigger audit after insert on audited for each row execute function count_it();";

#[test]
fn triggers_are_for_rows_where_statements_would_not_tell_all() {
    let database = TestDatabase::create();
    database.execute(AUDITED);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["audited"]);
        // A trigger that has come since then: what it does is told before what has called it, and so as unknown.
        database.execute(AUDIT);
        database.execute("insert into audited values (1, 0)");
        expect![[r#"
            Update audited 1,1; Insert audited 1,0
            Unknown
        "#]]
        .assert_eq(&told(&bed, &mut reader, 2).await);
        expect![[r#"
            -- public.audited: for each row, as it has the trigger `audit`; in place of triggers for each statement, which are installed
            -- public.child: for each row, as it inherits or is inherited; installed
            -- public.parent: for each row, as it inherits or is inherited; installed
            -- public.part: for each row, as it is partitioned; installed
            -- public.plain: for each statement; installed
        "#]].assert_eq(&forms(&url).await);
        triggers(&url, &[]).await.install().await.unwrap();
        database.execute("insert into audited values (2, 0)");
        expect![[r#"
            Insert audited 2,0; Update audited 2,1
        "#]]
        .assert_eq(&told(&bed, &mut reader, 1).await);
    });
}

#[test]
fn triggers_of_the_earlier_form_tell_too_and_are_replaced() {
    let database = TestDatabase::create();
    database.execute("create table shelf (id int primary key, label text)");
    on_a_core(async {
        let url = database.url();
        let shelf = triggers(&url, &[]).await;
        shelf.install().await.unwrap();
        database.execute(
            r#"drop trigger "0_prony_insert" on shelf; drop trigger "0_prony_update" on shelf; drop trigger "0_prony_delete" on shelf;
               create trigger "0_prony_row" after insert or update or delete on shelf
                   for each row execute function prony.row_changed('public', 'shelf', 'id')"#,
        );
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        database.execute("insert into shelf values (1, 'a')");
        bed.ask("mutation { createShelf(id: 2, label: \"own\") { id } }").await;
        expect![[r#"
            Insert shelf 1,"a"
            Insert shelf 2,"own"
        "#]]
        .assert_eq(&told(&bed, &mut reader, 2).await);
        expect![[r#"
            -- public.shelf: for each statement; in place of the earlier form, for each row, which is installed
        "#]].assert_eq(&forms(&url).await);
        shelf.install().await.unwrap();
        expect![[r#"
            -- public.shelf: for each statement; installed
        "#]]
        .assert_eq(&forms(&url).await);
        database.execute("insert into shelf values (3, 'c')");
        bed.ask("mutation { createShelf(id: 4, label: \"own\") { id } }").await;
        expect![[r#"
            Insert shelf 3,"c"
            Insert shelf 4,"own"
        "#]]
        .assert_eq(&told(&bed, &mut reader, 2).await);
        assert_eq!(bed.heard(&mut reader), "");
    });
}

/// Nobody has to connect anew: what is installed or removed is found out.
#[test]
fn triggers_that_come_and_go_under_a_listener_double_and_lose_nothing() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["unwatched"]);
        let own = |id: u32| format!("mutation {{ createUnwatched(id: {id}) {{ id }} }}");
        bed.ask(&own(1)).await;
        let unwatched = triggers(&url, &["unwatched"]).await;
        unwatched.install().await.unwrap();
        bed.ask(&own(2)).await;
        let mut all = String::new();
        let heard = |all: &str| -> Vec<u32> {
            let events = all.lines().filter_map(|line| line.strip_prefix("Insert unwatched "));
            events.map(|id| id.parse().unwrap()).collect()
        };
        let mut others = 10..;
        while heard(&all).last().is_none_or(|id| *id < 10) {
            let id = others.next().unwrap();
            database.execute(&format!("insert into unwatched values ({id})"));
            all += &bed.heard(&mut reader);
            tokio::task::yield_now().await;
        }
        // Of the moment between, it may be told that it is not known.
        let ids = heard(&all);
        let last = *ids.last().unwrap();
        assert!(ids[0] == 1 && ids.is_sorted_by(|one, next| one < next), "{all}");
        assert!(
            ids.iter().copied().eq([1, 2].into_iter().chain(10..=last)) || all.contains("Unknown"),
            "{all}"
        );
        unwatched.remove().await.unwrap();
        bed.ask(&own(4)).await;
        let mut all = told(&bed, &mut reader, 1).await;
        while all.lines().last() != Some("Insert unwatched 6") {
            bed.ask("mutation { deleteUnwatched(pk_columns: {id: 6}) { result } }").await;
            bed.ask(&own(6)).await;
            all += &bed.heard(&mut reader);
            tokio::task::yield_now().await;
        }
        assert!(all.contains("Unknown") || all.contains("unwatched 4"), "{all}");
    });
}

/// Whoever may connect may notify, whatever it says.
#[test]
fn notifications_of_strangers_lose_nothing() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        database.execute(
            "do $$ begin insert into shelf values (0, 'a'); for ahead in 1..30 loop
                 perform pg_notify('prony_changes', (pg_current_xact_id()::text::bigint + ahead)::text);
             end loop; end $$; notify prony_changes, 'x'; notify prony_changes, '-1'",
        );
        assert_eq!(told(&bed, &mut reader, 1).await, "Insert shelf 0,\"a\",null,null,null\n");
        for id in 1..=30 {
            // Takes a number, and is none of the table's.
            database.execute("insert into log values ('x')");
            database.execute(&format!("insert into shelf values ({id}, 'a')"));
        }
        let all = told(&bed, &mut reader, 30).await;
        assert!(!all.contains("Unknown"), "{all}");
    });
}

/// Removing reaches half of the changes of a transaction that began long ago, before they are read.
#[test]
fn what_is_removed_in_part_before_it_is_read_is_told_as_lost() {
    let database = TestDatabase::create();
    // Whoever reads a row that says so waits until it may.
    database.execute(
        "create function held(text) returns boolean language plpgsql as $$ begin
             if $1 = 'wait' and current_query() like '%jsonb_populate_record%' then
                 perform pg_advisory_xact_lock(7);
             end if;
             return true;
         end $$;
         create domain marked as text check (held(value));
         create table shelf (id int primary key, label marked)",
    );
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        let (early, holder) = (connect(&url).await, connect(&url).await);
        early.batch_execute("begin; insert into shelf values (1, 'a'), (2, 'b'), (3, 'c')").await.unwrap();
        database.execute("select setval('prony.change_id_seq', 200000)");
        database.execute("insert into shelf values (4, 'd')");
        assert_eq!(told(&bed, &mut reader, 2).await, "Insert shelf 4,\"d\"\nUnknown\n");
        holder.batch_execute("select pg_advisory_lock(7)").await.unwrap();
        database.execute("insert into shelf values (5, 'wait')");
        while database.query("select 1 from pg_locks where not granted").is_empty() {
            tokio::task::yield_now().await;
        }
        early.batch_execute("commit").await.unwrap();
        database.execute("delete from prony.change where id < 3");
        holder.batch_execute("select pg_advisory_unlock(7)").await.unwrap();
        expect![[r#"
            Insert shelf 5,"wait"
            Insert shelf 3,"c"
            Unknown
        "#]]
        .assert_eq(&told(&bed, &mut reader, 3).await);
    });
}

/// Where those who write are faster than the one who reads.
#[test]
fn what_is_removed_while_it_is_read_is_told_as_lost() {
    let database = TestDatabase::create();
    // Reading the row that says so takes others away.
    database.execute(
        "create function cut(text) returns boolean language plpgsql as $$ begin
             if $1 = 'cut' and current_query() like '%jsonb_populate_record%' then
                 delete from prony.change where row_data ->> 'label' = 'gone';
             end if;
             return true;
         end $$;
         create domain marked as text check (cut(value));
         create table shelf (id int primary key, label marked)",
    );
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["shelf"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shelf"]);
        database.execute(
            "insert into shelf select g, case g when 1000 then 'cut' when 1001 then 'gone' else 'x' end
             from generate_series(1, 1002) as g",
        );
        let all = told(&bed, &mut reader, 3).await;
        assert!(all.ends_with("Insert shelf 1002,\"x\"\nUnknown\n"), "{all}");
    });
}

#[test]
fn partitions_that_are_emptied_are_told_of() {
    let database = TestDatabase::create();
    database.execute(SHOP);
    database.execute("insert into part values (1, 'eu'), (2, 'us')");
    on_a_core(async {
        let url = database.url();
        triggers(&url, &["part"]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["part"]);
        database.execute("truncate part_eu");
        database.execute("insert into part values (3, 'us')");
        database.execute("truncate part");
        database.execute("insert into part values (4, 'us')");
        expect![[r#"
            Unknown
            Insert part 3,"us"
            Unknown
            Insert part 4,"us"
        "#]]
        .assert_eq(&told(&bed, &mut reader, 4).await);
        triggers(&url, &["part"]).await.remove().await.unwrap();
        assert!(database.query("select 1 from pg_trigger where tgname like '0_prony%'").is_empty());
    });
}

/// The row is there, though its domain would not take it again: what came after it was never told.
#[test]
fn a_row_that_its_type_refuses_holds_up_no_others() {
    let database = TestDatabase::create();
    database.execute(
        "create domain small as int; create table shoe (id int primary key, size small, note text);
         create table note (id int primary key); insert into shoe values (1, 5);
         alter domain small add constraint is_small check (value < 3) not valid",
    );
    on_a_core(async {
        let url = database.url();
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut reader = bed.listen(&["shoe", "note"]);
        database.execute("update shoe set note = 'x'");
        database.execute("insert into note values (7)");
        assert_eq!(told(&bed, &mut reader, 2).await, "Update shoe \nInsert note 7\n");
    });
}

#[test]
fn json_that_is_too_deep_to_be_asked_for_is_no_null() {
    let database = TestDatabase::create();
    database.execute("create table deep (id int primary key, j jsonb)");
    on_a_core(async {
        let url = database.url();
        triggers(&url, &[]).await.install().await.unwrap();
        let bed = Bed::with(&url, listening()).await;
        let mut direct = bed.subscribe("subscription { onDeepChanged { deep { j } } }", "{}");
        let mut asked =
            bed.subscribe("subscription { onDeepChanged(where: {id: {gt: 0}}) { deep { j } } }", "{}");
        database.execute("insert into deep values (1, (repeat('[', 200) || repeat(']', 200))::jsonb)");
        assert!(direct.next().await.contains("[[[["));
        let refused = asked.next().await;
        assert!(refused.contains("JSON of too many levels"), "{refused}");
        database.execute("insert into deep values (2, '[[[7]]]')");
        assert_eq!(direct.next().await, asked.next().await);
    });
}
