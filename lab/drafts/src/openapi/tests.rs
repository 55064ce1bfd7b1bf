//! What descriptions become; `prony/tests/drafts.rs` runs such plans.

use std::{fmt::Write as _, fs};

use expect_test::expect;

use super::*;

fn made(description: &str, options: &OpenApiOptions) -> Result<String, String> {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("api.yaml");
    fs::write(&file, description).unwrap();
    let plan = match from_openapi(&file, options) {
        Ok(draft) => draft.write("prony from-openapi api.yaml").plan,
        Err(error) => return Err(error.to_string().replace(&file.display().to_string(), "api.yaml")),
    };
    Ok(plan)
}

const SHOP: &str = r##"
openapi: 3.1.0
info: { title: "The Shop", version: "1" }
servers:
  - url: https://{region}.shop.example/v1/
    variables: { region: { default: eu } }
security: [{ token: [] }]
paths:
  /items:
    get:
      operationId: listItems
      summary: All items
      parameters:
        - { name: limit, in: query, schema: { type: integer }, example: 20 }
        - { name: q, in: query, schema: { type: string } }
        - { name: kind, in: query, required: true, schema: { type: string, enum: [a b, c] } }
      responses: { "200": {} }
    post:
      operationId: addItem
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Item" } } }
      responses: { "201": {}, "400": {} }
  /items/{itemId}:
    parameters: [{ $ref: "#/components/parameters/item" }]
    get: { responses: { "200": {}, default: {} } }
    delete: { operationId: remove, security: [], responses: { "204": {} } }
  /old: { get: { deprecated: true } }
  /blob:
    put: { requestBody: { required: true, content: { image/png: {} } } }
components:
  parameters:
    item: { name: itemId, in: path, required: true, schema: { type: integer, minimum: 7 } }
  securitySchemes:
    token: { type: http, scheme: bearer }
  schemas:
    Item:
      allOf:
        - type: object
          required: [name, price, parent, id]
          properties:
            id: { type: string, readOnly: true }
            name: { type: string, minLength: 6 }
            price: { type: number, minimum: 0.5 }
            tags: { type: array, items: { type: string, format: date }, example: [new] }
            parent: { $ref: "#/components/schemas/Item" }
        - type: object
          required: [since]
          properties: { since: { type: [string, "null"], format: date } }
"##;

