//! The schema of an upstream from its own answer about it (GraphQL specification, section 4), as text in the schema
//! definition language.

use std::fmt::Write as _;

use prony_graphql::json;
use serde::Deserialize;

/// Of the GraphQL specification. A server refuses what it does not know.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Edition {
    June2018,
    /// Arguments and input fields may be deprecated, directives repeatable, and scalars specified elsewhere.
    October2021,
}

/// How deeply types within types are asked for, as GraphiQL does it: the coordinates of a `MultiPolygon` (RFC 7946) are four lists, and
/// nothing of them is null.
const WRAPPERS_ASKED: usize = 9;

/// What a server is asked of its schema.
pub(crate) fn introspection_query(edition: Edition) -> String {
    let (all, of_input, of_scalar, of_directive) = match edition {
        Edition::June2018 => ("", "", "", ""),
        Edition::October2021 => (
            "(includeDeprecated: true)",
            " isDeprecated deprecationReason",
            " specifiedByURL",
            " isRepeatable",
        ),
    };
    let of_type = (0..WRAPPERS_ASKED)
        .fold("kind name".to_owned(), |inner, _| format!("kind name ofType {{ {inner} }}"));
    format!(
        "query IntrospectionQuery {{ __schema {{ queryType {{ name }} mutationType {{ name }} subscriptionType {{ name }} \
         types {{ ...FullType }} directives {{ name description{of_directive} locations args {{ ...InputValue }} }} }} }} \
         fragment FullType on __Type {{ kind name description{of_scalar} fields(includeDeprecated: true) {{ name description \
         args{all} {{ ...InputValue }} type {{ ...TypeRef }} isDeprecated deprecationReason }} \
         inputFields{all} {{ ...InputValue }} interfaces {{ ...TypeRef }} \
         enumValues(includeDeprecated: true) {{ name description isDeprecated deprecationReason }} possibleTypes {{ ...TypeRef }} }} \
         fragment InputValue on __InputValue {{ name description type {{ ...TypeRef }} defaultValue{of_input} }} \
         fragment TypeRef on __Type {{ {of_type} }}"
    )
}

/// Of types within types.
const WRAPPERS_MAX: usize = 16;

#[derive(Deserialize)]
struct IntrospectionResponse {
    data: Option<IntrospectionData>,
    #[serde(default)]
    errors: Vec<ResponseError>,
}

#[derive(Deserialize)]
struct ResponseError {
    message: String,
}

