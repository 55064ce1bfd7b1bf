//! What people hand to the lab: plans, addresses, scripts, JMeter's files, recordings. None is run; no request is sent.

use std::{collections::BTreeMap, fs, path::PathBuf, sync::LazyLock, time::Duration};

use prony_drafts::{HarOptions, OpenApiOptions};
use prony_script_jmeter::{Given, JmeterPlan};
use prony_script_k6::{Main, Sources, builtins};
use prony_script_wrk::{Limits, ScriptFiles, Settings, WrkScript, WrkUrl};

use super::{files, folder, texts};
use crate::Target;

pub(super) const PLAN: Target = Target { name: "plan", seeds: || files("examples/plans", "toml"), run: plan };
pub(super) const ADDRESS: Target = Target { name: "address", seeds: addresses, run: address };
pub(super) const WRK: Target = Target { name: "wrk-script", seeds: wrk_requests, run: wrk };
pub(super) const K6: Target = Target { name: "k6-script", seeds: k6_scripts, run: k6 };
pub(super) const JMETER: Target =
    Target { name: "jmeter-plan", seeds: || files("prony/tests/jmeter/compared", "jmx"), run: jmeter };
pub(super) const JTL: Target = Target { name: "jtl", seeds: jtls, run: jtl };
pub(super) const HAR: Target = Target { name: "har", seeds: recordings, run: har };
pub(super) const OPENAPI: Target = Target { name: "openapi", seeds: descriptions, run: openapi };
pub(super) const CURL: Target = Target { name: "curl", seeds: commands, run: curl };

fn plan(bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("plan.toml");
    fs::write(&path, bytes).expect("room");
    if let Err(error) = prony_load::read_plan(&path) {
        assert!(!error.to_string().is_empty());
    }
}

fn addresses() -> Vec<Vec<u8>> {
    texts(&[
        "http://127.0.0.1:8080/a?b=c",
        "https://[::1]/ä%20",
        "unix:/tmp/a.sock:/b",
        "h2c://user:pw@a.test/#f",
    ])
}

fn address(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // An error says which address it is of, so that it can be told.
    if let Err(error) = prony_load::Url::parse(text) {
        assert!(!error.to_string().is_empty());
    }
}

/// Method, path, one header's value and the body, with zero bytes between.
fn wrk_requests() -> Vec<Vec<u8>> {
    texts(&["GET\0/a?b=c\0text/plain\0", "POST\0/ü\0a, b\0{\"a\": 1}\r\n\r\n", "\0\0\0"])
}

fn wrk(bytes: &[u8]) {
    let mut parts = bytes.splitn(4, |byte| *byte == 0);
    let mut text = || parts.next().map(String::from_utf8_lossy).unwrap_or_default().into_owned();
    let (method, path, header, body) = (text(), text(), text(), text());
    let url = WrkUrl {
        text: format!("http://localhost{path}"),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: None,
        path,
    };
    let settings = Settings {
        path: PathBuf::from("fuzz.lua"),
        source: b"function init(args) wrk.init(args); said = wrk.format() end".to_vec(),
        url,
        headers: vec![("X-Fuzz".to_owned(), header)],
        method,
        body: Some(body.into_bytes()),
        arguments: Vec::new(),
        threads: 1,
        connect_timeout: Duration::from_secs(1),
        limits: Limits { memory_bytes: 64 << 20, ..Limits::default() },
        files: ScriptFiles::AsNamed,
    };
    if let Err(error) = WrkScript::prepare(settings, |error| panic!("a script of one line hangs: {error}")) {
        assert!(!error.to_string().is_empty());
    }
}

fn k6_scripts() -> Vec<Vec<u8>> {
    files("prony/tests/k6/scripts", "js")
}

