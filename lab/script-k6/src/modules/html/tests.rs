//! Pages in, nodes and texts out.

use super::*;

const PAGE: &str = r#"<!DOCTYPE html><html><head><title>Shop &amp; more</title></head><body>
<ul id="list"><li class="item first" data-user-id="7" data-json='{"a":[1]}' data-flag="true" data-price="1.50">One</li>
<li class="item">Two<br>lines "q" 'a'</li><!-- note --><li class="item last">Three</li></ul>
<form id="f" action="/go"><input name="a" value="1 &2"><input type="checkbox" name="c" checked="checked">
<input type="checkbox" name="d"><input type="submit" name="s" value="x"><textarea name="t">x < y</textarea>
<select name="one"><option>p</option><option selected value="q">Q</option></select>
<select name="many" multiple><option selected>m1</option><option selected value="m2">M</option></select>
<input name="off" disabled="disabled"></form></body></html>"#;

fn find(document: &Document, css: &str) -> Vec<Number> {
    document.find(&[Document::ROOT], &Query::parse(css))
}

/// The nodes as their names with classes.
fn show(document: &Document, nodes: &[Number]) -> String {
    let shown = nodes.iter().map(|number| {
        let class = document.attribute(*number, "class").map(|class| format!(".{}", class.replace(' ', ".")));
        format!("{}{}", document.node_name(*number), class.unwrap_or_default())
    });
    shown.collect::<Vec<_>>().join(" ")
}

#[test]
fn selectors_find_what_they_name() {
    let document = Document::parse(PAGE);
    let cases = [
        ("li", "li.item.first li.item li.item.last"),
        ("#list > li:nth-child(2), title", "title li.item"),
        ("li:not(.first)", "li.item li.item.last"),
        ("li:contains('Two')", "li.item"),
        ("li:contains(tWO), li:contains(\"three\")", "li.item li.item.last"),
        ("li:contains('One').first[data-flag]", "li.item.first"),
        (":contains('one').item", "li.item.first"),
        ("li:contains('t'):contains('o')", "li.item"),
        ("ul:contains('Two') > li:contains('Three')", "li.item.last"),
        ("li:contains('One') + li", "li.item"),
        ("li:contains('One') ~ li", "li.item li.item.last"),
        ("body li:contains('One')", "li.item.first"),
        ("ul:contains('One'):containsOwn('One')", ""),
        ("li:containsOwn('One')", "li.item.first"),
        ("li:not(:contains('One'))", "li.item li.item.last"),
        ("ul:has(:contains('Two')) li:not(.first):not(.last)", "li.item"),
        ("li:contains(')')", ""),
        ("li:contains('')", "li.item.first li.item li.item.last"),
        ("li:contains()", ""),
        ("li:contains('One' li", ""),
        ("> li:contains('One')", ""),
        ("li:contains('One') >", ""),
        ("", ""),
        ("li, ", ""),
        (", li", ""),
        ("form :checked", "input option option option"),
        ("form :input:not([name])", ""),
        ("input[name!=a][type=submit]", "input"),
        ("li[data-user-id='7']", "li.item.first"),
        ("body", "body"),
        ("li[", ""),
        ("li:nonsense", ""),
    ];
    for (css, expected) in cases {
        assert_eq!(show(&document, &find(&document, css)), expected, "{css}");
    }
}

#[test]
fn what_a_fieldset_disables_is_disabled() {
    let page = "<fieldset disabled id=f><input class=a><p><button class=b></button></p></fieldset>
        <input class=c disabled><fieldset><input class=d></fieldset>";
    let document = Document::parse(page);
    assert_eq!(show(&document, &find(&document, ":disabled")), "fieldset input.a button.b input.c");
    assert_eq!(show(&document, &find(&document, ":enabled")), "input.d");
    assert_eq!(show(&document, &find(&document, "input:disabled")), "input.a input.c");
}

