//! Samples, their rows, extractors and assertions.

use super::Trial;
use super::plans::{
    element, flag, get, group, headers, host_table, json_extractor, number, plan, post, regex_extractor,
    request, response_assertion, text, timer, transaction,
};
use expect_test::expect;
use std::fs;

const COLUMNS: [&str; 8] = [
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "dataType",
    "success",
    "failureMessage",
    "URL",
];

#[test]
fn rows_are_those_of_jmeter() {
    let below = get("get", "/ok?z=1", "")
        + &request("query", "GET", "/ok", "ab=c&d\n=skipped", "", "")
        + &request("space", "GET", "/ok", "a b=c", "", "")
        + &get("root", "", "")
        + &get("redirect", "/redirect", "")
        + &get("missing", "/missing", "")
        + &request("refused", "GET", "/x", "", &text("HTTPSampler.port", "1"), "")
        + &get("unset", "/a${unset}", "");
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        get | 200 | OK | Group 1-1 | text | true |  | http://127.0.0.1:PORT/ok?z=1
        query | 200 | OK | Group 1-1 | text | true |  | http://127.0.0.1:PORT/ok?ab=c&d
        space | Non HTTP response code: java.net.URISyntaxException | Non HTTP response message: Illegal character in query at index 27: http://127.0.0.1:PORT/ok?a b=c | Group 1-1 | text | false |  | http://127.0.0.1:PORT/ok?a b=c
        root | 200 | OK | Group 1-1 | text | true |  | http://127.0.0.1:PORT/
        redirect | 200 | OK | Group 1-1 | text | true |  | http://127.0.0.1:PORT/ok?from=redirect
        redirect-0 | 302 | Found | Group 1-1 |  | true |  | http://127.0.0.1:PORT/redirect
        redirect-1 | 200 | OK | Group 1-1 | text | true |  | http://127.0.0.1:PORT/ok?from=redirect
        missing | 404 | Not Found | Group 1-1 |  | false |  | http://127.0.0.1:PORT/missing
        refused | Non HTTP response code: org.apache.http.conn.HttpHostConnectException | Non HTTP response message: Connect to 127.0.0.1:1 [/127.0.0.1] failed: Connection refused | Group 1-1 | text | false |  | http://127.0.0.1:1/x
        unset | Non HTTP response code: java.net.URISyntaxException | Non HTTP response message: Illegal character in path at index 25: http://127.0.0.1:PORT/a${unset} | Group 1-1 | text | false |  | http://127.0.0.1:PORT/a${unset}
    "#]]
    .assert_eq(&shown(&trial, &COLUMNS));
}

fn shown(trial: &Trial, columns: &[&str]) -> String {
    trial.rows(columns).join("\n") + "\n"
}

