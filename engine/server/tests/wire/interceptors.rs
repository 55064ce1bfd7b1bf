//! Interceptors around fields of tables and types, over every way in.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime},
};

use expect_test::expect;
use prony_interceptors::JavaScriptLoader;
use prony_server::{
    config::{self, AccessSettings, CommandLine, Program, Reload},
    runtime,
};
use prony_testkit::postgres::TestDatabase;
use serde_json::json;
use tempfile::TempDir;

use crate::{
    graph::Graph,
    sockets::{Socket, subscribe},
    support::{KINDS, PATIENCE, Server, post, settings},
};

/// Around genres: what each function is told is in the names that it returns.
const GENRES: &str = r"
declare function refuse(message: string, code?: string): never;

export function before(request: any, context: any) {
  const given = request.arguments;
  switch (context.operation) {
    case 'insert':
      if (given.Name === 'Noise') refuse(`no noise for ${context.role ?? 'anybody'}`, 'NOISE');
      given.Name = given.Name.trim();
      break;
    case 'update':
      return { arguments: {} };
    case 'delete':
      return null;
    case 'select':
      if (context.kind !== 'mutation' && context.path.length === 1) given.limit = Math.min(given.limit ?? 2, 2);
  }
}

export async function after(result: any, context: any) {
  const rows = Array.isArray(result) ? result : [result];
  for (const row of rows) {
    if (row.Name !== undefined) row.Name = `${row.Name}/${context.path.join('.')}`;
  }
  if (context.operation === 'insert') result.GenreId = -result.GenreId;
  if (context.operation === 'aggregate') return { count: 'many' };
}
";

/// A folder with a configuration and modules.
fn folder(text: &str, files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (name, content) in files.iter().chain([&("prony.toml", text)]) {
        fs::write(folder.path().join(name), content).expect("it can be written");
    }
    folder
}

/// What the configuration in a folder says, or all that is wrong with it.
fn read(folder: &Path) -> Result<Arc<AccessSettings>, String> {
    let path = folder.join("prony.toml");
    let text = fs::read_to_string(&path).expect("the file is there");
    let program = Program { kinds: KINDS, interceptors: Some(&JavaScriptLoader) };
    let text = format!("{text}\n[[source]]\nurl = \"sqlite:none.db\"\n");
    let settings = config::load_for(program, Some((&path, &text)), CommandLine::default(), &|_| None);
    let shown = |faults: config::Faults| faults.to_string().replace(&*folder.display().to_string(), "");
    settings.map(|settings| settings.access).map_err(shown)
}

fn serve(text: &str, files: &[(&str, &str)]) -> Server {
    let folder = folder(text, files);
    let access = read(folder.path()).expect("the configuration is right");
    Server::with(|settings| settings.access = access)
}

fn body(server: &Server, query: &str) -> String {
    let response = server.ask(post(&json!({ "query": query }).to_string()));
    let body = response.lines().last().unwrap_or_default();
    // References are new each time.
    match body.split_once("\"reference\":\"") {
        Some((before, after)) => format!("{before}…{}", &after[after.find('"').unwrap_or(0)..]),
        None => body.to_owned(),
    }
}

fn bodies(server: &Server, queries: &[&str]) -> String {
    let told: Vec<String> =
        queries.iter().map(|query| format!("{query}\n  {}\n", body(server, query))).collect();
    told.concat()
}

const AROUND_GENRES: &str = "[interceptors.sources.chinook.tables]\nGenre = \"genres.ts\"\n";