#[test]
fn steps_lead_to_neighbours() {
    let document = Document::parse(PAGE);
    let items = find(&document, "li");
    let last = &items[2..];
    let cases = [
        (Step::Parent, "ul"),
        (Step::Parents, "ul body html"),
        (Step::Previous, "li.item"),
        (Step::PreviousAll, "li.item li.item.first"),
        (Step::Next, ""),
        (Step::Siblings, "li.item.first li.item"),
        (Step::Contents, "#text"),
        (Step::Children, ""),
    ];
    for (step, expected) in cases {
        assert_eq!(show(&document, &document.step(last, step)), expected, "{step:?}");
    }
    assert_eq!(show(&document, &document.step(&items, Step::Parent)), "ul", "each once");
    let until = document.step_until(last, Step::Parents, &Until::Query(&Query::parse("html")));
    assert_eq!(show(&document, &until), "ul body");
    let until = document.step_until(last, Step::PreviousAll, &Until::Nodes(&items[..1]));
    assert_eq!(show(&document, &until), "li.item");
    assert_eq!(document.index(items[2]), 2);
    assert_eq!(show(&document, &document.closest(&items, &Query::parse("body"))), "body");
    let both = find(&document, "ul, form");
    assert_eq!(show(&document, &document.has(&both, &Query::parse("li"))), "ul");
    assert_eq!(document.find_nodes(&find(&document, "ul"), &find(&document, "li, input")), items);
    assert!(document.contains(both[0], items[0]) && !document.contains(items[0], both[0]));
}

#[test]
fn html_is_written_as_go_writes_it() {
    let document = Document::parse(PAGE);
    let items = find(&document, "li");
    assert_eq!(document.inner_html(items[1]), "Two<br/>lines &#34;q&#34; &#39;a&#39;");
    assert_eq!(document.text(&items), "OneTwolines \"q\" 'a'Three");
    assert_eq!(document.inner_html(find(&document, "title")[0]), "Shop &amp; more");
    let script = Document::parse("<script>if (a < b) {}</script><img src=x><p hidden>é");
    let whole = script.inner_html(Document::ROOT);
    assert_eq!(
        whole,
        "<html><head><script>if (a < b) {}</script></head><body><img src=\"x\"/><p hidden=\"\">é</p></body></html>"
    );
    let lined = Document::parse("<pre>\n\nx</pre><textarea>\n\ny</textarea><p>\n</p>");
    assert_eq!(
        lined.inner_html(find(&lined, "body")[0]),
        "<pre>\n\nx</pre><textarea>\n\ny</textarea><p>\n</p>"
    );
}

#[test]
fn fields_have_values_and_forms_are_sent_as_their_fields() {
    let document = Document::parse(PAGE);
    let form = find(&document, "form");
    assert_eq!(
        document.serialize(&form),
        "a=1+%262&c=on&many=m1&many=m2&one=q&t=x+%26lt%3B+y",
        "k6 sends the text of a textarea as HTML"
    );
    let names: Vec<_> = document.fields(&form).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "c", "t", "one", "many"]);
    assert_eq!(document.value(&find(&document, "li")), None);
    assert_eq!(document.value(&find(&document, "option")), Some(FieldValue::One("p".to_owned())));
    assert_eq!(document.serialize(&find(&document, "input")), "a=1+%262&c=on");
}

#[test]
fn data_attributes_are_values() {
    let document = Document::parse(PAGE);
    let first = find(&document, "li")[0];
    assert_eq!(
        document.all_data(first),
        [
            ("userID".to_owned(), DataValue::Number(7.0)),
            ("json".to_owned(), DataValue::Json("{\"a\":[1]}".to_owned())),
            ("flag".to_owned(), DataValue::Boolean(true)),
            ("price".to_owned(), DataValue::Text("1.50".to_owned())),
        ]
    );
    for name in ["userID", "userId", "user-id"] {
        assert_eq!(document.data(first, name), DataValue::Number(7.0), "{name}");
    }
    assert_eq!(document.data(first, "none"), DataValue::Undefined);
}

#[test]
fn nodes_say_what_they_are() {
    let document = Document::parse("<!doctype html><p>a<!--b--></p><svg><path/></svg>");
    let all: Vec<_> =
        (0..100).map(Number).take_while(|number| document.node_type(*number).is_some()).collect();
    let shown: Vec<_> = all.iter().map(|number| document.node_name(*number)).collect();
    assert_eq!(shown, ["#document", "html", "html", "head", "body", "p", "#text", "#comment", "svg", "path"]);
    assert_eq!(document.namespace(all[9]), "svg");
    assert_eq!(document.node_type(all[1]), Some(NodeType::Doctype));
}

/// The stacks of users are no larger than that of the thread here.
#[test]
fn a_page_may_be_nested_as_deep_as_it_likes() {
    const DEPTH: usize = 10_000;
    let write = || {
        let page = Document::parse(&"<div>".repeat(DEPTH));
        page.inner_html(find(&page, "body")[0])
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(write);
    let html = thread.expect("a thread").join().expect("it does not overflow");
    assert_eq!(html, "<div>".repeat(DEPTH) + &"</div>".repeat(DEPTH));
}
