//! Who asks, and what each role is served, over every way in.

mod addresses;
mod call_rules;
mod documents;
mod explain;
mod functions;
mod graph_calls;
mod graph_roles;
mod graph_scripts;
mod graph_writes;
mod issuer;
mod operations;
mod quality;
mod records;
mod reload;
mod requests;
mod roles;
mod shared_limits;
mod sockets;
mod webhook;

use std::{path::Path, sync::Arc, time::SystemTime};

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use prony_server::config::{self, AccessSettings, CommandLine, Settings};
use serde_json::{Value as Json, json};

use crate::support::{KINDS, Server, post_with};

const SECRET: &str = "a secret of tests that is long enough for HMAC with SHA-256";

/// Tables of the sample database for visitors, customers, clerks who only write, and admins.
const ACCESS: &str = r#"
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
leeway_s = 0
cookie = "session"
claims = { role = "/role", allowed_roles = "/roles", "user.id" = "/customer" }

[roles.visitor.sources.chinook.tables.Album]
select = { columns = ["AlbumId", "Title"], aggregates = false, limit = 2 }
[roles.customer]
inherits = ["visitor"]
[roles.customer.sources.chinook.tables.Invoice]
select = { columns = ["InvoiceId", "Total"], rows = { CustomerId = { eq = "$user.id" } }, aggregates = true }
insert = { columns = ["InvoiceId", "Total", "InvoiceDate"], set = { CustomerId = "$user.id" }, check = { Total = { lt = 100 } } }
[roles.clerk.sources.chinook.tables.Genre]
insert = { columns = ["GenreId", "Name"], check = {} }
[roles.admin]
unrestricted = true
"#;

/// What a file with these tables says.
fn settings(access: &str) -> Settings {
    let text = format!("[[source]]\nurl = \"sqlite:none.db\"\nname = \"chinook\"\n{access}");
    let file = Some((Path::new("prony.toml"), &*text));
    config::load(KINDS, file, CommandLine::default(), &|_| None).expect("the configuration is right")
}

fn access(text: &str) -> Arc<AccessSettings> {
    settings(text).access
}

/// The same of a server that verifies certificates of clients.
pub(crate) fn access_with_certificates(text: &str) -> Arc<AccessSettings> {
    let tls = "[tls]\ncertificate = \"server.pem\"\nkey = \"server-key.pem\"\nclient_ca = \"ca.pem\"\n";
    access(&format!("{tls}{text}"))
}

fn serve(text: &str) -> Server {
    let access = access(text);
    Server::with(|settings| settings.access = access)
}

fn encoded(json: &Json) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(json.to_string())
}

fn unix_now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is after 1970").as_secs()
}

/// A token that ends in so many seconds.
fn token_for(role: &str, customer: &Json, seconds: u64) -> String {
    let mut claims = json!({"iss": "https://login.test/", "aud": ["shop"], "exp": unix_now() + seconds, "role": role, "roles": [role, "visitor"]});
    if !customer.is_null() {
        claims["customer"] = customer.clone();
    }
    signed(&claims)
}

fn signed(claims: &Json) -> String {
    let text = format!("{}.{}", encoded(&json!({"alg": "HS256", "typ": "JWT"})), encoded(claims));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()));
    format!("{text}.{signature}")
}

fn token(role: &str, customer: u64) -> String {
    token_for(role, &json!(customer), 600)
}

fn bearer(token: &str) -> String {
    format!("authorization: Bearer {token}\r\n")
}

/// The response to a query with these headers.
fn ask(server: &Server, headers: &str, query: &str) -> String {
    let headers = format!("content-type: application/json\r\n{headers}");
    server.ask(post_with(&headers, &json!({ "query": query }).to_string()))
}

/// The body of the response.
fn body(server: &Server, headers: &str, query: &str) -> String {
    ask(server, headers, query).lines().last().unwrap_or_default().to_owned()
}
