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
