//! Schemas like those of relational sources, with seven types a table.

use prony_graphql::{
    Name,
    compiler::{Node, ast::FieldDefinition},
    schema::{
        Contribution, Schema, SourceId,
        build::{self, Pool},
    },
};

const COLUMNS: [(&str, &str); 10] = [
    ("id", "Int"),
    ("name", "String"),
    ("created_at", "String"),
    ("updated_at", "String"),
    ("parent_id", "Int"),
    ("amount", "Float"),
    ("active", "Boolean"),
    ("note", "String"),
    ("kind", "String"),
    ("position", "Int"),
];

pub(crate) fn schema(count: usize) -> Schema {
    merge(contribution(count))
}

pub(crate) fn merge(contribution: Contribution) -> Schema {
    Schema::merge(vec![(SourceId(0), contribution)]).expect("the contribution is valid")
}

pub(crate) fn contribution(count: usize) -> Contribution {
    let mut pool = Pool::default();
    let mut contribution = Contribution::default();
    let sorts = [pool.name("asc"), pool.name("desc")];
    contribution.types.push(build::enumeration(&pool.name("SortOperator"), None, sorts));
    let truth = pool.name("Boolean");
    for scalar in ["Int", "String", "Float", "Boolean"] {
        let where_type = pool.name(&format!("{scalar}Where"));
        let scalar = pool.name(scalar);
        let operators = ["eq", "ne", "gt", "gte", "lt", "lte"].map(|operator| pool.name(operator));
        let mut fields: Vec<_> =
            operators.iter().map(|operator| pool.input(operator, build::named(&scalar))).collect();
        let [within, is_null] = ["in", "is_null"].map(|operator| pool.name(operator));
        fields.push(pool.input(&within, build::list(&scalar)));
        fields.push(pool.input(&is_null, build::named(&truth)));
        contribution.types.push(build::input_object(&where_type, None, fields));
    }
    let result_field = pool.name("result");
    let result = pool.field(&result_field, build::non_null(&truth));
    contribution.types.push(build::object(&pool.name("Result"), None, [result]));
    for index in 0..count {
        table(&mut pool, &mut contribution, index);
    }
    contribution
}

fn table(pool: &mut Pool, contribution: &mut Contribution, index: usize) {
    let row = format!("Table{index}");
    let mut suffixed = |suffix: &str| pool.name(&format!("{row}{suffix}"));
    let [row_type, clauses, sort] = ["", "Clauses", "Sort"].map(&mut suffixed);
    let [aggregate, members, pks, pk_columns] =
        ["Aggregate", "Fields", "Pks", "PkColumns"].map(&mut suffixed);
    let arguments = list_arguments(pool, &clauses, &sort);
    let columns = COLUMNS.map(|(column, ty)| (pool.name(column), pool.name(ty)));
    let field = |pool: &mut Pool, (name, ty): &(Name, Name)| pool.field(name, build::named(ty));
    let column_fields: Vec<_> = columns.iter().map(|column| field(pool, column)).collect();
    let [children, parent, children_aggregate] =
        ["children", "parent", "children_aggregate"].map(|name| pool.name(name));
    let mut fields = column_fields.clone();
    fields.push(build::field_with_arguments(&children, arguments.clone(), build::non_null_list(&row_type)));
    fields.push(build::field_with_arguments(&parent, Vec::new(), build::named(&row_type)));
    let filter = vec![arguments[0].clone()];
    fields.push(build::field_with_arguments(
        &children_aggregate,
        filter.clone(),
        build::non_null(&aggregate),
    ));
    contribution.types.push(build::object(&row_type, None, fields));
    contribution.types.push(build::object(&members, None, column_fields));
    contribution.types.push(build::object(&aggregate, None, aggregate_fields(pool, &members)));
    contribution.types.push(build::object(&pks, None, [field(pool, &columns[0])]));
    let key = pool.input(&columns[0].0, build::non_null(&columns[0].1));
    contribution.types.push(build::input_object(&pk_columns, None, [key]));
    let operator = pool.name("SortOperator");
    let sorts: Vec<_> =
        columns.iter().map(|(column, _)| pool.input(column, build::named(&operator))).collect();
    contribution.types.push(build::input_object(&sort, None, sorts));
    let mut wheres = Vec::new();
    for connective in ["and", "or"].map(|name| pool.name(name)) {
        wheres.push(build::input(&connective, build::list(&clauses)));
    }
    for relation in ["not", "children", "parent"].map(|name| pool.name(name)) {
        wheres.push(build::input(&relation, build::named(&clauses)));
    }
    for (column, ty) in &columns {
        let operators = pool.name(&format!("{ty}Where"));
        wheres.push(pool.input(column, build::named(&operators)));
    }
    contribution.types.push(build::input_object(&clauses, None, wheres));
    let list = pool.name(&format!("table_{index}s"));
    contribution.query.push(build::field_with_arguments(&list, arguments, build::non_null_list(&row_type)));
    let list_aggregate = pool.name(&format!("table_{index}s_aggregate"));
    contribution.query.push(build::field_with_arguments(
        &list_aggregate,
        filter,
        build::non_null(&aggregate),
    ));
    mutations(pool, contribution, &row, &columns, [&pks, &pk_columns]);
}

fn list_arguments(
    pool: &mut Pool,
    clauses: &Name,
    sort: &Name,
) -> Vec<Node<prony_graphql::compiler::ast::InputValueDefinition>> {
    let int = pool.name("Int");
    let [filter, order, limit, offset] = ["where", "sort", "limit", "offset"].map(|name| pool.name(name));
    vec![
        build::input(&filter, build::named(clauses)),
        build::input(&order, build::list(sort)),
        pool.input(&limit, build::named(&int)),
        pool.input(&offset, build::named(&int)),
    ]
}

fn aggregate_fields(pool: &mut Pool, members: &Name) -> Vec<Node<FieldDefinition>> {
    let (count, int) = (pool.name("count"), pool.name("Int"));
    let mut fields = vec![pool.field(&count, build::non_null(&int))];
    for function in ["sum", "avg", "max", "min"].map(|name| pool.name(name)) {
        fields.push(build::field_with_arguments(&function, Vec::new(), build::named(members)));
    }
    fields
}

fn mutations(
    pool: &mut Pool,
    contribution: &mut Contribution,
    row: &str,
    columns: &[(Name, Name)],
    [pks, pk_columns]: [&Name; 2],
) {
    let values: Vec<_> = columns.iter().map(|(column, ty)| pool.input(column, build::named(ty))).collect();
    let [create, update, delete] =
        ["create", "update", "delete"].map(|verb| pool.name(&format!("{verb}{row}")));
    let (result, key) = (pool.name("Result"), pool.name("pk_columns"));
    let key = build::input(&key, build::non_null(pk_columns));
    let with_key = [vec![key.clone()], values.clone()].concat();
    contribution.mutation.push(build::field_with_arguments(&create, values, build::named(pks)));
    contribution.mutation.push(build::field_with_arguments(&update, with_key, build::named(&result)));
    contribution.mutation.push(build::field_with_arguments(&delete, vec![key], build::named(&result)));
}
