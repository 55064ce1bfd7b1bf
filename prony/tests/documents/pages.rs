//! The pages that are typed, with what of them is not, and why; and pages of which nothing is.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    page::{Block, Use, blocks},
    walk,
};

/// A page, named from the repository's root.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) path: &'static str,
    /// What its reader has already: a script that is run before the first block that has the text before it.
    pub(crate) given: &'static [(&'static str, &'static str)],
    /// Blocks, and commands of blocks, that have one of these texts; each with the reason.
    left_out: &'static [(&'static str, &'static str)],
}

const FIRST_LOOK: &str = "a first look at what the page types below";
const FORMS: &str = "forms of commands, with names that stand for the reader's own";
const PART: &str = "part of a file";
const SHAPE: &str = "what something looks like, which depends on a target or a machine that a test has not";
const MINUTES: &str = "it takes minutes; a test of its own runs it";
const VENDOR: &str = "it needs a program of somebody else";
const EXCERPT: &str = "an excerpt of a program; its examples are whole, compiled with every test";
const ACCESS: &str = "part of a file; a test of engine/access reads each";
const FIGURES: &str = "figures of one machine; shorter forms of the command are typed";
const PROCESSORS: &str = "it takes more processors than a machine for tests has";
macro_rules! pages {
    ($($name:ident $path:literal given [$($given:tt)*] left_out [$($left_out:tt)*])*) => {
        const PAGES: &[Page] = &[$(Page { path: $path, given: &[$($given)*], left_out: &[$($left_out)*] }),*];
        $(
            #[test]
            fn $name() {
                walk(PAGES.iter().find(|page| page.path == $path).expect("it is one of them"));
            }
        )*
    };
}

/// A table as the first page makes it.
const SHOP: &str = "sqlite3 shop.db \"
  CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
  CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers (id), total REAL NOT NULL);
  INSERT INTO customers VALUES (1, 'Ada'), (2, 'Grace'); INSERT INTO orders VALUES (1, 1, 12.5);\"
";
/// A server that answers `/health`, and plans for it.
const TARGET: &str = r#"
prony example donuts --listen 127.0.0.1:8080
printf 'name = "shop"\ntarget = "http://127.0.0.1:8080"\nusers = 5\nduration = "10s"\nthresholds = ["p95<500ms, errors<1%%"]\n[variables]\npayload = { list = [""] }\n[[requests]]\nname = "health"\npath = "/health"\nbody = "${payload}"\nmethod = "GET"\n' > shop.toml
cp shop.toml plan.toml; cp shop.toml old.toml; cp shop.toml new.toml
printf 'wrk.path = "/health"\n' > a.lua
cp a.lua b.lua; cp a.lua auth.lua
printf 'import http from "k6/http";\nexport default () => http.get("http://127.0.0.1:8080/health");\n' > checkout.js
cp checkout.js script.js
"#;
const SECOND_TARGET: &str = "prony example donuts --listen 127.0.0.1:8081";
/// A server with TLS, whose own certificate is its authority.
const SECURE: &str = "
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout client-key.pem -out ca.pem -days 2 -subj /CN=shop -addext subjectAltName=IP:127.0.0.1 2> /dev/null
cp ca.pem client.pem
prony serve sqlite:shop.db --listen 127.0.0.1:8443 --tls-certificate ca.pem --tls-key client-key.pem
";
/// What a browser has recorded, and what describes an API.
const RECORDED: &str = r#"
printf '{"log":{"version":"1.2","entries":[{"startedDateTime":"2026-01-01T00:00:00Z","time":1,"request":{"method":"GET","url":"http://127.0.0.1:8080/health","headers":[],"queryString":[]},"response":{"status":200,"headers":[],"content":{"mimeType":"application/json","text":"{}"}}}]}}' > recording.har
cp recording.har shop.har
printf 'openapi: 3.1.0\ninfo: {title: shop, version: "1"}\npaths:\n  /health:\n    get:\n      responses: {"200": {description: fine}}\n' > openapi.yaml
"#;
/// A plan of JMeter whose target has no `/pay`.
const JMETER: &str = concat!("cat > shop.jmx <<'END'\n", include_str!("plans/shop.jmx"), "END\n");
const JMETER_REFUSED: &str = concat!("cat > query.jmx <<'END'\n", include_str!("plans/query.jmx"), "END\n");
/// Half of the requests fail, and all of the script.
const FAILING: &str = r#"
prony example donuts --listen 127.0.0.1:8080
printf 'name = "shop"\ntarget = "http://127.0.0.1:8080"\nusers = 5\nduration = "10s"\nthresholds = ["p95<500ms", "errors<1%%"]\nthink_time = "5ms"\n[[requests]]\nname = "health"\npath = "/health"\n[[requests]]\nname = "none"\npath = "/none"\n' > shop.toml
printf 'import http from "k6/http";\nexport const options = { iterations: 20 };\nexport default () => http.get("http://127.0.0.1:8080/none");\n' > script.js
"#;

