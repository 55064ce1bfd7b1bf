//! `prony triggers` from outside: what it prints and refuses, and what a listening server then tells its subscribers, over
//! a restart of PostgreSQL too.

use std::{
    io::{BufRead as _, BufReader, Lines},
    iter,
    time::Duration,
};

use expect_test::expect;
use prony_testkit::{
    Cluster, PronyProcess, TestDatabase,
    process::{Finished, Signal},
};
use ureq::{BodyReader, http::Response};

const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// Only a failing test waits for so long.
const PATIENCE: Duration = Duration::from_secs(60);

const MEMBERS: &str = "create table member (id int primary key, name text); create table log (line text);";
const MEMBER_CHANGES: &str = "subscription { onMemberChanged { operation member { id name } } }";

fn run(arguments: &[&str]) -> Finished {
    PronyProcess::start(PRONY, arguments).wait()
}

/// What is printed where all goes well.
fn done(arguments: &[&str]) -> String {
    let finished = run(arguments);
    assert_eq!(finished.status.code(), Some(0), "{}", finished.stderr);
    finished.stdout
}

/// A server that hears of changes made by others; the answer is its address too.
fn listening(database: &str) -> (PronyProcess, String) {
    let arguments = ["serve", database, "--listen", "127.0.0.1:0", "--cpus", "1", "--listen-changes"];
    let mut process = PronyProcess::start(PRONY, arguments);
    let url = process.wait_for_url();
    (process, url)
}