#[test]
fn arguments_and_results_are_changed_and_refused() {
    let server = serve(AROUND_GENRES, &[("genres.ts", GENRES)]);
    let told = bodies(
        &server,
        &[
            "{ genres { GenreId Name } }",
            "{ genres(limit: 50) { GenreId } artists(limit: 1) { Name } }",
            "query ($n: Int = 1) { g: genres(limit: $n) { n: Name Name } }",
            "mutation { createGenre(GenreId: 98, Name: \"  Jazz  \") { GenreId } }",
            "{ genres(where: {GenreId: {eq: 98}}) { Name } }",
            "mutation { a: createGenre(GenreId: 97, Name: \"Ska\") { GenreId } b: createGenre(GenreId: 99, Name: \"Noise\") { GenreId } }",
            "{ genres(where: {GenreId: {gte: 97}}) { GenreId } }",
            "mutation { updateGenre(pk_columns: {GenreId: 98}, Name: \"x\") { result } }",
            "mutation { deleteGenre(pk_columns: {GenreId: 98}) { result } }",
            "{ genres_aggregate { count } artists(limit: 1) { ArtistId } }",
            "{ tracks(limit: 2, sort: [{TrackId: asc}]) { TrackId genre { Name tracks(limit: 1) { genre { Name } } } } }",
        ],
    );
    expect![[r#"
        { genres { GenreId Name } }
          {"data":{"genres":[{"GenreId":1,"Name":"Rock/genres"},{"GenreId":2,"Name":"Jazz/genres"}]}}
        { genres(limit: 50) { GenreId } artists(limit: 1) { Name } }
          {"data":{"genres":[{"GenreId":1},{"GenreId":2}],"artists":[{"Name":"AC/DC"}]}}
        query ($n: Int = 1) { g: genres(limit: $n) { n: Name Name } }
          {"data":{"g":[{"n":"Rock","Name":"Rock/g"}]}}
        mutation { createGenre(GenreId: 98, Name: "  Jazz  ") { GenreId } }
          {"data":{"createGenre":{"GenreId":-98}}}
        { genres(where: {GenreId: {eq: 98}}) { Name } }
          {"data":{"genres":[{"Name":"Jazz/genres"}]}}
        mutation { a: createGenre(GenreId: 97, Name: "Ska") { GenreId } b: createGenre(GenreId: 99, Name: "Noise") { GenreId } }
          {"data":{"a":null,"b":null},"errors":[{"message":"nothing was executed, because another field of the mutation was refused","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}},{"message":"no noise for anybody","locations":[{"line":1,"column":65}],"path":["b"],"extensions":{"code":"NOISE"}}]}
        { genres(where: {GenreId: {gte: 97}}) { GenreId } }
          {"data":{"genres":[{"GenreId":98}]}}
        mutation { updateGenre(pk_columns: {GenreId: 98}, Name: "x") { result } }
          {"data":{"updateGenre":null},"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":12}],"path":["updateGenre"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
        mutation { deleteGenre(pk_columns: {GenreId: 98}) { result } }
          {"data":{"deleteGenre":null},"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":12}],"path":["deleteGenre"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
        { genres_aggregate { count } artists(limit: 1) { ArtistId } }
          {"data":null,"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":3}],"path":["genres_aggregate"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
        { tracks(limit: 2, sort: [{TrackId: asc}]) { TrackId genre { Name tracks(limit: 1) { genre { Name } } } } }
          {"data":{"tracks":[{"TrackId":1,"genre":{"Name":"Rock/tracks.genre","tracks":[{"genre":{"Name":"Rock/tracks.genre.tracks.genre"}}]}},{"TrackId":2,"genre":{"Name":"Rock/tracks.genre","tracks":[{"genre":{"Name":"Rock/tracks.genre.tracks.genre"}}]}}]}}
    "#]].assert_eq(&told);
}

/// Keys of two parts, of which one is a text, and values that the two databases write alike.
const SHELVES: &str = "
    create table shelf (room varchar(20) not null, place integer not null, label text, size integer,
                        primary key (room, place));
    create table item (id integer primary key, room varchar(20), place integer, name text not null,
                       foreign key (room, place) references shelf (room, place));
    insert into shelf values ('a/b \u{e4}', 1, 'x', 15), ('a/b \u{e4}', 2, null, 2);
    insert into item values (1, 'a/b \u{e4}', 1, 'Lamp'), (2, null, null, 'Desk');";

/// What comes before a mutation empties its update, or moves it; what comes after rewrites keys that the client sees.
const AROUND_SHELVES: &str = r"
export function before(request, context) {
  const given = request.arguments;
  if (context.operation === 'update' && given.label === 'empty') return { arguments: {} };
  if (context.operation === 'update' && given.label === 'none') { delete given.label; }
  if (context.operation === 'update' && given.label === 'other') given.pk_columns.place = 2;
  if (context.operation === 'update' && given.label === 'wrong') given.label = 7;
  if (context.operation === 'delete' && given.pk_columns.place === 2) refuse('it stays', 'KEPT');
  if (context.operation === 'insert') given.size += 1;
}
export function after(result, context) {
  if (context.operation === 'insert') result.place = -result.place;
  if (context.operation === 'update' || context.operation === 'delete') result.result = !result.result;
  if (context.operation === 'select') for (const row of [].concat(result)) if (row.label) row.label += '!';
  if (context.operation === 'event' && result.shelf) result.shelf.label += '?';
}
";

#[test]
fn sqlite_and_postgresql_have_the_same_interceptors() {
    const ROOM: &str = "a/b \u{e4}";
    let update = |place: u32, label: &str| {
        format!(
            "mutation {{ updateShelf(pk_columns: {{room: \"{ROOM}\", place: {place}}}, label: \"{label}\") {{ result }} }}"
        )
    };
    let shelves = "{ shelves(sort: [{place: asc}]) { place label size } }".to_owned();
    let queries = [
        shelves.clone(),
        update(1, "empty"),
        update(1, "none"),
        update(1, "wrong"),
        shelves.clone(),
        update(1, "other"),
        update(9, "gone"),
        format!(
            "mutation {{ createShelf(room: \"{ROOM}\", place: 3, label: \"z\", size: 4) {{ place room }} }}"
        ),
        format!(
            "mutation {{ a: createShelf(room: \"r\", place: 1, size: 0) {{ place }} b: deleteShelf(pk_columns: {{room: \"{ROOM}\", place: 2}}) {{ result }} }}"
        ),
        shelves,
        "{ items(sort: [{id: asc}]) { name shelf { label items { name shelf { label } } } } }".to_owned(),
    ];
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let sqlite = tempfile::tempdir().expect("a folder can be made");
    let path = sqlite.path().join("shop.db");
    rusqlite::Connection::open(&path).and_then(|shop| shop.execute_batch(SHELVES)).expect("it is SQL");
    let postgres = TestDatabase::create();
    postgres.execute(SHELVES);
    let text = "[interceptors.sources.shop.tables]\nshelf = \"shelves.js\"\n";
    let told = [format!("sqlite:{}", path.display()), postgres.url()].map(|url| {
        let folder = folder(text, &[("shelves.js", AROUND_SHELVES)]);
        let access = read(folder.path()).expect("the configuration is right");
        let server = Server::with(|settings| {
            let line = CommandLine { sources: vec![url], ..CommandLine::default() };
            settings.sources = config::load(KINDS, None, line, &|_| None).expect("it is a source").sources;
            "shop".clone_into(&mut settings.sources[0].name);
            settings.access = access;
        });
        let mut told = bodies(&server, &queries);
        let mut socket = Socket::ready(&server);
        socket.send(&subscribe("e", "subscription { onShelfChanged { operation shelf { label } } }"));
        // The subscription has begun when it hears of one of these.
        for place in 100.. {
            body(&server, &format!("mutation {{ createShelf(room: \"n\", place: {place}, label: \"n\", size: 1) {{ place }} }}"));
            socket.0.get_ref().set_read_timeout(Some(Duration::from_millis(200))).expect("it is not zero");
            match socket.0.read() {
                // Of the change that was made while it began nothing is known.
                Ok(event) if !event.to_string().contains("EVENTS_LOST") => {
                    told.push_str(event.to_text().expect("it is a text"));
                    break;
                }
                _ => {}
            }
            assert!(place < 200, "no event comes");
        }
        told
    });
    assert_eq!(told[0], told[1], "SQLite and PostgreSQL differ");
    expect![[r#"
        { shelves(sort: [{place: asc}]) { place label size } }
          {"data":{"shelves":[{"place":1,"label":"x!","size":15},{"place":2,"label":null,"size":2}]}}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 1}, label: "empty") { result } }
          {"data":{"updateShelf":null},"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":12}],"path":["updateShelf"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 1}, label: "none") { result } }
          {"data":{"updateShelf":{"result":false}}}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 1}, label: "wrong") { result } }
          {"data":{"updateShelf":null},"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":12}],"path":["updateShelf"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
        { shelves(sort: [{place: asc}]) { place label size } }
          {"data":{"shelves":[{"place":1,"label":"x!","size":15},{"place":2,"label":null,"size":2}]}}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 1}, label: "other") { result } }
          {"data":{"updateShelf":{"result":false}}}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 9}, label: "gone") { result } }
          {"data":{"updateShelf":{"result":true}}}
        mutation { createShelf(room: "a/b ä", place: 3, label: "z", size: 4) { place room } }
          {"data":{"createShelf":{"place":-3,"room":"a/b ä"}}}
        mutation { a: createShelf(room: "r", place: 1, size: 0) { place } b: deleteShelf(pk_columns: {room: "a/b ä", place: 2}) { result } }
          {"data":{"a":null,"b":null},"errors":[{"message":"nothing was executed, because another field of the mutation was refused","locations":[{"line":1,"column":12}],"path":["a"],"extensions":{"code":"FORBIDDEN"}},{"message":"it stays","locations":[{"line":1,"column":67}],"path":["b"],"extensions":{"code":"KEPT"}}]}
        { shelves(sort: [{place: asc}]) { place label size } }
          {"data":{"shelves":[{"place":1,"label":"x!","size":15},{"place":2,"label":"other!","size":2},{"place":3,"label":"z!","size":5}]}}
        { items(sort: [{id: asc}]) { name shelf { label items { name shelf { label } } } } }
          {"data":{"items":[{"name":"Lamp","shelf":{"label":"x!","items":[{"name":"Lamp","shelf":{"label":"x!"}}]}},{"name":"Desk","shelf":null}]}}
        {"id":"e","type":"next","payload":{"data":{"onShelfChanged":{"operation":"INSERT","shelf":{"label":"n?"}}}}}"#]].assert_eq(&told[0]);
}