pages! {
    readme "README.md"
    given [
        ("script.js", "printf 'import http from \"k6/http\";\nexport default () => http.get(`${__ENV.TARGET}/health`);\n' > script.js"),
        ("find shop.toml", "prony serve sqlite:shop.db --listen 127.0.0.1:8081"),
    ]
    left_out [
        ("-- serve sqlite:shop.db                          #", FIRST_LOOK),
        ("-- run http://127.0.0.1:8080/health -c 64 -d 10s #", FIRST_LOOK),
        ("lab relational", MINUTES),
        ("-- selftest", MINUTES),
        ("cargo xtask test", "it runs this test"),
    ]
    safe_api "docs/safe-api.md"
    given [("x-api-key: $KEY", "sleep 3 # A reader is slower, and the server has read the file.")]
    left_out []
    first_test "docs/first-test.md"
    given [("from-har", RECORDED)]
    left_out []
    run "docs/run.md"
    given [("examples/plans/meetups.toml", "sqlite3 meetups.db 'create table venues (id integer primary key, name text); create table meetups (id integer primary key, title text, venue_id integer references venues)'\nprony serve sqlite:meetups.db\n")]
    left_out [("[--threads COUNT]", FORMS)]
    serve "docs/serve.md"
    given [
        ("prony serve sqlite:shop.db", SHOP),
        ("prony serve sqlite:shop.db", "prony init shop.db"),
        ("artists(limit: 2)", "sqlite3 music.db 'create table artists (Id integer primary key, Name text); create table albums (Id integer primary key, Title text, artist_id integer references artists)'\nprony serve music.db\n"),
        ("documentId=names", "mkdir documents; echo 'query names($n: Int) { customers(limit: $n) { name } }' > documents/names.graphql\nprony serve shop.db --persisted-documents documents\n"),
    ]
    left_out [
        ("prony serve postgres://ann@db.internal", FORMS),
        ("curl -i http://127.0.0.1:8080/ready", SHAPE),
        ("go tool pprof", VENDOR),
        ("the document has 1001 aliases", SHAPE),
        ("SOURCE_FAILED", SHAPE),
        ("fullchain.pem", FORMS),
    ]
    metrics "docs/metrics.md"
    given []
    left_out [("histogram_quantile(", VENDOR)]
    graphql "docs/graphql.md"
    given []
    left_out []
    resolvers "docs/resolvers.md"
    given []
    left_out [
        ("//! A whole server of functions", EXCERPT),
        ("prony-server = {", PART),
        ("tracing_subscriber::fmt()", EXCERPT),
        ("INFO prony_server::", EXCERPT),
        ("use prony_server::resolvers::{Concrete", EXCERPT),
        ("directive @toUpper", EXCERPT),
        (".directive(\"@toUpper\"", EXCERPT),
        ("// in the schema", EXCERPT),
        ("onReview", EXCERPT),
        ("let sdl = \"", EXCERPT),
        ("schema and functions do not fit", EXCERPT),
        ("struct Visitor", EXCERPT),
        ("@requiresScopes", EXCERPT),
        ("[roles.visitor.sources.functions]", PART),
        ("prony_server::Service::new", EXCERPT),
        ("Server::new(schema).route", EXCERPT),
        ("/api/books", EXCERPT),
    ]
    gateway "docs/gateway.md"
    given []
    left_out [("https://api.example/graphql", FORMS), ("type_prefix = \"Crm\"", PART), ("[source.", PART)]
    interceptors "docs/interceptors.md"
    given []
    left_out [("the configuration has 2 faults", SHAPE), ("[interceptors]\n", PART)]
    subscriptions "docs/subscriptions.md"
    given []
    left_out [
        ("'graphql-ws'", VENDOR),
        ("'graphql-sse'", VENDOR),
        ("onMemberChanged(operations:", SHAPE),
        ("triggers show", SHAPE),
        ("pg_ctl restart", "the server runs as another user"),
    ]
    series "docs/series.md"
    given []
    left_out [("[[join]]", PART), ("[roles.", PART), ("retention", PART), ("remote_write:", PART)]
    graph "docs/graph.md"
    given []
    left_out [("\"LOVES\"", SHAPE), ("{\"type\": \"User\", \"key\": \"Max\"", SHAPE)]
    graph_lua "docs/graph-lua.md"
    given []
    left_out [("[[operation]]", PART)]
    graphql_graph "docs/graphql-graph.md"
    given []
    left_out [("INFO the schema has changed", SHAPE), ("WARN type `Artist`", SHAPE)]
    graph_import "docs/graph-import.md"
    given []
    left_out [("error: process 31077", SHAPE), ("`old` is no integer", SHAPE), ("nodes.csv: 2 nodes in", SHAPE)]
    targets "docs/targets.md"
    given [("--cacert ca.pem", SHOP), ("--cacert ca.pem", SECURE)]
    left_out [("target = \"https://shop.test\"", PART), ("cannot speak TLS", SHAPE), ("127.0.0.1:9000/ --http2", "the server here speaks HTTP/2 with TLS alone")]
    traces "docs/traces.md"
    given [("--traces-endpoint", SHOP)]
    left_out [("[traces]", PART)]
    outputs "docs/outputs.md"
    given [("prometheus:http", TARGET)]
    left_out [("plan.jmx", "prony/tests/jmeter/ runs such plans")]
    series_postgres "docs/series-postgres.md"
    given []
    left_out [("[[source]]", PART), ("prony_series.types", SHAPE)]
    subscriptions_load "docs/subscriptions-load.md"
    given []
    left_out [
        ("# 500 clients listen", "it is an example of this repository, which is typed"),
        ("thresholds = [\"fan_out_latency", PART),
        ("duration = \"60s\"", PART),
        ("[[subscriptions]]", PART),
    ]
    find_the_limit "docs/find-the-limit.md"
    given []
    left_out [("the limit is between 195/s", SHAPE)]
    from_k6 "docs/from-k6.md"
    given []
    left_out []
    from_wrk "docs/from-wrk.md"
    given []
    left_out []
    from_jmeter "docs/from-jmeter.md"
    given []
    left_out [("perfReport", VENDOR)]
    find "docs/find.md"
    given [("plan.toml", TARGET)]
    left_out [("--hold 2s --repeats 2", SHAPE), ("190/s: 183.5/s", SHAPE)]
    compare "docs/compare.md"
    given [("old.toml new.toml", TARGET), ("old.toml new.toml", SECOND_TARGET)]
    left_out [("before/ after/", FORMS), ("1795", FORMS), ("'p95 worse than 5%'", SHAPE)]
    sweep "docs/sweep.md"
    given [("plan.toml --users", TARGET)]
    left_out [
        ("https://shop.test", FORMS),
        ("gateway.jmx", FORMS),
        ("java -Xmx", FORMS),
        ("--resume", FORMS),
        ("2 of 4:", SHAPE),
    ]
    k6 "docs/k6.md"
    given [
        ("before.js", "cp script.js before.js; cp script.js after.js"),
    ]
    left_out [("localhost:6565", "it waits for Ctrl-C; prony/tests/k6_rest_api.rs does"), ("K6=", VENDOR)]
    k6_imports "docs/k6-imports.md"
    given [("--check shop.js", "printf \"import http from 'k6/http';\\nimport { browser } from 'k6/browser';\\nexport default function () {\\n  http.gett('http://localhost:8080/');\\n}\\n\" > shop.js")]
    left_out []
    wrk "docs/wrk.md"
    given [
        ("broken.lua", "printf 'function request()\\n  return wrk.format(nil, \"/\" .. path)\\nend\\n' > broken.lua"),
    ]
    left_out []
    drafts "docs/drafts.md"
    given [("from-har", RECORDED)]
    left_out []
    live "docs/live.md"
    given [("shop.toml --live", TARGET)]
    left_out [("live: http://127.0.0.1:5665", SHAPE)]
    latency "docs/latency.md"
    given [("/health", "prony example donuts --listen 127.0.0.1:8080")]
    left_out []
    report "docs/report.md"
    given [
        ("results/shop-1795239889", TARGET),
        ("results/shop-1795239889", "prony run shop.toml --quiet > run.txt; cp results/shop-*.prony.json before.prony.json; cp before.prony.json after.prony.json; cp before.prony.json results/shop-1795239889.prony.json"),
    ]
    left_out [("before.prony.json after.prony.json\n", SHAPE)]
    configuration "docs/configuration.md"
    given [("prony init shop.db", SHOP)]
    left_out [("[server]\nlisten", PART)]
    access "docs/access.md"
    given [
        ("[[test]]", "sqlite3 shop.db 'create table items (id integer primary key, name text, price real); create table orders (id integer primary key, customer_id integer, total real, ordered_at text); insert into orders values (1, 7, 20, null), (2, 8, 5, null)'"),
        ("[[test]]", "printf '[[source]]\\nurl = \"sqlite:shop.db\"\\n' > source.toml; cat prony.toml >> source.toml; mv source.toml prony.toml"),
    ]
    left_out [
        ("certificate = \"fullchain.pem\"", ACCESS),
        ("[source.session]", ACCESS),
        ("create policy own", ACCESS),
        ("issuer = \"https://example.eu.auth0.com/\"", ACCESS),
        ("issuer = \"https://keycloak.example", ACCESS),
        ("issuer = \"https://example.supabase.co", ACCESS),
    ]
    ci "docs/ci.md"
    given [
        ("prony run load.toml", TARGET),
        ("prony run load.toml", SECOND_TARGET),
        ("prony run load.toml", "prony example donuts --listen 127.0.0.1:8082"),
        ("prony run load.toml", "sed 's/users = 5/users = 5\\nthink_time = \"5ms\"/; s/duration = \"10s\"/duration = \"500ms\"/; s/8080/8082/' shop.toml > load.toml"),
    ]
    left_out [("pipeline {", VENDOR)]
    jmeter "docs/jmeter.md"
    given [
        ("prony run shop.jmx", JMETER),
        ("prony run shop.jmx", "prony example donuts --listen 127.0.0.1:18080"),
        ("prony run query.jmx", JMETER_REFUSED),
    ]
    left_out [("\"${status}\" == \"OK\"", PART)]
    lab_gateway "docs/lab-gateway.md"
    given []
    left_out [("lab gateway    ", MINUTES), ("--full", MINUTES)]
    lab_graph "docs/lab-graph.md"
    given []
    left_out [
        ("--full", MINUTES),
        ("--cpus 1,2", PROCESSORS),
        ("lab graph    ", MINUTES),
        ("prony lab graph\n", FIGURES),
        ("wrk -t1", VENDOR),
    ]
    lab_relational "docs/lab-relational.md"
    given [
        ("run no-nest.js", "cp results/*/scripts/*.js .; cp results/cache/*.sqlite meetups.db"),
        ("run no-nest.js", "prony serve meetups.db"),
    ]
    left_out [
        ("lab relational    ", MINUTES),
        ("--full", MINUTES),
        ("--cpus 1,2", PROCESSORS),
        ("--database", "prony/tests/lab_relational.rs does, with a PostgreSQL of its own"),
        ("k6 run", VENDOR),
        ("--rows 300", FIGURES),
    ]
    lab_resolvers "docs/lab-resolvers.md"
    given []
    left_out [
        ("lab resolvers    ", MINUTES),
        ("--full", MINUTES),
        ("--cpus 2", PROCESSORS),
        ("prony lab resolvers\n", FIGURES),
    ]
    lab_series "docs/lab-series.md"
    given []
    left_out [
        ("lab series    ", MINUTES),
        ("--full", MINUTES),
        ("--postgres", "prony/tests/lab_series.rs does, with servers of its own"),
        ("--rows 10000000", MINUTES),
        ("--questdb", "prony/tests/lab_series.rs does, with a server of its own"),
    ]
    verdicts "docs/verdicts.md"
    given [("run shop.toml", FAILING)]
    left_out []
    workers "docs/workers.md"
    given [
        ("--workers local:4", TARGET),
        ("--workers local:4", JMETER),
        ("--workers local:4", "sed 's/users = 5/users = 8/' shop.toml > plan.toml; sed 's/18080/8080/g; s/.{__P(users,1)}/8/; s/>50</>2</' shop.jmx > plan.jmx; cp a.lua script.lua"),
        ("--workers local:4", "printf 'import http from \"k6/http\";\\nexport const options = { vus: 8, iterations: 40 };\\nexport default () => http.get(\"http://127.0.0.1:8080/health\");\\n' > script.js"),
        ("--labels zone=a", "for n in 1 2 3 4 5 6 7; do prony worker --nats nats://10.0.0.1:4222 --quiet & done"),
    ]
    left_out [
        ("nats-server   ", "the shell has started one"),
        ("--take-up", "it needs the files of a coordinator that was killed; prony/tests/workers.rs does"),
    ]
    install "docs/install.md"
    given []
    left_out [("prony docs", "it is in release builds alone"), ("cargo ", "it builds a release")]
}