fn k6(bytes: &[u8]) {
    static BUILTINS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
        let builtins = builtins();
        builtins.modules.iter().map(|module| module.specifier).collect()
    });
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let folder = folder();
    let main = Main::standard_input(text.to_owned(), folder.path());
    match Sources::load(main, BUILTINS.iter().copied()) {
        Ok(sources) => assert!(sources.text(sources.entry()).is_some(), "the main module has a text to run"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn jmeter(bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("plan.jmx");
    fs::write(&path, bytes).expect("room");
    let given = Given {
        path,
        properties: Vec::new(),
        property_files: Vec::new(),
        jtl: None,
        places: BTreeMap::new(),
    };
    match JmeterPlan::open(given) {
        Ok(plan) => assert!(!plan.outline().is_empty()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn jtls() -> Vec<Vec<u8>> {
    texts(&[
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,grpThreads,allThreads,URL,Latency,IdleTime,Connect\n\
         1700000000000,12,\"a, \"\"b\"\"\",200,OK,g 1-1,text,true,,120,90,1,1,http://a/,11,0,2\n",
        "1700000000000,12,a,200,OK,g 1-1,text,false,\"no\nyes\",120,90,1,1,null,11,0,2\n",
        "timeStamp;elapsed;label\n2024/01/02 03:04:05.678;1;a\n",
        "<?xml version=\"1.0\"?>\n<testResults version=\"1.2\"><httpSample t=\"3\" lb=\"a\" ts=\"1700000000000\" s=\"true\" rc=\"200\"><sample t=\"1\" ts=\"1\"/><assertionResult><failure>false</failure></assertionResult></httpSample></testResults>",
    ])
}

fn jtl(bytes: &[u8]) {
    let folder = folder();
    let path = folder.path().join("samples.jtl");
    fs::write(&path, bytes).expect("room");
    let mut count = 0_u64;
    match prony_jtl::read(&path, |_| count += 1) {
        Ok(facts) => drop(facts.notices()),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(count <= bytes.len() as u64, "more samples than bytes");
}

fn recordings() -> Vec<Vec<u8>> {
    texts(&[
        r#"{"log":{"entries":[{"startedDateTime":"2024-01-02T03:04:05.678Z","time":12,"request":{"method":"POST","url":"https://a.test/b?c=d","headers":[{"name":"Content-Type","value":"application/json"}],"postData":{"mimeType":"application/json","text":"{\"a\":1}"}},"response":{"status":201,"headers":[],"content":{"mimeType":"text/html","text":"x"}}}]}}"#,
        r#"{"log":{"pages":[],"entries":[]}}"#,
    ])
}

fn har(bytes: &[u8]) {
    drafted(bytes, "a.har", |path| prony_drafts::from_har(path, &HarOptions::default()));
}

fn descriptions() -> Vec<Vec<u8>> {
    texts(&[
        r##"{"openapi":"3.0.3","info":{"title":"A","version":"1"},"servers":[{"url":"https://{x}.test/v1","variables":{"x":{"default":"a"}}}],"paths":{"/p/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"type":"integer","minimum":3}}],"get":{"operationId":"g","responses":{"200":{"description":"ok"}}},"post":{"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/S"}}}},"responses":{}}}},"components":{"schemas":{"S":{"type":"object","required":["a"],"properties":{"a":{"type":"string","enum":["x"]},"b":{"$ref":"#/components/schemas/S"}}}}}}"##,
        "openapi: 3.1.0\ninfo: {title: B, version: '2'}\nservers: [{url: 'http://b.test'}]\npaths:\n  /q:\n    get:\n      parameters: [{name: l, in: query, example: [1, 2]}]\n      responses: {}\n",
        "swagger: '2.0'\nhost: c.test\npaths: {}\n",
    ])
}

fn openapi(bytes: &[u8]) {
    drafted(bytes, "a.yaml", |path| {
        prony_drafts::from_openapi(path, &OpenApiOptions { target: None, writes: true })
    });
}

fn commands() -> Vec<Vec<u8>> {
    texts(&[
        "curl 'https://a.test/b?c=d' -H 'Accept: */*' --data-raw $'{\"a\": \"\\u00e4\"}' --compressed",
        "curl -X PUT \\\n  -u user:pw -d a=b --data-urlencode 'c=d e' http://a.test --next -G -d q=1 http://b.test",
        "curl.exe \"http://a.test/\" ^\r\n -F \"f=x;type=text/plain\"",
    ])
}

fn curl(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Of a file that a changed command names by chance nothing is kept.
    if let Err(error) = prony_drafts::from_curl(&[text.to_owned()]) {
        assert!(!error.to_string().is_empty());
    }
}

fn drafted(
    bytes: &[u8],
    name: &str,
    draft: impl FnOnce(&std::path::Path) -> Result<prony_drafts::Draft, prony_drafts::DraftError>,
) {
    let folder = folder();
    let path = folder.path().join(name);
    fs::write(&path, bytes).expect("room");
    if let Err(error) = draft(&path) {
        assert!(!error.to_string().is_empty());
    }
}
