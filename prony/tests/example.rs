//! `prony example donuts|music` from outside: GraphQL and REST over the wire, against what is promised of them.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    net::TcpStream,
    process::Command,
};

use expect_test::{Expect, expect};
use prony_testkit::PronyProcess;

struct Server {
    process: PronyProcess,
    address: String,
}

impl Server {
    fn start(name: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
        command.args(["example", name, "--listen", "127.0.0.1:0", "--cpus", "1"]);
        let mut process = PronyProcess::start_command(command);
        let address = process.wait_for_url().replace("http://", "");
        Self { process, address }
    }

    /// Status line and body.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("it answers");
        let (head, body) = response.split_once("\r\n\r\n").expect("a head ends");
        format!("{} {body}", head.lines().next().unwrap_or_default())
    }

    fn graphql(&self, query: &str, variables: &str) -> String {
        let query = serde_json::Value::from(query);
        let body = format!("{{\"query\":{query},\"variables\":{variables}}}");
        self.ask("POST", "/graphql", "content-type: application/json\r\n", &body)
    }

    /// Each query and its answer.
    fn check(&self, queries: &[&str], expected: &Expect) {
        let mut lines = String::new();
        for query in queries {
            let _ = writeln!(lines, "{}", self.graphql(query, "{}").replace("HTTP/1.1 ", ""));
        }
        expected.assert_eq(&lines);
    }
}