/// Pages of which nothing is typed, each with the reason.
const UNTYPED: &[(&str, &str)] = &[
    ("docs/benchmarks.md", "commands of minutes, whose figures are of one machine"),
    ("docs/building.md", "it builds releases, checks what was downloaded, and fuzzes for minutes"),
    (
        "docs/deploy.md",
        "it needs systemd, Docker or Kubernetes; prony/tests/deploy.rs holds the files of deploy/ against a server",
    ),
    (
        "docs/graph-files.md",
        "a manifest, as prony/tests/graph_days/ reads them, and a test of this repository",
    ),
    ("docs/limits.md", ACCESS),
    ("docs/plans.md", "lab/load/tests/plans.rs holds it against the examples and the checks of plans"),
    ("docs/result-file.md", "it needs Python with the package hdrh"),
    ("docs/reverse-proxy.md", "it needs nginx and Caddy"),
    ("docs/selftest.md", "it takes 40 s; prony/tests/selftest.rs does"),
    ("docs/series-questdb.md", "it fetches and starts QuestDB; prony/tests/series_on_databases/ does"),
];

impl Page {
    /// Whether a block is neither typed, kept nor compared.
    pub(crate) fn leaves_out(&self, block: &Block, its_use: &Use<'_>) -> bool {
        match its_use {
            Use::Type(steps) => steps.iter().all(|step| self.typed(&step.commands).is_empty()),
            _ => self.names(&block.text),
        }
    }