#[test]
fn safe_operations_are_chosen() {
    expect![[r##"
        # Drafted by `prony from-openapi api.yaml`. docs/plans.md says what a plan may hold.
        # Left out: 1 deprecated.
        # Left out, because they change something (--writes has them): POST /items, DELETE /items/{itemId}, PUT /blob.
        name = "The Shop"
        target = "https://eu.shop.example"
        # The load: change it to what you want to know. `prony run --explain` says what it would do.
        users = 5
        duration = "30s"

        [variables]
        # Credentials for `token`; a CSV file has one for each user: { csv = "FILE", take = "once" }.
        token = { list = ["put it here"] }
        # Values of `itemId` that the target knows.
        item_id = { list = [7] }

        # All items
        [[requests]]
        name = "listItems"
        path = "/v1/items?limit=20&kind=a%20b"
        headers = { Authorization = "Bearer ${token}" }
        expect_status = [200]

        [[requests]]
        name = "GET /items/{itemId}"
        path = "/v1/items/${item_id}"
        headers = { Authorization = "Bearer ${token}" }
    "##]].assert_eq(&made(SHOP, &OpenApiOptions::default()).unwrap());
}

#[test]
fn writing_operations_are_taken_on_demand() {
    let options = OpenApiOptions { target: Some("localhost:8080/test".to_owned()), writes: true };
    let plan = made(SHOP, &options).unwrap();
    let post = plan.split("\n\n").find(|part| part.contains("\"addItem\"")).unwrap();
    expect![[r#"
        [[requests]]
        name = "addItem"
        path = "/test/items"
        headers = { Authorization = "Bearer ${token}" }
        json = { name = "textxx", price = 0.5, tags = ["new"], since = "2026-01-31" }
        expect_status = [201]"#]]
    .assert_eq(post);
    assert!(plan.contains("# Left out: PUT /blob (its body is image/png)."), "{plan}");
    assert!(
        plan.contains("target = \"http://localhost:8080\"\n")
            && plan.contains("path = \"/test/items/${item_id}\""),
        "{plan}"
    );
    let delete = plan.split("\n\n").find(|part| part.contains("\"remove\"")).unwrap();
    assert!(!delete.contains("Authorization"), "{delete}");
}

/// Their requests would go to a host that does not have them.
#[test]
fn operations_with_servers_of_their_own_are_left_out_without_a_target() {
    let description = "openapi: 3.0.0\nservers: [{ url: 'http://h' }]\npaths:\n  /a: { get: {} }\n  \
        /b: { servers: [{ url: 'http://files' }], get: {} }\n  /c: { get: { servers: [{ url: 'http://c' }] } }\n";
    let plan = made(description, &OpenApiOptions::default()).unwrap();
    let own = "(it has servers of its own; --target replaces them)";
    assert!(plan.contains(&format!("# Left out: GET /b {own}, GET /c {own}.\n")), "{plan}");
    assert_eq!(plan.matches("[[requests]]").count(), 1, "{plan}");
    let options = OpenApiOptions { target: Some("http://test".to_owned()), writes: false };
    assert_eq!(made(description, &options).unwrap().matches("[[requests]]").count(), 3);
}

#[test]
fn lists_in_a_query_are_written_by_their_style() {
    let of = |style: &str| {
        let description = format!(
            "openapi: 3.0.0\nservers: [{{ url: 'http://h' }}]\npaths: {{ /a: {{ get: {{ parameters: [{{ name: t, in: query, \
             example: [a b, 2], schema: {{ type: array }}{style} }}] }} }} }}"
        );
        made(&description, &OpenApiOptions::default()).unwrap()
    };
    for (style, query) in [
        ("", "t=a%20b&t=2"),
        (", explode: false", "t=a%20b,2"),
        (", style: pipeDelimited", "t=a%20b%7C2"),
        (", style: spaceDelimited, explode: true", "t=a%20b&t=2"),
    ] {
        let plan = of(style);
        assert!(plan.contains(&format!("path = \"/a?{query}\"\n")), "{style}: {plan}");
    }
}

/// What a request of one operation has, of a description of its own.
fn request_of(operation: &str) -> String {
    let text =
        format!("openapi: 3.1.0\nservers: [{{ url: 'http://h' }}]\npaths: {{ /a: {operation} }}\n{SCHEMAS}");
    let options = OpenApiOptions { target: None, writes: true };
    let plan = made(&text, &options).unwrap();
    plan.split_once("[[requests]]\n").unwrap().1.to_owned()
}

const SCHEMAS: &str = r##"
components:
  schemas:
    Base: { type: object, properties: { name: { type: string }, age: { type: integer } } }
    Cat: { type: object, required: [kind, lives], properties: { kind: { type: string }, lives: { type: integer, multipleOf: 9 } } }
    Dog: { type: object, required: [kind], properties: { kind: { type: string } } }
"##;

#[test]
fn bodies_have_what_the_parts_of_their_schema_require() {
    for (schema, expected) in [
        ("{ allOf: [{ $ref: '#/components/schemas/Base' }], required: [name] }", "{ name = \"text\" }"),
        (
            "{ allOf: [{ $ref: '#/components/schemas/Base' }, { required: [age, name] }] }",
            "{ age = 1, name = \"text\" }",
        ),
        (
            "{ type: object, required: [k], properties: { k: { type: string } }, oneOf: [{ required: [a], properties: { a: { type: integer } } }] }",
            "{ a = 1, k = \"text\" }",
        ),
        (
            "{ type: object, properties: { k: { type: string }, l: { minimum: 5 } }, anyOf: [{ required: [l] }, { required: [k] }] }",
            "{ l = 5.0 }",
        ),
        (
            "{ oneOf: [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }], discriminator: { propertyName: kind, mapping: { cat: '#/components/schemas/Cat' } } }",
            "{ kind = \"cat\", lives = 9 }",
        ),
        (
            "{ oneOf: [{ $ref: '#/components/schemas/Dog' }], discriminator: { propertyName: kind } }",
            "{ kind = \"Dog\" }",
        ),
        ("{ type: array, minItems: 2, items: { type: boolean } }", "[true, true]"),
        ("{ type: array, maxItems: 0, items: { type: boolean } }", "[]"),
        (
            "{ type: object, required: [x, y], properties: { x: { enum: [on, off] }, y: { default: no } } }",
            "{ x = \"on\", y = \"no\" }",
        ),
    ] {
        let request = request_of(&format!(
            "{{ post: {{ requestBody: {{ content: {{ 'application/json': {{ schema: {schema} }} }} }} }} }}"
        ));
        assert!(request.contains(&format!("json = {expected}\n")), "{schema}: {request}");
    }
}

/// Lists in lists are not multiplied without end.
#[test]
fn long_lists_are_cut() {
    let mut schema = "{ type: string }".to_owned();
    for _ in 0..7 {
        schema = format!("{{ type: array, minItems: 1000000000, items: {schema} }}");
    }
    let request = request_of(&format!(
        "{{ post: {{ requestBody: {{ content: {{ 'application/json': {{ schema: {schema} }} }} }} }} }}"
    ));
    assert!(request.contains("\"text\", \"text\"") && request.len() < 100_000, "{}", request.len());
}

/// Ten members of each of nine levels, and ten parts, would be as many values as a machine has no room for.
#[test]
fn schemas_that_multiply_are_cut() {
    let references = |level: usize| vec![format!("{{ $ref: '#/components/schemas/A{level}' }}"); 10];
    let names: Vec<String> = (0..10).map(|number| format!("p{number}")).collect();
    let object = |level: usize| {
        let members = names.iter().zip(references(level));
        let members: Vec<String> = members.map(|(name, schema)| format!("{name}: {schema}")).collect();
        format!("{{ required: [{}], properties: {{ {} }} }}", names.join(", "), members.join(", "))
    };
    let parts = |level: usize| format!("{{ allOf: [{}] }}", references(level).join(", "));
    let of: [&dyn Fn(usize) -> String; 2] = [&object, &parts];
    for schema in of {
        let mut text = "openapi: 3.1.0\nservers: [{ url: 'http://h' }]\npaths: { /a: { post: { requestBody: { content: { application/json: \
             { schema: { $ref: '#/components/schemas/A0' } } } } } } }\ncomponents:\n  schemas:\n"
            .to_owned();
        for level in 0..9 {
            let _ = writeln!(text, "    A{level}: {}", schema(level + 1));
        }
        text.push_str("    A9: { type: object, required: [x], properties: { x: { type: boolean } } }\n");
        let plan = made(&text, &OpenApiOptions { target: None, writes: true }).unwrap();
        assert!(plan.contains("json = {") && plan.len() < 1_000_000, "{}", plan.len());
    }
}

#[test]
fn media_types_may_have_parameters() {
    let request = request_of(
        "{ post: { requestBody: { required: true, content: { 'application/json; charset=utf-8': { schema: { type: object } } } } } }",
    );
    assert!(
        request.contains("headers = { Content-Type = \"application/json; charset=utf-8\" }\n"),
        "{request}"
    );
    assert!(request.contains("json = {}\n"), "{request}");
}

#[test]
fn parameters_are_written_by_their_style() {
    for (parameter, expected) in [
        (
            "name: f, in: query, style: deepObject, example: { a: 1, b: x y }",
            "path = \"/a?f%5Ba%5D=1&f%5Bb%5D=x%20y\"",
        ),
        ("name: f, in: query, example: { a: 1, b: [2, 3] }", "path = \"/a?a=1&b=2&b=3\""),
        ("name: f, in: query, explode: false, example: { a: 1, b: 2 }", "path = \"/a?f=a,1,b,2\""),
        (
            "name: f, in: query, content: { application/json: { example: { a: [1] } } }",
            "path = \"/a?f=%7B%22a%22%3A%5B1%5D%7D\"",
        ),
        ("name: y, in: query, example: 7", "path = \"/a?y=7\""),
        ("name: X-A, in: header, explode: true, example: { a: 1, b: 2 }", "headers = { X-A = \"a=1,b=2\" }"),
        ("name: content-type, in: header, example: text", "path = \"/a\"\n"),
    ] {
        let request = request_of(&format!("{{ get: {{ parameters: [{{ {parameter} }}] }} }}"));
        assert!(request.contains(expected), "{parameter}: {request}");
        assert!(!request.contains("content-type"), "{request}");
    }
    let form = request_of(
        "{ post: { requestBody: { content: { application/x-www-form-urlencoded: { example: { t: [a b, c], u: 1 }, schema: { type: object } } } } } }",
    );
    assert!(form.contains("body = \"t=a%20b&t=c&u=1\"\n"), "{form}");
}

/// Such a path is none that a request may have, or has its query already.
#[test]
fn paths_hold_what_requests_may_have() {
    let description = "openapi: 3.1\nservers: [{ url: 'http://h' }]\npaths: { '/a b/{x y}/ü?v=1#part': { get: { parameters: \
        [{ name: x y, in: path, required: true, schema: { type: string } }, { name: q, in: query, example: 1 }] } }, \
        '/m{id}/{l}': { get: { parameters: [{ name: id, in: path, style: matrix }, { name: l, in: path, style: label }] } } }";
    let plan = made(description, &OpenApiOptions::default()).unwrap();
    assert!(plan.contains("path = \"/a%20b/${x_y}/%C3%BC?v=1&q=1\"\n"), "{plan}");
    assert!(plan.contains("path = \"/m;id=${id}/.${l}\"\n"), "{plan}");
}

#[test]
fn an_example_that_is_no_number_is_a_text() {
    let description = "openapi: 3.0.0\nservers: [{ url: 'http://h' }]\npaths: { '/items/{id}': { get: { \
        parameters: [{ name: id, in: path, required: true, example: 'an id', schema: { type: integer } }] } } }";
    let plan = made(description, &OpenApiOptions::default()).unwrap();
    assert!(plan.contains("id = { list = [\"an id\"] }\n"), "{plan}");
}

/// A host alone says nothing of where on it the API is; a server that names a host is replaced as a whole.
#[test]
fn a_server_without_a_host_is_on_the_target() {
    for (server, target, path) in [
        ("/v1", "http://h:8080", "/v1/items"),
        ("/v1/", "h:8080/", "/v1/items"),
        ("//other/v1", "http://h", "/items"),
        ("/v1", "http://h/test", "/test/items"),
        ("https://eu.shop.example/v1", "http://h", "/items"),
        ("/", "http://h", "/items"),
    ] {
        let description =
            format!("openapi: 3.0.0\nservers: [{{ url: '{server}' }}]\npaths: {{ /items: {{ get: {{}} }} }}");
        let options = OpenApiOptions { target: Some(target.to_owned()), writes: false };
        let plan = made(&description, &options).unwrap();
        assert!(plan.contains(&format!("path = \"{path}\"\n")), "{server} {target}: {plan}");
    }
}

#[test]
fn what_is_no_description_is_refused() {
    let options = OpenApiOptions::default();
    for (text, expected) in [
        ("a: [", "api.yaml cannot be read: "),
        ("{\"a\":", "api.yaml cannot be read: EOF while parsing"),
        ("swagger: '2.0'", "api.yaml cannot be read: it is Swagger 2.0; convert it to OpenAPI 3 first"),
        ("hello: 1", "api.yaml cannot be read: it has no `openapi: 3.…`"),
        ("openapi: 4.0.0", "api.yaml cannot be read: its `openapi` is `4.0.0`; 3.0, 3.1 and 3.2 are known"),
        (
            "openapi: 3.0.0\nservers: [{url: /v1}]",
            "`/v1` is no address of HTTP: the description does not say on which host",
        ),
        (
            "openapi: 3.0.0\nservers: [{url: 'http://h'}]",
            "api.yaml holds no request for a plan: it has no `paths`",
        ),
    ] {
        let refused = made(text, &options).unwrap_err();
        assert!(refused.starts_with(expected), "{text}: {refused}");
    }
}

/// References in a circle, and a laugh of a billion.
#[test]
fn descriptions_that_do_not_end_do() {
    let circle = "openapi: 3.0.0\nservers: [{url: 'http://h'}]\npaths: { /a: { get: { parameters: [{ $ref: '#/x' }] } }, /b: { get: {} } }\nx: { $ref: '#/y' }\ny: { $ref: '#/x' }";
    let plan = made(circle, &OpenApiOptions::default()).unwrap();
    assert!(plan.contains("GET /a (a parameter is not in the file)"), "{plan}");
    let mut laughs = String::from("openapi: 3.0.0\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = level - 1;
        let _ = writeln!(laughs, "a{level}: &a{level} [{}]", vec![format!("*a{before}"); 10].join(", "));
    }
    let refused = made(&laughs, &OpenApiOptions::default()).unwrap_err();
    assert!(refused.starts_with("api.yaml cannot be read: "), "{refused}");
}