/// The results of an operation over server-sent events.
struct Results(Lines<BufReader<BodyReader<'static>>>);

impl Results {
    /// Begun when this returns: the response has come.
    fn of(server: &str, query: &str) -> Self {
        let body = serde_json::json!({ "query": query }).to_string();
        let request =
            ureq::post(format!("{server}/graphql")).config().timeout_recv_body(Some(PATIENCE)).build();
        let request =
            request.header("accept", "text/event-stream").header("content-type", "application/json");
        let response = request.send(body).expect("the server answers");
        Self(BufReader::new(response.into_body().into_reader()).lines())
    }

    fn next(&mut self) -> String {
        let mut lines = self.0.by_ref().map(|line| line.expect("the stream goes on"));
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        data.expect("the stream does not end by itself")
    }

    fn take(&mut self, count: usize) -> String {
        iter::repeat_with(|| self.next()).take(count).collect::<Vec<_>>().join("\n")
    }

    fn until(&mut self, wanted: &str) {
        while self.next() != wanted {}
    }
}

/// The listener's metrics.
fn metrics(server: &str) -> String {
    let response: Response<_> = ureq::get(format!("{server}/metrics")).call().expect("the server answers");
    let text = response.into_body().read_to_string().expect("the answer is whole");
    let lines = text.lines().filter(|line| line.starts_with("prony_listener"));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn what_others_change_reaches_subscribers() {
    let database = TestDatabase::create();
    database.execute(MEMBERS);
    let url = database.url();
    let is_installed = || !database.query("select 1 from pg_namespace where nspname = 'prony'").is_empty();

    let sql = done(&["triggers", "show", &url]);
    assert!(sql.contains("('public', 'member', 'id')"), "{sql}");
    assert!(!is_installed(), "`show` runs nothing");
    expect![[r#"
        installed: public.member
        triggers installed on 1 table
        serve with `--listen-changes`, or `listen = true` in [[source]], to hear of changes made by others
    "#]]
    .assert_eq(&done(&["triggers", "install", &url]));

    let (process, server) = listening(&url);
    let mut changes = Results::of(&server, MEMBER_CHANGES);
    database.execute("insert into member values (1, 'Ann')");
    database.execute("update member set name = 'Bob'; delete from member");
    expect![[r#"
        {"data":{"onMemberChanged":{"operation":"INSERT","member":{"id":1,"name":"Ann"}}}}
        {"data":{"onMemberChanged":{"operation":"UPDATE","member":{"id":1,"name":"Bob"}}}}
        {"data":{"onMemberChanged":{"operation":"DELETE","member":{"id":1,"name":"Bob"}}}}"#]]
    .assert_eq(&changes.take(3));
    expect![[r#"
        prony_listener_connected{source="DATABASE"} 1.0
        prony_listener_connections_total{source="DATABASE"} 1.0
        prony_listener_changes_total{source="DATABASE"} 3.0"#]]
    .assert_eq(&metrics(&server).replace(database.name(), "DATABASE"));
    drop(changes);
    assert_eq!(process.stop().status.code(), Some(0));

    expect![[r#"
        removed: public.member
        triggers removed on 1 table
    "#]]
    .assert_eq(&done(&["triggers", "remove", &url]));
    assert!(!is_installed());
    assert_eq!(done(&["triggers", "remove", &url]), "no table has triggers of Prony\n");
}

#[test]
fn removal_takes_what_it_was_asked_for_and_nothing_of_others() {
    let database = TestDatabase::create();
    database.execute("create table member (id int primary key); create table venue (id int primary key)");
    database.execute("create schema other; create table other.guest (id int primary key)");
    // Somebody has a schema of that name already, with something in it.
    database.execute("create schema prony; create table prony.piano (id int)");
    let url = database.url();
    let column = |query: &str| {
        let rows = database.query(query);
        rows.into_iter().flatten().flatten().collect::<Vec<_>>().join(" ")
    };
    let with_triggers = || {
        column("select distinct tgrelid::regclass::text from pg_trigger where not tgisinternal order by 1")
    };
    let shared =
        || column("select proname from pg_proc where pronamespace = 'prony'::regnamespace order by 1");
    done(&["triggers", "install", &url, "--schema", "public", "--schema", "other"]);
    assert_eq!(with_triggers(), "member other.guest venue");

    let removed = done(&["triggers", "remove", &url, "--tables", "member"]);
    assert_eq!(removed, "removed: public.member\ntriggers removed on 1 table\n");
    assert_eq!(with_triggers(), "other.guest venue");
    let removed = done(&["triggers", "remove", &url, "--schema", "other"]);
    assert_eq!(removed, "removed: other.guest\ntriggers removed on 1 table\n");
    assert_eq!(with_triggers(), "venue");
    assert_eq!(shared(), "keep row_changed rows_changed schema_changed truncated", "venue needs them");
    let of_schema = || column("select evtname from pg_event_trigger order by 1");
    assert_eq!(of_schema(), "prony_schema_command prony_schema_drop");
    let removed = done(&["triggers", "remove", &url, "--tables", "venue"]);
    assert_eq!(removed, "removed: public.venue\ntriggers removed on 1 table\n");
    assert_eq!((with_triggers(), shared(), of_schema()), Default::default());

    // Without names, also what is in other schemas; who owns one table may take its triggers, and nothing else.
    done(&["triggers", "install", &url, "--schema", "public", "--schema", "other"]);
    let owner = format!("{}_owner", database.name());
    database.execute(&format!("create role {owner} login; alter table member owner to {owner}"));
    let owners = url.replace("postgres@", &format!("{owner}@"));
    let removed = done(&["triggers", "remove", &owners, "--tables", "member"]);
    assert_eq!(removed, "removed: public.member\ntriggers removed on 1 table\n");
    let refused = run(&["triggers", "remove", &owners]);
    assert_eq!(refused.status.code(), Some(2), "{}", refused.stdout);
    done(&["triggers", "install", &url, "--schema", "public", "--schema", "other"]);
    let removed = done(&["triggers", "remove", &url]);
    let all =
        "removed: other.guest\nremoved: public.member\nremoved: public.venue\ntriggers removed on 3 tables\n";
    assert_eq!(removed, all);
    let left = column("select relname from pg_class where relnamespace = 'prony'::regnamespace");
    assert_eq!((with_triggers(), shared(), left.as_str()), (String::new(), String::new(), "piano"));
    assert_eq!(of_schema(), "");
}

/// The server is held while PostgreSQL restarts and rows change, so that it hears of nothing in between.
#[test]
fn a_restart_of_postgresql_leaves_no_gap() {
    let cluster = Cluster::start_new().expect("PostgreSQL starts");
    let execute = |sql: &str| cluster.execute("postgres", sql).expect("the statements are right");
    execute(MEMBERS);
    execute("create role app login; grant select on member to app");
    done(&["triggers", "install", &cluster.url("postgres"), "--reader", "app"]);

    let (mut process, server) = listening(&cluster.url("postgres").replace("postgres@", "app@"));
    let mut changes = Results::of(&server, MEMBER_CHANGES);
    let mut list = Results::of(&server, "subscription { members { name } }");
    execute("insert into member values (1, 'before')");
    assert_eq!(
        changes.next(),
        r#"{"data":{"onMemberChanged":{"operation":"INSERT","member":{"id":1,"name":"before"}}}}"#
    );
    list.until(r#"{"data":{"members":[{"name":"before"}]}}"#);

    process.signal(Signal::STOP);
    cluster.restart().expect("PostgreSQL restarts");
    execute("insert into member values (2, 'between'); update member set name = 'anew' where id = 1");
    execute("delete from member where id = 2");
    process.signal(Signal::CONT);
    expect![[r#"
        {"data":{"onMemberChanged":{"operation":"INSERT","member":{"id":2,"name":"between"}}}}
        {"data":{"onMemberChanged":{"operation":"UPDATE","member":{"id":1,"name":"anew"}}}}
        {"data":{"onMemberChanged":{"operation":"DELETE","member":{"id":2,"name":"between"}}}}"#]]
    .assert_eq(&changes.take(3));
    list.until(r#"{"data":{"members":[{"name":"anew"}]}}"#);
    process.wait_for_text("does not hear of changes made by others; trying again");

    execute("insert into member values (3, 'after')");
    assert_eq!(
        changes.next(),
        r#"{"data":{"onMemberChanged":{"operation":"INSERT","member":{"id":3,"name":"after"}}}}"#
    );
    list.until(r#"{"data":{"members":[{"name":"anew"},{"name":"after"}]}}"#);
    expect![[r#"
        prony_listener_connected{source="postgres"} 1.0
        prony_listener_connections_total{source="postgres"} 2.0
        prony_listener_changes_total{source="postgres"} 5.0"#]]
    .assert_eq(&metrics(&server));
    drop((changes, list));
    assert_eq!(process.stop().status.code(), Some(0));
}

/// It tries again and again, and hears of them when they are installed later.
#[test]
fn missing_triggers_are_told_of_once() {
    let database = TestDatabase::create();
    database.execute(MEMBERS);
    let (mut process, server) = listening(&database.url());
    process.wait_for_text("install the triggers with `prony triggers install`");
    let mut changes = Results::of(&server, MEMBER_CHANGES);
    done(&["triggers", "install", &database.url()]);
    process.wait_for_text("hears of changes made by others");
    database.execute("insert into member values (1, 'Ann')");
    assert_eq!(
        changes.next(),
        r#"{"data":{"onMemberChanged":{"operation":"INSERT","member":{"id":1,"name":"Ann"}}}}"#
    );
    drop(changes);
    let log = process.stop().stderr;
    let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
    assert_eq!((lines("does not hear of changes"), lines("hears of changes")), (1, 1), "{log}");
}

#[test]
fn what_cannot_be_done_says_why_and_returns_2() {
    let database = TestDatabase::create();
    database.execute("create table log (line text)");
    let url = database.url();
    let nowhere = url.replace(database.name(), "nowhere");
    let cases: [&[&str]; 5] = [
        &["triggers", "install", &url, "--tables", "log,nothing"],
        &["triggers", "install", &nowhere],
        &["triggers", "show", "sqlite:shop.db"],
        &["triggers", "show", "https://ann:secret@shop.test/graphql"],
        &["triggers", "show", "shop"],
    ];
    let mut all = String::new();
    for arguments in cases {
        let finished = run(arguments);
        assert_eq!(finished.status.code(), Some(2), "{arguments:?}: {}", finished.stdout);
        all.push_str(&finished.stderr);
    }
    let address = nowhere.trim_start_matches("postgres://postgres@");
    expect![[r#"
        error: cannot look after the triggers: there is no table `log` with a primary key; no table has one
        error: cannot look after the triggers: cannot open the PostgreSQL database ADDRESS: database "nowhere" does not exist (SQLSTATE 3D000); create it, or correct the name in the URL: db error: FATAL: database "nowhere" does not exist
        error: `sqlite:shop.db` is no PostgreSQL database, and only these tell of changes made by others; write postgres://user:password@host:port/database
        error: `https://ann:***@shop.test/graphql` is no PostgreSQL database, and only these tell of changes made by others; write postgres://user:password@host:port/database
        error: cannot look after the triggers: cannot open the PostgreSQL database of this URL: a parameter has no =; write name=value, or postgres://user:password@host:port/database
    "#]]
    .assert_eq(&all.replace(address, "ADDRESS"));
}
