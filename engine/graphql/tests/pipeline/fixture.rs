//! A schema of the shape that relational sources contribute, and the stages of the pipeline in one call.

use std::sync::LazyLock;

use prony_graphql::{
    Name,
    document::limits::Limits,
    error::GraphqlError,
    request::RequestParameters,
    schema::{
        Contribution, Schema, SourceId,
        build::{self, Pool},
    },
};

/// Names of the scalars and operator inputs that every relational source contributes.
pub(crate) fn shared_types(pool: &mut Pool, contribution: &mut Contribution) {
    for (scalar, url) in [
        ("BigInt", None),
        ("Decimal", None),
        ("UUID", Some("https://tools.ietf.org/html/rfc4122")),
        ("Bytes", None),
        ("JSON", None),
    ] {
        contribution.types.push(build::scalar(&pool.name(scalar), None, url));
    }
    let sorts = [pool.name("asc"), pool.name("desc")];
    contribution.types.push(build::enumeration(&pool.name("SortOperator"), None, sorts));
    let truth = pool.name("Boolean");
    for (input, scalar) in
        [("IntWhere", "Int"), ("StrWhere", "String"), ("BoolWhere", "Boolean"), ("SortWhere", "SortOperator")]
    {
        let scalar = pool.name(scalar);
        let mut fields = Vec::new();
        for operator in ["eq", "ne", "gt", "lt"] {
            let operator = pool.name(operator);
            fields.push(pool.input(&operator, build::named(&scalar)));
        }
        let (within, is_null) = (pool.name("in"), pool.name("is_null"));
        fields.push(pool.input(&within, build::list(&scalar)));
        fields.push(pool.input(&is_null, build::named(&truth)));
        contribution.types.push(build::input_object(&pool.name(input), None, fields));
    }
}

/// `Member` and its companions.
pub(crate) fn table(
    pool: &mut Pool,
    contribution: &mut Contribution,
    row: &str,
    list: &str,
    relations: &[(&str, &str)],
) {
    let [int, string, boolean] = ["Int", "String", "Boolean"].map(|name| pool.name(name));
    let [id, title, active, limit, offset] =
        ["id", "title", "active", "limit", "offset"].map(|name| pool.name(name));
    let [int_where, str_where, bool_where, sort_operator] =
        ["IntWhere", "StrWhere", "BoolWhere", "SortOperator"].map(|name| pool.name(name));
    let row_type = pool.name(row);
    let clauses = pool.name(&format!("{row}Clauses"));
    let sort = pool.name(&format!("{row}Sort"));
    let (where_, sort_argument) = (pool.name("where"), pool.name("sort"));
    let list_arguments = |pool: &mut Pool, clauses: &Name, sort: &Name| {
        vec![
            pool.input(&where_, build::named(clauses)),
            pool.input(&sort_argument, build::list(sort)),
            pool.input(&limit, build::named(&int)),
            pool.input(&offset, build::named(&int)),
        ]
    };
    let mut fields = vec![
        pool.field(&id, build::non_null(&int)),
        pool.field(&title, build::named(&string)),
        pool.field(&active, build::named(&boolean)),
    ];
    for (field, target) in relations {
        let arguments = list_arguments(pool, &pool_name(target, "Clauses"), &pool_name(target, "Sort"));
        let field = pool.name(field);
        let target = pool.name(target);
        fields.push(build::field_with_arguments(&field, arguments, build::non_null_list(&target)));
    }
    contribution.types.push(build::object(&row_type, Some("A row.".into()), fields));
    let (and, not) = (pool.name("and"), pool.name("not"));
    let inputs = [
        pool.input(&and, build::list(&clauses)),
        pool.input(&not, build::named(&clauses)),
        pool.input(&id, build::named(&int_where)),
        pool.input(&title, build::named(&str_where)),
        pool.input(&active, build::named(&bool_where)),
    ];
    contribution.types.push(build::input_object(&clauses, None, inputs));
    let sorts = [&id, &title].map(|column| pool.input(column, build::named(&sort_operator)));
    contribution.types.push(build::input_object(&sort, None, sorts));
    let arguments = list_arguments(pool, &clauses, &sort);
    contribution.query.push(build::field_with_arguments(
        &pool.name(list),
        arguments,
        build::non_null_list(&row_type),
    ));
    let create = pool.name(&format!("create{row}"));
    let arguments = vec![pool.input(&id, build::non_null(&int)), pool.input(&title, build::named(&string))];
    contribution.mutation.push(build::field_with_arguments(&create, arguments, build::named(&row_type)));
}

fn pool_name(target: &str, suffix: &str) -> Name {
    Name::new(&format!("{target}{suffix}")).unwrap()
}

/// Venues hold meetups, meetups have members.
pub(crate) fn schema() -> Schema {
    let mut pool = Pool::default();
    let mut contribution = Contribution::default();
    shared_types(&mut pool, &mut contribution);
    table(&mut pool, &mut contribution, "Venue", "venues", &[("meetups", "Meetup")]);
    table(&mut pool, &mut contribution, "Meetup", "meetups", &[("members", "Member")]);
    table(&mut pool, &mut contribution, "Member", "members", &[("meetups", "Meetup")]);
    Schema::merge(vec![(SourceId(0), contribution)]).unwrap()
}

/// The same, made once.
pub(crate) fn shared_schema() -> &'static Schema {
    static SCHEMA: LazyLock<Schema> = LazyLock::new(schema);
    &SCHEMA
}

/// Parameters without an operation name.
pub(crate) fn parameters(query: &str, variables: &str) -> RequestParameters {
    RequestParameters {
        query: query.into(),
        variables: serde_json::from_str(variables).unwrap(),
        ..Default::default()
    }
}

/// Every stage up to the selection; its text, or the errors'.
pub(crate) fn pipeline(
    schema: &Schema,
    parameters: RequestParameters,
    limits: &Limits,
) -> Result<String, Vec<GraphqlError>> {
    let name = parameters.operation_name.as_deref();
    let operation = prony_graphql::document::Operation::parse(schema, &parameters.query, name, limits)?;
    let (variables, _) = operation.coerce(schema, parameters.variables)?;
    Ok(operation.select(schema, &variables)?.to_string())
}

/// One error a line: code, places, message.
pub(crate) fn lines(errors: &[GraphqlError]) -> String {
    let line = |error: &GraphqlError| {
        let places: String =
            error.positions.iter().map(|place| format!(" {}:{}", place.line, place.column)).collect();
        format!("{}{places}: {}\n", error.code.as_str(), error.message)
    };
    errors.iter().map(line).collect()
}

/// One source that contributes what a text defines; root types `Query` and `Mutation`.
pub(crate) fn from_sdl(text: &str) -> Schema {
    let parsed = prony_graphql::compiler::Schema::parse(text, "schema").unwrap();
    let fields = |root: &str| match parsed.get_object(root) {
        Some(object) => object.fields.values().map(|field| field.node.clone()).collect(),
        None => Vec::new(),
    };
    let is_ours = |name: &str| !name.starts_with("__") && name != "Query" && name != "Mutation";
    let types = parsed.types.iter().filter(|(name, definition)| is_ours(name) && !definition.is_built_in());
    let directives = parsed.directive_definitions.values().filter(|directive| !directive.is_built_in());
    let contribution = Contribution {
        directives: directives.cloned().collect(),
        types: types.map(|(name, definition)| (name.clone(), definition.clone())).collect(),
        query: fields("Query"),
        mutation: fields("Mutation"),
        ..Contribution::default()
    };
    Schema::merge(vec![(SourceId(0), contribution)]).unwrap()
}