#[test]
fn donuts_over_graphql() {
    let server = Server::start("donuts");
    server.check(
        &[
            r#"{ retrieveDonut(id: "1") { id name flavor } }"#,
            r#"{ retrieveDonut(id: "none") { id } }"#,
            r#"mutation { addOrUpdateDonut(donut: {id: "5", name: "Bob", flavor: STRAWBERRY}) { id name flavor } }"#,
            r#"{ retrieveDonut(id: "5") { flavor name } }"#,
            r#"mutation { addOrUpdateDonut(donut: {id: "1", name: "Other", flavor: VANILLA}) { name flavor } }"#,
            r#"{ retrieveDonut(id: "1") { name flavor } }"#,
            r#"mutation { addOrUpdateDonut(donut: {name: "Nameless", flavor: VANILLA}) { id } }"#,
            r#"mutation { addOrUpdateDonut(donut: {id: "5", flavor: GREEN}) { id } }"#,
            r#"{ retrieveDonut(id: 5) { id } }"#,
            r#"{ __schema { subscriptionType { fields { name type { name } args { name } } } } }"#,
        ],
        &expect![[r#"
            200 OK {"data":{"retrieveDonut":{"id":"1","name":"Super Mega Donut","flavor":"CHOCOLATE"}}}
            200 OK {"data":{"retrieveDonut":null}}
            200 OK {"data":{"addOrUpdateDonut":{"id":"5","name":"Bob","flavor":"STRAWBERRY"}}}
            200 OK {"data":{"retrieveDonut":{"flavor":"STRAWBERRY","name":"Bob"}}}
            200 OK {"data":{"addOrUpdateDonut":{"name":"Super Mega Donut","flavor":"CHOCOLATE"}}}
            200 OK {"data":{"retrieveDonut":{"name":"Super Mega Donut","flavor":"CHOCOLATE"}}}
            200 OK {"data":{"addOrUpdateDonut":{"id":"9000"}}}
            200 OK {"errors":[{"message":"value `GREEN` does not exist on `DonutFlavor`","locations":[{"line":1,"column":54}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            200 OK {"errors":[{"message":"expected value of type String!, found an integer","locations":[{"line":1,"column":21}],"extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}
            200 OK {"data":{"__schema":{"subscriptionType":{"fields":[{"name":"onDonutUpdated","type":{"name":"Donut"},"args":[{"name":"id"}]}]}}}}
        "#]],
    );
    let variables = r#"{"donut":{"id":"6","name":"\"é\"","flavor":"VANILLA"}}"#;
    let mutation = "mutation($donut: DonutInput!) { addOrUpdateDonut(donut: $donut) { id name } }";
    expect![[r#"HTTP/1.1 200 OK {"data":{"addOrUpdateDonut":{"id":"6","name":"\"é\""}}}"#]]
        .assert_eq(&server.graphql(mutation, variables));
    assert_eq!(server.process.stop().status.code(), Some(0));
}

#[test]
fn donuts_over_rest() {
    let server = Server::start("donuts");
    let mut lines = String::new();
    for (method, path, body) in [
        ("GET", "/api/donuts/2", ""),
        ("PUT", "/api/donuts/2", r#"{"name":"New","flavor":"chocolate"}"#),
        ("GET", "/api/donuts/2", ""),
        ("PUT", "/api/donuts/1", r#"{"name":"New","flavor":"VANILLA"}"#),
        ("GET", "/api/donuts/none", ""),
        ("PUT", "/api/donuts/3", r#"{"flavor":"green"}"#),
        ("PUT", "/api/donuts/", r#"{"flavor":"vanilla"}"#),
        ("DELETE", "/api/donuts/2", ""),
        ("HEAD", "/api/donuts/2", ""),
        ("HEAD", "/api/donuts/none", ""),
        ("PUT", "/api/donuts/3", ""),
        ("PUT", "/api/donuts/3", r#"["3","New","vanilla"]"#),
        ("PUT", "/api/donuts/a%20b%2Fc%c3%A9", r#"{"flavor":"vanilla"}"#),
        ("GET", "/api/donuts/%61%20b%2fc%c3%a9", ""),
        ("GET", "/api/donuts/%ff", ""),
        ("POST", "/graphql", r#"{"query":"{ retrieveDonut(id: \"a b/cé\") { id } }"}"#),
        ("POST", "/graphql", r#"{"query":"{ retrieveDonut(id: \"2\") { name flavor } }"}"#),
    ] {
        let _ = writeln!(lines, "{method} {path} {}", server.ask(method, path, "", body));
    }
    expect![[r#"
        GET /api/donuts/2 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"2","name":"Plain Ring","flavor":"vanilla"}}}
        PUT /api/donuts/2 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"2","name":"New","flavor":"chocolate"}}}
        GET /api/donuts/2 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"2","name":"New","flavor":"chocolate"}}}
        PUT /api/donuts/1 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"1","name":"Super Mega Donut","flavor":"vanilla"}}}
        GET /api/donuts/none HTTP/1.1 404 Not Found {"data":{"singleDonut":null}}
        PUT /api/donuts/3 HTTP/1.1 400 Bad Request {"message":"unknown variant `green`, expected one of `VANILLA`, `vanilla`, `STRAWBERRY`, `strawberry`, `CHOCOLATE`, `chocolate` at line 1 column 17"}
        PUT /api/donuts/ HTTP/1.1 400 Bad Request {"message":"name the donut: /api/donuts/ID"}
        DELETE /api/donuts/2 HTTP/1.1 405 Method Not Allowed {"message":"use GET or PUT"}
        HEAD /api/donuts/2 HTTP/1.1 200 OK 
        HEAD /api/donuts/none HTTP/1.1 404 Not Found 
        PUT /api/donuts/3 HTTP/1.1 400 Bad Request {"message":"the body must be a JSON object, as {\"name\":\"Ann\",\"flavor\":\"vanilla\"}"}
        PUT /api/donuts/3 HTTP/1.1 400 Bad Request {"message":"the body must be a JSON object, as {\"name\":\"Ann\",\"flavor\":\"vanilla\"}"}
        PUT /api/donuts/a%20b%2Fc%c3%A9 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"a b/cé","name":null,"flavor":"vanilla"}}}
        GET /api/donuts/%61%20b%2fc%c3%a9 HTTP/1.1 200 OK {"data":{"singleDonut":{"id":"a b/cé","name":null,"flavor":"vanilla"}}}
        GET /api/donuts/%ff HTTP/1.1 400 Bad Request {"message":"the id is not UTF-8 in percent-encoding, such as %2F for a slash"}
        POST /graphql HTTP/1.1 200 OK {"data":{"retrieveDonut":{"id":"a b/cé"}}}
        POST /graphql HTTP/1.1 200 OK {"data":{"retrieveDonut":{"name":"New","flavor":"CHOCOLATE"}}}
    "#]].assert_eq(&lines);
    let text =
        server.ask("POST", "/graphql", "content-type: text/plain\r\n", r#"{"query":"{ __typename }"}"#);
    expect![[r#"HTTP/1.1 415 Unsupported Media Type {"errors":[{"message":"the body must be JSON in UTF-8: send `content-type: application/json`"}]}"#]].assert_eq(&text);
}

#[test]
fn starwars() {
    let server = Server::start("starwars");
    server.check(
        &[
            r#"{ person(id: "3") { name homeworld { name } films { title } } none: person(id: "99") { id } }"#,
            r#"{ peopleByIds(ids: ["2", "77", "1"]) { id name } planets(first: 2) { name } few: films(first: -1) { id } }"#,
            "{ films(first: 1) { characters { name } planets { name } } }",
        ],
        &expect![[r#"
            200 OK {"data":{"person":{"name":"Han Solo","homeworld":{"name":"Hoth"},"films":[{"title":"A New Hope"},{"title":"Return of the Jedi"},{"title":"Attack of the Clones"}]},"none":null}}
            200 OK {"data":{"peopleByIds":[{"id":"2","name":"Leia Organa"},{"id":"1","name":"Luke Skywalker"}],"planets":[{"name":"Tatooine"},{"name":"Alderaan"}],"few":[]}}
            200 OK {"data":{"films":[{"characters":[{"name":"Luke Skywalker"},{"name":"Han Solo"},{"name":"Obi-Wan Kenobi"},{"name":"Yoda"},{"name":"C-3PO"},{"name":"Padme Amidala"}],"planets":[{"name":"Tatooine"},{"name":"Hoth"},{"name":"Bespin"}]}]}}
        "#]],
    );
    for (name, fields) in [("q1", 1), ("q2", 4), ("q3", 9)] {
        let path = format!("{}/../examples/gateway/{name}.graphql", env!("CARGO_MANIFEST_DIR"));
        let query = std::fs::read_to_string(path).expect("the example is there");
        let response = server.graphql(&query, "{}");
        let body = response.strip_prefix("HTTP/1.1 200 OK ").expect("it responds");
        let body: serde_json::Value = serde_json::from_str(body).expect("it is JSON");
        assert_eq!(body["data"].as_object().map(serde_json::Map::len), Some(fields), "{name}");
        assert!(body["errors"].is_null(), "{body}");
    }
}

#[test]
fn music() {
    let server = Server::start("music");
    server.check(
        &[
            "{ artist(id: 2) { id name company { name } } none: artist(id: 99) { id } }",
            r#"{ artists(searchText: "queen") { name @toUpper records(searchText: "2") { name genre { name @toUpper } } company { id name } } }"#,
            "{ findArtistsById(ids: [3, 1, 77, 3]) { id name } }",
            r#"mutation { createArtist(artistName: "Can", recordCompanyId: 2) { id name company { name } records { id } } }"#,
            r#"mutation { createRecord(artistId: 13, genreId: 1, songName: "Tago Mago") { id name genre { name } } }"#,
            r#"{ artists(searchText: "can") { records { name artistId } } }"#,
            r#"mutation { createRecord(artistId: 99, genreId: 1, songName: "x") { id } }"#,
            r#"mutation { createArtist(artistName: "x", recordCompanyId: 9) { id } }"#,
            "{ genres { id name } recordCompanies { name } }",
        ],
        &expect![[r#"
            200 OK {"data":{"artist":{"id":2,"name":"Queens of the Stone Age","company":{"name":"Blue Door"}},"none":null}}
            200 OK {"data":{"artists":[{"name":"QUEEN","records":[{"name":"Queen, volume 2","genre":{"name":"SOUL"}}],"company":{"id":1,"name":"Northern Lights"}},{"name":"QUEENS OF THE STONE AGE","records":[{"name":"Queens of the Stone Age, volume 2","genre":{"name":"FOLK"}}],"company":{"id":2,"name":"Blue Door"}}]}}
            200 OK {"data":{"findArtistsById":[{"id":3,"name":"Nina Simone"},{"id":1,"name":"Queen"},{"id":3,"name":"Nina Simone"}]}}
            200 OK {"data":{"createArtist":{"id":13,"name":"Can","company":{"name":"Blue Door"},"records":[]}}}
            200 OK {"data":{"createRecord":{"id":49,"name":"Tago Mago","genre":{"name":"Rock"}}}}
            200 OK {"data":{"artists":[{"records":[{"name":"Tago Mago","artistId":13}]}]}}
            200 OK {"data":{"createRecord":null},"errors":[{"message":"there is no artist 99","locations":[{"line":1,"column":12}],"path":["createRecord"],"extensions":{"code":"BAD_USER_INPUT","id":99}}]}
            200 OK {"data":{"createArtist":null},"errors":[{"message":"there is no record company 9","locations":[{"line":1,"column":12}],"path":["createArtist"],"extensions":{"code":"BAD_USER_INPUT","id":9}}]}
            200 OK {"data":{"genres":[{"id":1,"name":"Rock"},{"id":2,"name":"Jazz"},{"id":3,"name":"Soul"},{"id":4,"name":"Folk"},{"id":5,"name":"Electronic"}],"recordCompanies":[{"name":"Northern Lights"},{"name":"Blue Door"},{"name":"Sub Rosa"},{"name":"Half Moon"}]}}
        "#]],
    );
    let query = "query($id: Int!, $text: String, $ids: [Int!]!, $with: Boolean!, $without: Boolean!) {
        artist(id: $id) { name @skip(if: $without) records(searchText: $text) @include(if: $with) { name } }
        findArtistsById(ids: $ids) { name company @include(if: $without) { name } } }";
    let variables = r#"{"id":1,"text":"4","ids":[2,4],"with":true,"without":false}"#;
    expect![[r#"HTTP/1.1 200 OK {"data":{"artist":{"name":"Queen","records":[{"name":"Queen, volume 4"}]},"findArtistsById":[{"name":"Queens of the Stone Age"},{"name":"Portishead"}]}}"#]].assert_eq(&server.graphql(query, variables));
    let post = |body: &str| server.ask("POST", "/graphql", "", body);
    expect![[r#"HTTP/1.1 415 Unsupported Media Type {"errors":[{"message":"the body must be JSON in UTF-8: send `content-type: application/json`"}]}"#]].assert_eq(&post(r#"{"query":"{ __typename }"}"#));
    expect![[r#"HTTP/1.1 200 OK {"status":"ok","version":"0.1.0","sources":[{"name":"functions","database":"functions","status":"ok"}]}"#]].assert_eq(&server.ask("GET", "/health", "", ""));
}

#[test]
fn an_unknown_example_is_refused() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["example", "bagels"]);
    let finished = PronyProcess::start_command(command).wait();
    assert_eq!(finished.status.code(), Some(2));
    assert!(finished.stderr.contains("donuts"), "{}", finished.stderr);
}