#[derive(Deserialize)]
struct IntrospectionData {
    #[serde(rename = "__schema")]
    schema: IntrospectedSchema,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct IntrospectedSchema {
    query_type: Named,
    mutation_type: Option<Named>,
    subscription_type: Option<Named>,
    types: Vec<FullType>,
    #[serde(default)]
    directives: Vec<DirectiveType>,
}

#[derive(Deserialize)]
struct Named {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FullType {
    kind: String,
    name: String,
    description: Option<String>,
    #[serde(rename = "specifiedByURL")]
    specified_by_url: Option<String>,
    fields: Option<Vec<FieldType>>,
    input_fields: Option<Vec<InputValue>>,
    interfaces: Option<Vec<TypeRef>>,
    enum_values: Option<Vec<EnumValue>>,
    possible_types: Option<Vec<TypeRef>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FieldType {
    name: String,
    description: Option<String>,
    #[serde(default)]
    args: Vec<InputValue>,
    #[serde(rename = "type")]
    ty: TypeRef,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct InputValue {
    name: String,
    description: Option<String>,
    #[serde(rename = "type")]
    ty: TypeRef,
    default_value: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EnumValue {
    name: String,
    description: Option<String>,
    #[serde(default)]
    is_deprecated: bool,
    deprecation_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DirectiveType {
    name: String,
    description: Option<String>,
    #[serde(default)]
    is_repeatable: bool,
    #[serde(default)]
    locations: Vec<String>,
    #[serde(default)]
    args: Vec<InputValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeRef {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<TypeRef>>,
}

/// The schema of a response to an [`introspection_query`].
///
/// # Errors
/// What is wrong with the response, for people.
pub(crate) fn sdl_of(response: &[u8]) -> Result<String, String> {
    let response: IntrospectionResponse = serde_json::from_slice(response)
        .map_err(|error| format!("it does not say what its schema is: {error}"))?;
    let Some(IntrospectionData { schema }) = response.data else {
        let errors: Vec<String> = response.errors.into_iter().map(|error| error.message).collect();
        let errors = if errors.is_empty() { "it has no data".to_owned() } else { errors.join("; ") };
        return Err(format!("it does not say what its schema is ({errors}); give it as a `schema_file`"));
    };
    let mut out = String::new();
    write_roots(&mut out, &schema);
    for directive in &schema.directives {
        write_directive(&mut out, directive)?;
    }
    for ty in schema.types.iter().filter(|ty| !is_built_in(&ty.name)) {
        write_type(&mut out, ty)?;
    }
    Ok(out)
}

fn is_built_in(name: &str) -> bool {
    name.starts_with("__") || matches!(name, "Int" | "Float" | "String" | "Boolean" | "ID")
}

fn write_roots(out: &mut String, schema: &IntrospectedSchema) {
    out.push_str("schema {");
    let roots = [
        ("query", Some(&schema.query_type)),
        ("mutation", schema.mutation_type.as_ref()),
        ("subscription", schema.subscription_type.as_ref()),
    ];
    for (kind, root) in roots {
        if let Some(root) = root {
            let _ = write!(out, " {kind}: {}", root.name);
        }
    }
    out.push_str(" }\n");
}

fn write_directive(out: &mut String, directive: &DirectiveType) -> Result<(), String> {
    if matches!(directive.name.as_str(), "skip" | "include" | "deprecated" | "specifiedBy" | "oneOf")
        || directive.locations.is_empty()
    {
        return Ok(());
    }
    write_description(out, directive.description.as_deref());
    let _ = write!(out, "directive @{}", directive.name);
    write_arguments(out, &directive.args)?;
    let repeatable = if directive.is_repeatable { " repeatable" } else { "" };
    let _ = writeln!(out, "{repeatable} on {}", directive.locations.join(" | "));
    Ok(())
}

fn write_type(out: &mut String, ty: &FullType) -> Result<(), String> {
    write_description(out, ty.description.as_deref());
    let name = &ty.name;
    let names = |types: &Option<Vec<TypeRef>>, separator: &str| -> String {
        let names = types.iter().flatten().filter_map(|ty| ty.name.as_deref());
        names.collect::<Vec<_>>().join(separator)
    };
    match ty.kind.as_str() {
        "SCALAR" => {
            let _ = write!(out, "scalar {name}");
            if let Some(url) = &ty.specified_by_url {
                out.push_str(" @specifiedBy(url: ");
                write_string(out, url);
                out.push(')');
            }
            out.push('\n');
            return Ok(());
        }
        "UNION" => {
            let _ = writeln!(out, "union {name} = {}", names(&ty.possible_types, " | "));
            return Ok(());
        }
        "OBJECT" | "INTERFACE" => {
            let keyword = if ty.kind == "OBJECT" { "type" } else { "interface" };
            let _ = write!(out, "{keyword} {name}");
            let interfaces = names(&ty.interfaces, " & ");
            if !interfaces.is_empty() {
                let _ = write!(out, " implements {interfaces}");
            }
            out.push_str(" {\n");
            for field in ty.fields.iter().flatten() {
                write_field(out, field)?;
            }
        }
        "INPUT_OBJECT" => {
            let _ = writeln!(out, "input {name} {{");
            for value in ty.input_fields.iter().flatten() {
                write_input(out, value)?;
                out.push('\n');
            }
        }
        "ENUM" => {
            let _ = writeln!(out, "enum {name} {{");
            for value in ty.enum_values.iter().flatten() {
                write_description(out, value.description.as_deref());
                out.push_str(&value.name);
                write_deprecated(out, value.is_deprecated, value.deprecation_reason.as_deref());
                out.push('\n');
            }
        }
        other => return Err(format!("its type {name} is of the unknown kind {other}")),
    }
    out.push_str("}\n");
    Ok(())
}

fn write_field(out: &mut String, field: &FieldType) -> Result<(), String> {
    write_description(out, field.description.as_deref());
    out.push_str(&field.name);
    write_arguments(out, &field.args)?;
    out.push_str(": ");
    write_ref(out, &field.ty, 0)?;
    write_deprecated(out, field.is_deprecated, field.deprecation_reason.as_deref());
    out.push('\n');
    Ok(())
}

fn write_arguments(out: &mut String, arguments: &[InputValue]) -> Result<(), String> {
    if arguments.is_empty() {
        return Ok(());
    }
    out.push('(');
    for argument in arguments {
        write_input(out, argument)?;
        out.push(' ');
    }
    out.push(')');
    Ok(())
}

fn write_input(out: &mut String, value: &InputValue) -> Result<(), String> {
    write_description(out, value.description.as_deref());
    let _ = write!(out, "{}: ", value.name);
    write_ref(out, &value.ty, 0)?;
    if let Some(default) = &value.default_value {
        let _ = write!(out, " = {default}");
    }
    write_deprecated(out, value.is_deprecated, value.deprecation_reason.as_deref());
    Ok(())
}

fn write_ref(out: &mut String, ty: &TypeRef, depth: usize) -> Result<(), String> {
    let inner = || ty.of_type.as_deref().ok_or_else(|| "a type within a type is missing".to_owned());
    if depth > WRAPPERS_MAX {
        return Err(format!("a type is wrapped more than {WRAPPERS_MAX} times"));
    }
    match ty.kind.as_str() {
        "NON_NULL" => {
            write_ref(out, inner()?, depth + 1)?;
            out.push('!');
        }
        "LIST" => {
            out.push('[');
            write_ref(out, inner()?, depth + 1)?;
            out.push(']');
        }
        _ => out.push_str(ty.name.as_deref().ok_or("a type has no name")?),
    }
    Ok(())
}

fn write_description(out: &mut String, description: Option<&str>) {
    if let Some(text) = description.filter(|text| !text.is_empty()) {
        write_string(out, text);
        out.push('\n');
    }
}

fn write_deprecated(out: &mut String, is_deprecated: bool, reason: Option<&str>) {
    if !is_deprecated {
        return;
    }
    out.push_str(" @deprecated");
    if let Some(reason) = reason {
        out.push_str("(reason: ");
        write_string(out, reason);
        out.push(')');
    }
}

/// A string of JSON is one of GraphQL.
fn write_string(out: &mut String, text: &str) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    json::write_string(&mut bytes, text);
    out.push_str(&String::from_utf8_lossy(&bytes));
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_schema_is_read_from_what_a_server_says_of_itself() {
        let response = br#"{"data":{"__schema":{"queryType":{"name":"Root"},"mutationType":null,"subscriptionType":null,
            "types":[{"kind":"OBJECT","name":"Root","description":"All \"of\" it","fields":[
                {"name":"one","args":[{"name":"id","type":{"kind":"NON_NULL","ofType":{"kind":"SCALAR","name":"ID"}},"defaultValue":null},
                    {"name":"how","type":{"kind":"ENUM","name":"How"},"defaultValue":"FAST"}],
                 "type":{"kind":"LIST","ofType":{"kind":"NON_NULL","ofType":{"kind":"UNION","name":"Any"}}},
                 "isDeprecated":true,"deprecationReason":"old"}],"interfaces":[]},
                {"kind":"UNION","name":"Any","possibleTypes":[{"kind":"OBJECT","name":"Root"}]},
                {"kind":"ENUM","name":"How","enumValues":[{"name":"FAST"}]},
                {"kind":"SCALAR","name":"Int"},{"kind":"OBJECT","name":"__Type","fields":[]}],
            "directives":[{"name":"skip","locations":["FIELD"]},{"name":"live","locations":["QUERY","FIELD"],"args":[]}]}}}"#;
        expect![[r#"
            schema { query: Root }
            directive @live on QUERY | FIELD
            "All \"of\" it"
            type Root {
            one(id: ID! how: How = FAST ): [Any!] @deprecated(reason: "old")
            }
            union Any = Root
            enum How {
            FAST
            }
        "#]]
        .assert_eq(&sdl_of(response).expect("it is a schema"));
    }

    /// They were left out, and a client that used them was refused.
    #[test]
    fn what_newer_editions_know_is_served() {
        let response = br#"{"data":{"__schema":{"queryType":{"name":"Query"},"types":[
            {"kind":"OBJECT","name":"Query","fields":[{"name":"one","args":[
                {"name":"by","type":{"kind":"INPUT_OBJECT","name":"By"},"isDeprecated":true,"deprecationReason":"old"}],
                "type":{"kind":"SCALAR","name":"Date"}}]},
            {"kind":"INPUT_OBJECT","name":"By","inputFields":[
                {"name":"id","type":{"kind":"SCALAR","name":"ID"},"defaultValue":"1","isDeprecated":true}]},
            {"kind":"SCALAR","name":"Date","specifiedByURL":"https://a/\"b"}],
            "directives":[{"name":"live","isRepeatable":true,"locations":["FIELD"],"args":[]}]}}}"#;
        expect![[r#"
            schema { query: Query }
            directive @live repeatable on FIELD
            type Query {
            one(by: By @deprecated(reason: "old") ): Date
            }
            input By {
            id: ID = 1 @deprecated
            }
            scalar Date @specifiedBy(url: "https://a/\"b")
        "#]]
        .assert_eq(&sdl_of(response).expect("it is a schema"));
    }

    #[test]
    fn older_servers_are_asked_for_what_they_know() {
        let (older, newer) =
            (introspection_query(Edition::June2018), introspection_query(Edition::October2021));
        for text in ["args(includeDeprecated: true)", "specifiedByURL", "isRepeatable"] {
            assert!(newer.contains(text) && !older.contains(text), "{text}");
        }
        assert_eq!(newer.matches("ofType").count(), WRAPPERS_ASKED);
        assert_eq!(newer.matches('{').count(), newer.matches('}').count());
    }

    #[test]
    fn other_responses_are_no_schema() {
        let failed = |text: &str| sdl_of(text.as_bytes()).expect_err("it is no schema");
        assert_eq!(
            failed(r#"{"errors":[{"message":"not here"}]}"#),
            "it does not say what its schema is (not here); give it as a `schema_file`"
        );
        assert!(failed("<html>").starts_with("it does not say what its schema is: expected value"));
    }
}