#[test]
fn subscriptions_deliver_what_after_returns() {
    let server = serve(AROUND_GENRES, &[("genres.ts", GENRES)]);
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("live", "subscription { genres(where: {GenreId: {gt: 90}}) { Name } }"));
    assert_eq!(socket.next(), r#"{"id":"live","type":"next","payload":{"data":{"genres":[]}}}"#);
    socket.send(&subscribe("events", "subscription { onGenreChanged { operation genre { GenreId Name } } }"));
    let mut told: Vec<String> = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    let has = |told: &[String], id: &str| told.iter().any(|text| text.contains(&format!("\"id\":\"{id}\"")));
    // The subscription to changes has begun when it hears of one of them.
    for id in 91.. {
        assert!(Instant::now() < deadline, "{told:?}");
        body(&server, &format!("mutation {{ createGenre(GenreId: {id}, Name: \"New\") {{ GenreId }} }}"));
        told.push(socket.next());
        if has(&told, "live") && has(&told, "events") {
            break;
        }
    }
    let live = told.iter().find(|text| text.contains("live")).expect("the list is told too");
    assert!(live.contains(r#""Name":"New/genres""#), "{live}");
    let event = told.iter().find(|text| text.contains("events")).expect("it was waited for");
    assert!(event.contains(r#""operation":"INSERT""#) && event.contains(r#""Name":"New""#), "{event}");
    let refused = "subscription { artists(limit: 3) { Name } }";
    let refuse = "export const before = () => refuse('not you')";
    let server = serve("[interceptors.sources.chinook.tables]\nArtist = \"a.js\"", &[("a.js", refuse)]);
    let mut socket = Socket::ready(&server);
    socket.send(&subscribe("r", refused));
    expect![[r#"{"id":"r","type":"next","payload":{"data":null,"errors":[{"message":"not you","locations":[{"line":1,"column":16}],"path":["artists"],"extensions":{"code":"FORBIDDEN"}}]}}"#]].assert_eq(&socket.next());
    assert_eq!(socket.next(), r#"{"id":"r","type":"complete"}"#);
}

/// Whoever asks is told to functions, and roles have functions of their own behind those of all.
#[test]
fn functions_know_who_asks() {
    let text = r#"
        [auth]
        anonymous = "visitor"
        [roles.visitor.sources.chinook.tables.Genre]
        select = { columns = ["Name"], limit = 1 }
        interceptors = { select = "role.js" }
        [roles.other.sources.chinook.tables.Genre]
        select = true
        [interceptors.sources.chinook.tables]
        Genre = { select = "all.js" }"#;
    let all = "export function after(rows, context) { for (const row of rows) row.Name += ' all' }";
    let role = "export function before(r, { role, user, scopes, session, table, source, kind, field }) {\n  if (r.arguments.offset) r.arguments.where = { GenreId: { eq: 1 } };\n  console.log('told')\n}\n\
                export function after(rows, { role, user, scopes, session, arguments: given, kind, field, source, table }) {\n  rows[0].Name = JSON.stringify({ role, user, scopes, session, given, kind, field, source, table })\n}";
    let server = serve(text, &[("all.js", all), ("role.js", role)]);
    let told = bodies(&server, &["{ genres(limit: 1) { Name } }", "{ genres(offset: 1) { Name } }"]);
    expect![[r#"
        { genres(limit: 1) { Name } }
          {"data":{"genres":[{"Name":"{\"role\":\"visitor\",\"user\":null,\"scopes\":[],\"session\":{},\"given\":{\"limit\":1},\"kind\":\"query\",\"field\":\"genres\",\"source\":\"chinook\",\"table\":\"Genre\"} all"}]}}
        { genres(offset: 1) { Name } }
          {"data":null,"errors":[{"message":"an interceptor of this field has failed","locations":[{"line":1,"column":3}],"path":["genres"],"extensions":{"code":"INTERCEPTOR_FAILED",…"}}]}
    "#]].assert_eq(&told);
}

#[test]
fn modules_are_read_again_with_the_configuration() {
    let version = |version: &str| {
        format!("export function after(rows) {{ for (const row of rows) row.Name = '{version}' }}")
    };
    let text = "[interceptors.sources.chinook.tables]\nGenre = \"g.js\"\n";
    let folder = folder(text, &[("g.js", &version("one"))]);
    let changes = Arc::new(AtomicU64::new(1));
    let (path, to_stamp) = (folder.path().to_owned(), Arc::clone(&changes));
    let access = read(&path).expect("the configuration is right");
    let stamp = move || Some(SystemTime::UNIX_EPOCH + Duration::from_secs(to_stamp.load(Ordering::SeqCst)));
    let server = Server::with(|settings| {
        settings.access = access;
        settings.reload = Some(Reload::new(move || read(&path), stamp));
    });
    let query = "{ genres(limit: 1) { Name } }";
    let until = |expected: &str| {
        let deadline = Instant::now() + PATIENCE;
        while body(&server, query) != format!(r#"{{"data":{{"genres":[{{"Name":"{expected}"}}]}}}}"#) {
            assert!(Instant::now() < deadline, "it does not become {expected}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let write = |name: &str, content: &str| {
        fs::write(folder.path().join(name), content).expect("it can be written");
        changes.fetch_add(1, Ordering::SeqCst);
    };
    until("one");
    write("g.js", &version("two"));
    until("two");
    write("g.js", "export function after(rows) {");
    std::thread::sleep(Duration::from_millis(1500));
    until("two");
    write("g.js", &version("three"));
    until("three");
    write("prony.toml", "");
    until("Rock");
}

#[test]
fn mistakes_are_told_before_anything_is_served() {
    let text = "[interceptors]\ntimeout_ms = 1.5\n[interceptors.sources.chinook.tables]\nGenre = \"g.ts\"\nAlbum = { insert = \"gone.ts\" }\n";
    let folder = folder(text, &[("g.ts", "export function before(r: any) {\n  return r.;\n}")]);
    expect![[r#"
        the configuration has 3 faults
          g.ts:2:12: syntax error: unexpected token
          /prony.toml:2:14: `timeout_ms`: write a whole number from 1 to 60000, not a number with a fraction
          /prony.toml:5:20: gone.ts cannot be read: No such file or directory (os error 2)"#]]
    .assert_eq(&read(folder.path()).expect_err("it is wrong"));
    let text = "[interceptors.sources.chinook.tables]\nGenres = \"g.ts\"\n[interceptors.sources.shop.tables]\nx = \"g.ts\"";
    let folder = self::folder(text, &[("g.ts", "export function before() {}")]);
    let access = read(folder.path()).expect("the modules are right");
    let database = prony_testkit::chinook::sqlite_copy();
    let refused = runtime::start(settings(&database.path(), |settings| settings.access = access));
    let told = refused.err().map(|error| error.to_string()).unwrap_or_default();
    expect![[r#"
        roles do not fit what is served:
        /prony.toml:2:10: interceptors: source `chinook`, `Genres`: no such table is served; did you mean `Genre`?
        /prony.toml:4:5: interceptors: there is no source `shop`"#]].assert_eq(&told.replace(&*folder.path().display().to_string(), ""));
}

#[test]
fn nodes_and_relationships_have_interceptors() {
    let text = "[interceptors.sources.graph.types]\nUser = \"u.js\"\nKNOWS = \"u.js\"";
    let module = "export function before(request, { operation }) {\n  if (operation === 'insert' && request.arguments.name) request.arguments.name += '!';\n}\n\
                  export function after(result, { operation }) {\n  for (const one of Array.isArray(result) ? result : [result]) if (one.name) one.name += operation;\n}";
    let folder = folder(text, &[("u.js", module)]);
    let access = read(folder.path()).expect("the configuration is right");
    let mut graph = Graph::with(|settings| {
        settings.access = access;
        "graph".clone_into(&mut settings.sources[0].name);
    });
    for request in [
        "POST /schema/nodes/User",
        "POST /schema/nodes/User/properties/name/string",
        "POST /schema/relationships/KNOWS",
    ] {
        assert!(graph.ask(request).starts_with("201"), "{request}");
    }
    let mut told =
        graph.query_when_known("mutation { createUser(_key: \"Ada\", name: \"Ada\") { _key name } }");
    for query in [
        "mutation { updateUser(pk_columns: {_key: \"Ada\"}, name: \"Eve\") { result } }",
        "{ users { name } user(_key: \"Ada\") { name } users_aggregate { count } }",
        "{ graph_nodes { _key } }",
    ] {
        told.push('\n');
        told.push_str(&graph.query(query));
    }
    expect![[r#"
        {"data":{"createUser":{"_key":"Ada","name":"Ada!insert"}}}
        {"data":{"updateUser":{"result":true}}}
        {"data":{"users":[{"name":"Eveselect"}],"user":{"name":"Eveselect"},"users_aggregate":{"count":1}}}
        {"data":{"graph_nodes":[{"_key":"Ada"}]}}"#]]
    .assert_eq(&told);
}

/// Says what the row is before it is changed, by refusing; afterwards that it is still known as it was.
const TELLS_ROWS: &str = r"
export function before(request, { operation, row }) {
  if (operation === 'insert') refuse(`${row === undefined}`, 'NO_ROW');
  if (row === null) refuse('there is none', 'NO_ROW');
  if (row.size !== 2 && row.age !== 7) refuse(JSON.stringify(Object.entries(row).sort()), 'ROW');
}
export function after(result, { operation, row }) {
  if (operation !== 'insert' && row.label !== null && row.name !== 'x y') refuse('it is another one');
}
";

/// On both databases, whatever the role may see of the row; keys of two parts, one of them with a character that is not ASCII.
#[test]
fn functions_know_the_row_as_it_was() {
    const ROOM: &str = "a/b \u{e4}";
    let key = |place: u32| format!("pk_columns: {{room: \"{ROOM}\", place: {place}}}");
    let queries = [
        format!("mutation {{ updateShelf({}, label: \"new\") {{ result }} }}", key(1)),
        format!("mutation {{ deleteShelf({}) {{ result }} }}", key(1)),
        format!("mutation {{ updateShelf({}, label: \"new\") {{ result }} }}", key(7)),
        format!("mutation {{ deleteShelf({}) {{ result }} }}", key(7)),
        "mutation { createShelf(room: \"r\", place: 1) { place } }".to_owned(),
        format!("mutation {{ updateShelf({}, label: \"new\") {{ result }} }}", key(2)),
        format!("mutation {{ deleteShelf({}) {{ result }} }}", key(2)),
    ];
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    let sqlite = tempfile::tempdir().expect("a folder can be made");
    let path = sqlite.path().join("shop.db");
    rusqlite::Connection::open(&path).and_then(|shop| shop.execute_batch(SHELVES)).expect("it is SQL");
    let postgres = TestDatabase::create();
    postgres.execute(SHELVES);
    let text = "[auth]\nanonymous = \"clerk\"\n[roles.clerk.sources.shop.tables.shelf]\nselect = { columns = [\"place\"], rows = { place = { gt = 100 } } }\n\
                insert = { columns = \"*\" }\nupdate = { columns = [\"label\"], rows = {} }\ndelete = { rows = {} }\n\
                [interceptors.sources.shop.tables]\nshelf = { insert = \"rows.js\", update = \"rows.js\", delete = \"rows.js\" }\n";
    let told = [format!("sqlite:{}", path.display()), postgres.url()].map(|url| {
        let folder = folder(text, &[("rows.js", TELLS_ROWS)]);
        let access = read(folder.path()).expect("the configuration is right");
        let server = Server::with(|settings| {
            let line = CommandLine { sources: vec![url], ..CommandLine::default() };
            settings.sources = config::load(KINDS, None, line, &|_| None).expect("it is a source").sources;
            "shop".clone_into(&mut settings.sources[0].name);
            settings.access = access;
        });
        bodies(&server, &queries)
    });
    assert_eq!(told[0], told[1], "SQLite and PostgreSQL differ");
    expect![[r#"
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 1}, label: "new") { result } }
          {"data":{"updateShelf":null},"errors":[{"message":"[[\"label\",\"x\"],[\"place\",1],[\"room\",\"a/b ä\"],[\"size\",15]]","locations":[{"line":1,"column":12}],"path":["updateShelf"],"extensions":{"code":"ROW"}}]}
        mutation { deleteShelf(pk_columns: {room: "a/b ä", place: 1}) { result } }
          {"data":{"deleteShelf":null},"errors":[{"message":"[[\"label\",\"x\"],[\"place\",1],[\"room\",\"a/b ä\"],[\"size\",15]]","locations":[{"line":1,"column":12}],"path":["deleteShelf"],"extensions":{"code":"ROW"}}]}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 7}, label: "new") { result } }
          {"data":{"updateShelf":null},"errors":[{"message":"there is none","locations":[{"line":1,"column":12}],"path":["updateShelf"],"extensions":{"code":"NO_ROW"}}]}
        mutation { deleteShelf(pk_columns: {room: "a/b ä", place: 7}) { result } }
          {"data":{"deleteShelf":null},"errors":[{"message":"there is none","locations":[{"line":1,"column":12}],"path":["deleteShelf"],"extensions":{"code":"NO_ROW"}}]}
        mutation { createShelf(room: "r", place: 1) { place } }
          {"data":{"createShelf":null},"errors":[{"message":"true","locations":[{"line":1,"column":12}],"path":["createShelf"],"extensions":{"code":"NO_ROW"}}]}
        mutation { updateShelf(pk_columns: {room: "a/b ä", place: 2}, label: "new") { result } }
          {"data":{"updateShelf":{"result":true}}}
        mutation { deleteShelf(pk_columns: {room: "a/b ä", place: 2}) { result } }
          {"data":{"deleteShelf":null},"errors":[{"message":"it is another one","locations":[{"line":1,"column":12}],"path":["deleteShelf"],"extensions":{"code":"FORBIDDEN"}}]}
    "#]].assert_eq(&told[0]);
}

#[test]
fn functions_know_nodes_and_relationships_as_they_were() {
    let text = "[interceptors.sources.graph.types]\nUser = \"rows.js\"\nKNOWS = \"rows.js\"\n";
    let folder = folder(text, &[("rows.js", TELLS_ROWS)]);
    let access = read(folder.path()).expect("the configuration is right");
    let mut graph = Graph::with(|settings| {
        settings.access = access;
        "graph".clone_into(&mut settings.sources[0].name);
    });
    for request in [
        "POST /schema/nodes/User/properties/na%20me/string",
        "POST /schema/nodes/User/properties/age/integer",
        "POST /schema/relationships/KNOWS/properties/age/integer",
        "POST /schema/relationships/LIKES/properties/age/integer",
        "POST /node/User/1026 {\"na me\": \"x y\", \"age\": 8}",
        "POST /node/User/1026/relationship/User/1026/KNOWS {\"age\": 3}",
        "POST /node/User/1026/relationship/User/1026/LIKES {\"age\": 3}",
    ] {
        let response = graph.ask(request);
        assert!(response.starts_with("201"), "{request}: {response}");
    }
    let ids = graph.ask("GET /node/User/1026/relationships/out");
    let ids: Vec<&str> = ids.split("\"id\": ").skip(1).filter_map(|rest| rest.split(',').next()).collect();
    let (knows, likes) = (ids[0].to_owned(), ids[1].to_owned());
    let id = {
        let node = graph.ask("GET /node/User/1026");
        node.split("\"id\": ")
            .nth(1)
            .and_then(|rest| rest.split(',').next())
            .expect("it has an id")
            .to_owned()
    };
    let mut told =
        graph.query_when_known("mutation { updateUser(pk_columns: {_key: \"1026\"}, age: 9) { result } }");
    for query in [
        format!("mutation {{ replaceUser(pk_columns: {{_id: {id}}}, age: 9) {{ result }} }}"),
        "mutation { deleteUser(pk_columns: {_key: \"none\"}) { result } }".to_owned(),
        format!("mutation {{ updateKNOWS(pk_columns: {{_id: {knows}}}, age: 4) {{ result }} }}"),
        format!("mutation {{ deleteKNOWS(pk_columns: {{_id: {likes}}}) {{ result }} }}"),
    ] {
        told.push('\n');
        told.push_str(&graph.query(&query));
    }
    expect![[r#"
        {"data":{"updateUser":null},"errors":[{"message":"[[\"_id\",1025],[\"_key\",\"1026\"],[\"age\",8],[\"na_me\",\"x y\"]]","locations":[{"line":1,"column":12}],"path":["updateUser"],"extensions":{"code":"ROW"}}]}
        {"data":{"replaceUser":null},"errors":[{"message":"[[\"_id\",1025],[\"_key\",\"1026\"],[\"age\",8],[\"na_me\",\"x y\"]]","locations":[{"line":1,"column":12}],"path":["replaceUser"],"extensions":{"code":"ROW"}}]}
        {"data":{"deleteUser":null},"errors":[{"message":"there is none","locations":[{"line":1,"column":12}],"path":["deleteUser"],"extensions":{"code":"NO_ROW"}}]}
        {"data":{"updateKNOWS":null},"errors":[{"message":"[[\"_id\",1025],[\"age\",3]]","locations":[{"line":1,"column":12}],"path":["updateKNOWS"],"extensions":{"code":"ROW"}}]}
        {"data":{"deleteKNOWS":null},"errors":[{"message":"there is none","locations":[{"line":1,"column":12}],"path":["deleteKNOWS"],"extensions":{"code":"NO_ROW"}}]}"#]].assert_eq(&told);
}