#[test]
fn requests_are_written_as_jmeters_client_writes_them() {
    let encoded = "<elementProp name=\"HTTPsampler.Arguments\" elementType=\"Arguments\"><collectionProp name=\"Arguments.arguments\">\
        <elementProp name=\"a b\" elementType=\"HTTPArgument\"><boolProp name=\"HTTPArgument.always_encode\">true</boolProp>\
        <stringProp name=\"Argument.name\">a b</stringProp><stringProp name=\"Argument.value\">c&amp;d</stringProp></elementProp>\
        </collectionProp></elementProp>";
    let form = text("HTTPSampler.path", "/form") + &text("HTTPSampler.method", "POST") + encoded;
    let below = headers("X-Outer: 1\nAccept: outer")
        + &post("raw", "/raw", "{\"q\":\"é\"}", "")
        + &post("typed", "/typed", "{}", &headers("Content-Type: application/json\naccept: inner"))
        + &element("HTTPSamplerProxy", "form", &form, "")
        + &request("delete", "DELETE", "/d", "a=b", "", "")
        + &request("multipart", "POST", "/m", "a=b c", &flag("HTTPSampler.DO_MULTIPART_POST", true), "")
        + &request("closing", "GET", "/c", "", &flag("HTTPSampler.use_keepalive", false), "").replacen(
            "keepalive\">true",
            "keepalive\">false",
            1,
        );
    let trial = Trial::once(&below);
    trial.demand(&[]);
    let seen = trial.server.seen();
    let boundary = seen[4].header("content-type").unwrap().split("boundary=").nth(1).unwrap();
    let boundary = boundary.split(';').next().unwrap().to_owned();
    let lines = seen.iter().map(|seen| {
        let headers: Vec<_> = seen.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        format!("{}\n  {}\n  {:?}\n", seen.line, headers.join("\n  "), seen.body)
    });
    let lines =
        lines.collect::<String>().replace(&trial.server.port(), "PORT").replace(&boundary, "BOUNDARY");
    expect![[r#"
        POST /raw
          connection: keep-alive
          x-outer: 1
          accept: outer
          content-length: 10
          content-type: text/plain; charset=UTF-8
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          "{\"q\":\"é\"}"
        POST /typed
          connection: keep-alive
          content-type: application/json
          accept: inner
          x-outer: 1
          content-length: 2
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          "{}"
        POST /form
          connection: keep-alive
          x-outer: 1
          accept: outer
          content-length: 9
          content-type: application/x-www-form-urlencoded; charset=UTF-8
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          "a+b=c%26d"
        DELETE /d?a=b
          connection: keep-alive
          x-outer: 1
          accept: outer
          content-length: 3
          content-type: application/x-www-form-urlencoded; charset=UTF-8
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          "a=b"
        POST /m
          connection: keep-alive
          x-outer: 1
          accept: outer
          content-length: 193
          content-type: multipart/form-data; boundary=BOUNDARY; charset=UTF-8
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          "--BOUNDARY\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset=UTF-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nb c\r\n--BOUNDARY--\r\n"
        GET /c
          connection: close
          x-outer: 1
          accept: outer
          host: 127.0.0.1:PORT
          user-agent: Apache-HttpClient/4.5.14 (Java/17)
          ""
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_manager_may_have_several_headers_of_a_name() {
    let below = headers("X-Same: outer\nX-Outer: 1")
        + &get("a", "/ok", &headers("X-Same: 1\nx-same: 2\nHost: first.test\nHost: second.test"));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    let seen = trial.server.seen();
    let values = |wanted: &str| {
        let named = seen[0].headers.iter().filter(|(name, _)| *name == wanted);
        named.map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    assert_eq!(values("x-same"), ["1", "2"]);
    assert_eq!((values("x-outer").len(), values("host").len()), (1, 1));
}

#[test]
fn sizes_of_variables_are_their_numbers() {
    let size = |variable: &str| {
        let props = text("Assertion.scope", "variable")
            + &text("Scope.variable", variable)
            + &text("SizeAssertion.size", "8")
            + &number("SizeAssertion.operator", 1);
        element("SizeAssertion", "Size Assertion", &props, "")
    };
    let id = json_extractor("id", "$.list.ids[1]", "1", "none");
    let below = get("id", "/ok", &(id + &size("id"))) + &get("none", "/ok", &size("nobody"));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        id | true | 
        none | false | Error parsing variable name: nobody value: null
    "#]]
    .assert_eq(&shown(&trial, &["label", "success", "failureMessage"]));
}

#[test]
fn extractors_look_at_the_results_of_their_scope() {
    let location = |scope: &str| {
        let props = text("Sample.scope", scope)
            + &text("RegexExtractor.useHeaders", "true")
            + &text("RegexExtractor.refname", "to")
            + &text("RegexExtractor.regex", "Location: (\\S+)")
            + &text("RegexExtractor.template", "$1$")
            + &text("RegexExtractor.default", "none")
            + &text("RegexExtractor.match_number", "1");
        element("RegexExtractor", "Regular Expression Extractor", &props, "")
    };
    for (scope, found) in
        [("all", "/ok?from=redirect"), ("children", "/ok?from=redirect"), ("parent", "none")]
    {
        let trial = Trial::once(&(get("go", "/redirect", &location(scope)) + &get("to ${to}", "/ok", "")));
        trial.demand(&[]);
        assert_eq!(trial.labels(), ["go", "go-0", "go-1", &format!("to {found}")], "{scope}");
    }
}

#[test]
fn assertions_look_at_the_results_or_the_variable_of_their_scope() {
    let scoped = |scope: &str, variable: &str, pattern: &str| {
        let assertion = response_assertion(&[pattern], "response_code", 2);
        let begin = "<boolProp name=\"Assertion.assume_success\"";
        let scope = text("Assertion.scope", scope) + &text("Scope.variable", variable);
        assertion.replacen(begin, &(scope + begin), 1)
    };
    let id = json_extractor("id", "$.list.ids[1]", "1", "none");
    let below = get("all", "/redirect", &scoped("all", "", "200|302"))
        + &get("parts", "/redirect", &scoped("children", "", "302"))
        + &get("main", "/redirect", &scoped("parent", "", "200"))
        + &get("is 8", "/ok", &(id.clone() + &scoped("variable", "id", "^8$")))
        + &get("is 9", "/ok", &(id + &scoped("variable", "id", "^9$")));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        all | true | 
        all-0 | true | 
        all-1 | true | 
        parts | false | One or more sub-samples failed
        parts-0 | true | 
        parts-1 | false | Test failed: code expected to contain /302/
        main | true | 
        main-0 | true | 
        main-1 | true | 
        is 8 | true | 
        is 9 | false | Test failed: variable(id) expected to contain /^9$/
    "#]]
    .assert_eq(&shown(&trial, &["label", "success", "failureMessage"]));
}

#[test]
fn transactions_are_samples_of_their_own() {
    let two = get("a", "/ok", &timer("30")) + &get("b", "/missing", "");
    let below = transaction("apart", false, &two)
        + &transaction("parent", true, &two)
        + &transaction("well", true, &get("c", "/ok", ""));
    let trial = Trial::once(&below);
    let ended = trial.run(&[]);
    expect![[r#"
        a | 200 | OK | true | http://127.0.0.1:PORT/ok
        b | 404 | Not Found | false | http://127.0.0.1:PORT/missing
        apart |  | Number of samples in transaction : 2, number of failing samples : 1 | false | null
        parent | 404 | Number of samples in transaction : 2, number of failing samples : 1 | false | null
        a | 200 | OK | true | http://127.0.0.1:PORT/ok
        b | 404 | Not Found | false | http://127.0.0.1:PORT/missing
        well | 200 | Number of samples in transaction : 1, number of failing samples : 0 | true | null
        c | 200 | OK | true | http://127.0.0.1:PORT/ok
    "#]]
    .assert_eq(&shown(&trial, &["label", "responseCode", "responseMessage", "success", "URL"]));
    let idle = trial.rows(&["label", "IdleTime", "elapsed"]);
    let idle: Vec<u64> = idle[2].split(" | ").skip(1).map(|cell| cell.parse().unwrap()).collect();
    assert!(idle[0] >= 30 && idle[1] < 30, "timers do not count: {idle:?}");
    // Without what is part of a parent sample; transactions count apart.
    assert!(
        ended.out.contains("\nTotal                                    2       1   50.00%"),
        "{}",
        ended.out
    );
}

#[test]
fn assertions_judge_the_parent_of_samples_too() {
    let has_text = response_assertion(&["."], "response_data", 2);
    let below = transaction("parent", true, &(has_text.clone() + &get("a", "/ok", "")))
        + &get("last ${JMeterThread.last_sample_ok}", "/ok", "")
        + &transaction("apart", false, &(has_text + &get("b", "/ok", "")));
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        parent | 200 | false | Response was null
        a | 200 | true | 
        last false | 200 | true | 
        b | 200 | true | 
        apart | 200 | true | 
    "#]]
    .assert_eq(&shown(&trial, &["label", "responseCode", "success", "failureMessage"]));
}

#[test]
fn a_parent_of_samples_is_one_sample_of_the_parent_around_it() {
    let two = get("a", "/ok", "") + &get("b", "/missing", "");
    let trial = Trial::once(&transaction("outer", true, &transaction("inner", true, &two)));
    trial.demand(&[]);
    expect![[r#"
        outer | 404 | Number of samples in transaction : 1, number of failing samples : 1
        inner | 404 | Number of samples in transaction : 2, number of failing samples : 1
        a | 200 | OK
        b | 404 | Not Found
    "#]]
    .assert_eq(&shown(&trial, &["label", "responseCode", "responseMessage"]));
}

#[test]
fn assertions_say_what_jmeter_says() {
    let json = |path: &str, expected: &str, validates: bool, is_regex: bool, is_inverted: bool| {
        let props = text("JSON_PATH", path)
            + &text("EXPECTED_VALUE", expected)
            + &flag("JSONVALIDATION", validates)
            + &flag("EXPECT_NULL", false)
            + &flag("INVERT", is_inverted)
            + &flag("ISREGEX", is_regex);
        element("JSONPathAssertion", "JSON Assertion", &props, "")
    };
    let size = text("Assertion.test_field", "SizeAssertion.response_data")
        + &text("SizeAssertion.size", "1")
        + &number("SizeAssertion.operator", 1);
    let data = "response_data";
    let all = [
        response_assertion(&["nope", "x"], data, 16),
        response_assertion(&["tok.n"], data, 2),
        response_assertion(&["tok.n"], data, 1),
        response_assertion(&["name"], data, 16 | 4),
        response_assertion(&["zz", "yy"], data, 16 | 32),
        response_assertion(&["zz", "name"], data, 16 | 32),
        response_assertion(&["201"], "response_code", 8),
        response_assertion(&["200"], "response_code", 8),
        json("$.name", "y", true, false, false),
        json("$.name", "[x-z]", true, true, false),
        json("$.none", "", false, false, false),
        json("$.name", "x", true, false, true),
        json("$.list.ids", "[7, 8, 9]", true, false, false),
        element("SizeAssertion", "Size Assertion", &size, ""),
        json("$.list.ids[?(@ > 9)]", "", false, false, false),
        json("$.list.ids[?(@ > 8)]", "", false, false, false),
        json("$.none[*]", "7", true, false, false),
    ];
    let below: String =
        all.iter().enumerate().map(|(at, assertion)| get(&format!("a{at}"), "/ok", assertion)).collect();
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        a0 | false | Test failed: text expected to contain /nope/
        a1 | true | 
        a2 | false | Test failed: text expected to match /tok.n/
        a3 | false | Test failed: text expected not to contain /name/
        a4 | false | Test failed: text expected something using /zz/	Test failed: text expected something using /yy/	
        a5 | true | 
        a6 | false | Test failed: code expected to equal /

        ****** received  : 20[[[0]]]

        ****** comparison: 20[[[1]]]

        /
        a7 | true | 
        a8 | false | Value in json path '$.name' expected to be 'y', but found 'x'
        a9 | true | 
        a10 | false | No results for path: $['none']
        a11 | false | Failed that JSONPath $.name not matches x
        a12 | true | 
        a13 | false | The result was the wrong size: It was 50 bytes, but should have been equal to 1 bytes.
        a14 | false | JSONPath '$.list.ids[?(@ > 9)]' is indefinite and the extracted Value is an empty Array. Please use an assertion value, to be sure to get a correct result. Expected value was ''
        a15 | true | 
        a16 | false | Missing property in path $['none']
    "#]]
    .assert_eq(&shown(&trial, &["label", "success", "failureMessage"]));
}

#[test]
fn extractors_set_variables_by_jmeters_names() {
    let css = text("HtmlExtractor.refname", "title")
        + &text("HtmlExtractor.expr", "h1.title")
        + &text("HtmlExtractor.match_number", "1");
    let boundary = text("BoundaryExtractor.useHeaders", "false")
        + &text("BoundaryExtractor.refname", "cut")
        + &text("BoundaryExtractor.lboundary", "\"token\":\"")
        + &text("BoundaryExtractor.rboundary", "\"")
        + &text("BoundaryExtractor.match_number", "1");
    let below = get("page", "/page", &element("HtmlExtractor", "CSS", &css, ""))
        + &get(
            "first",
            "/ok",
            &(json_extractor("id;miss;all", "$.list.ids[1];$.none;$.list.ids[*]", "1;1;-1", "d1;d2;d3")
                + &json_extractor("whole", "$.list.ids", "-1", "d4")
                + &regex_extractor("pair", "\"(t)-(\\d+)\"", "$2$-$1$", "1")
                + &regex_extractor("none", "zzz", "$1$", "1")
                + &element("BoundaryExtractor", "Boundary", &boundary, "")),
        )
        + &post(
            "show",
            "/show",
            "${id} ${id_matchNr} ${miss} ${miss_matchNr} ${all_1} ${all_3} ${all_matchNr} ${all_ALL} ${pair} ${pair_g} ${pair_g0} ${pair_g2} ${none} ${none_g} ${cut} ${title} ${whole_1} ${whole_matchNr}",
            "",
        );
    let trial = Trial::once(&below);
    trial.demand(&[]);
    assert_eq!(
        trial.server.seen().last().unwrap().body,
        "8 1 d2 0 7 9 3 7,8,9 42-t 2 \"t-42\" 42 none ${none_g} t-42 Hello [7,8,9] 1"
    );
}

#[test]
fn pages_are_fetched_with_what_they_embed() {
    let props = flag("HTTPSampler.image_parser", true)
        + &flag("HTTPSampler.concurrentDwn", true)
        + &text("HTTPSampler.embedded_url_exclude_re", ".*png");
    let trial = Trial::once(&request("page", "GET", "/page", "", &props, ""));
    trial.demand(&[]);
    assert_eq!(trial.labels(), ["page", "page-0", "page-1"]);
    assert_eq!(trial.server.lines(), ["GET /page", "GET /b.js"]);
}

#[test]
fn xml_has_the_results_of_assertions() {
    let trial = Trial::once(&get("a", "/ok", &response_assertion(&["zz"], "response_data", 16)));
    trial.demand(&["-Jjmeter.save.saveservice.output_format=xml"]);
    let xml = fs::read_to_string(trial.path("out.jtl")).unwrap();
    assert!(
        xml.contains("<failureMessage>Test failed: text expected to contain /zz/</failureMessage>"),
        "{xml}"
    );
}

#[test]
fn xml_has_parts_within_their_samples() {
    let below = get("go", "/redirect", "");
    let trial = Trial::once(&transaction("all", true, &(below + &get("b", "/ok", ""))));
    trial.demand(&["-Jjmeter.save.saveservice.output_format=xml"]);
    let xml = fs::read_to_string(trial.path("out.jtl")).unwrap();
    let labels: Vec<String> = xml
        .lines()
        .filter_map(|line| {
            let label = line.split_once(" lb=\"")?.1.split('"').next()?;
            Some(format!("{}{label}", &line[..line.len() - line.trim_start().len()]))
        })
        .collect();
    assert_eq!(labels, ["all", "  go", "    go-0", "    go-1", "  b"], "{xml}");
}

/// A Cookie Manager with a cookie as JMeter saves it: the name is that of its element.
fn cookie(name: &str, domain: &str, has_domain: bool) -> String {
    let props = text("Cookie.value", "v")
        + &text("Cookie.domain", domain)
        + &text("Cookie.path", "/")
        + &flag("Cookie.secure", false)
        + &flag("Cookie.path_specified", true)
        + &flag("Cookie.domain_specified", has_domain);
    format!(
        "<elementProp name=\"{name}\" elementType=\"Cookie\" testname=\"{name}\">\n{props}</elementProp>\n"
    )
}

#[test]
fn cookies_of_a_manager_have_names_and_may_be_for_subdomains() {
    let cookies = cookie("all", ".shop.test", true) + &cookie("own", "shop.test", false);
    let list = format!("<collectionProp name=\"CookieManager.cookies\">\n{cookies}</collectionProp>\n");
    let manager = element("CookieManager", "HTTP Cookie Manager", &list, "");
    let hosts = host_table(&[("shop.test", "127.0.0.1"), ("www.shop.test", "127.0.0.1")], "");
    let at = |domain: &str| request(domain, "GET", "/ok", "", &text("HTTPSampler.domain", domain), "");
    let trial = Trial::once(&(manager + &hosts + &at("shop.test") + &at("www.shop.test")));
    trial.demand(&[]);
    let seen = trial.server.seen();
    let sent: Vec<_> = seen.iter().map(|seen| seen.header("cookie").unwrap_or("-")).collect();
    assert_eq!(sent, ["all=v; own=v", "all=v"]);
}

#[test]
fn a_manager_may_have_connections_closed() {
    let trial = Trial::once(&(get("a", "/ok", &headers("Connection: close")) + &get("b", "/ok", "")));
    trial.demand(&[]);
    let seen = trial.server.seen();
    let lines = seen[0].headers.iter().filter(|(name, _)| name == "connection");
    assert_eq!(lines.map(|(_, value)| value.as_str()).collect::<Vec<_>>(), ["keep-alive", "close"]);
    assert_ne!(seen[0].connection, seen[1].connection);
    assert_eq!(trial.rows(&["success"]), ["true", "true"], "nothing is asked on a connection that closes");
}

#[test]
fn cookies_of_a_manager_stand_in_the_place_of_a_headers() {
    let cookies = cookie("own", "127.0.0.1", false);
    let list = format!("<collectionProp name=\"CookieManager.cookies\">\n{cookies}</collectionProp>\n");
    let manager = element("CookieManager", "HTTP Cookie Manager", &list, "");
    let header = headers("Cookie: mine=1");
    let below = element("GenericController", "managed", "", &(manager + &get("a", "/ok", &header)))
        + &get("b", "/ok", &header);
    let trial = Trial::once(&below);
    trial.demand(&[]);
    let seen = trial.server.seen();
    assert_eq!(
        seen.iter().map(|seen| seen.header("cookie")).collect::<Vec<_>>(),
        [Some("own=v"), Some("mine=1")]
    );
}

#[test]
fn a_host_table_says_where_names_are() {
    let shop = request("shop", "GET", "/ok", "", &text("HTTPSampler.domain", "Shop.test"), "");
    let below = host_table(&[("shop.test", "127.0.0.1,127.0.0.2"), ("pay.test", "127.0.0.1")], "")
        + &shop
        + &shop.replace("Shop.test", "other.invalid");
    let trial = Trial::once(&below);
    trial.demand(&[]);
    expect![[r#"
        200 | http://Shop.test:PORT/ok
        Non HTTP response code: java.net.UnknownHostException | http://other.invalid:PORT/ok
    "#]]
    .assert_eq(&shown(&trial, &["responseCode", "URL"]));
    assert_eq!(trial.server.seen()[0].header("host").unwrap(), format!("Shop.test:{}", trial.server.port()));
}

/// The files had other columns than their listeners say, stood in a folder `~`, or lacked what the second of two listeners writes.
#[test]
fn listeners_say_where_their_files_are_and_what_is_in_them() {
    let listener = |file: &str, props: &str| {
        element("ResultCollector", "Listener", &(text("filename", file) + props), "")
    };
    let xml = "<objProp>\n<name>saveConfig</name>\n<value class=\"SampleSaveConfiguration\">\n\
               <time>true</time>\n<xml>true</xml>\n</value>\n</objProp>\n";
    let (errors, successes) =
        (flag("ResultCollector.error_logging", true), flag("ResultCollector.success_only_logging", true));
    let trial = Trial::new();
    let below = trial.defaults()
        + &get("good", "/ok", "")
        + &get("bad", "/missing", "")
        + &listener("all.xml", xml)
        + &listener("~/kept/beside.jtl", &xml.replace("<xml>true", "<xml>false"))
        + &listener("errors.jtl", &errors)
        + &listener("both.jtl", &errors)
        + &listener("./both.jtl", &successes);
    fs::create_dir(trial.path("plans")).unwrap();
    trial.write("plans/plan.jmx", &plan(&group("Group", "1", "1", &below)));
    let ended = trial.prony(&["run", "plans/plan.jmx", "--quiet"]);
    assert_ne!(ended.code, Some(2), "{}", ended.error);
    let read = |file: &str| fs::read_to_string(trial.path(file)).unwrap_or_default();
    let all = read("all.xml");
    assert_eq!((all.matches("<httpSample ").count(), all.contains("<testResults")), (2, true), "{all}");
    let files = ["plans/kept/beside.jtl", "errors.jtl", "both.jtl"];
    assert_eq!(files.map(|file| read(file).lines().count()), [3, 2, 3]);
}