    /// Those commands that are typed, with the program that has been built.
    pub(crate) fn typed(&self, commands: &[String]) -> Vec<String> {
        let is_typed = |command: &&String| !command.trim().is_empty() && !self.names(command);
        let program = |command: &String| command.replace("cargo run --release -- ", "prony ");
        commands.iter().filter(is_typed).map(program).collect()
    }

    /// What is left out and not there any more.
    pub(crate) fn needless(&self, blocks: &[Block]) -> impl Iterator<Item = String> {
        let texts = self.left_out.iter().chain(self.given).map(|(text, _)| *text);
        let needless = texts.filter(|text| blocks.iter().all(|block| !block.text.contains(text)));
        needless.map(|text| format!("{} has no {text:?} any more", self.path))
    }

    fn names(&self, text: &str) -> bool {
        self.left_out.iter().any(|(part, _)| text.contains(part))
    }
}

/// The repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Whether a status and its command are an outcome of what was measured: a threshold that is not kept, figures that cannot be believed.
pub(crate) fn is_outcome(failure: &str) -> bool {
    let measures = ["run", "find", "compare", "sweep", "lab"];
    failure.split_once(' ').is_some_and(|(status, command)| {
        ["1", "3", "99"].contains(&status)
            && measures.iter().any(|name| command.starts_with(&format!("prony {name} ")))
    })
}

#[test]
fn every_page_with_blocks_is_typed_or_left_out() {
    let listed = PAGES.iter().map(|page| page.path).chain(UNTYPED.iter().map(|(path, _)| *path));
    let listed: BTreeSet<&str> = listed.collect();
    let pages = fs::read_dir(root().join("docs")).expect("there are pages");
    let pages = pages.map(|page| page.expect("it can be listed").path());
    let pages = pages.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let name = |path: PathBuf| path.file_name().expect("it is a file").to_string_lossy().into_owned();
    let paths = pages.map(|path| format!("docs/{}", name(path))).chain(["README.md".to_owned()]);
    let with_blocks: BTreeSet<String> = paths.filter(|path| !blocks(path).is_empty()).collect();
    let with_blocks: BTreeSet<&str> = with_blocks.iter().map(String::as_str).collect();
    assert_eq!(with_blocks, listed);
}
