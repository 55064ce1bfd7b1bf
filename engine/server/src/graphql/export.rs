//! The schema as files: in the definition language, and as the answer to the usual introspection query.

use prony_graphql::{
    document::{Operation, limits::Limits},
    introspection, response,
    schema::Schema,
    variables::Variables,
};

use super::engine::{Engine, OpenError};

/// What tools ask for when they read a schema (`getIntrospectionQuery` of graphql-js, all options on).
const QUERY: &str = "
query IntrospectionQuery {
  __schema {
    description
    queryType { name }
    mutationType { name }
    subscriptionType { name }
    types { ...FullType }
    directives { name description isRepeatable locations args(includeDeprecated: true) { ...InputValue } }
  }
}
fragment FullType on __Type {
  kind name description specifiedByURL
  fields(includeDeprecated: true) {
    name description args(includeDeprecated: true) { ...InputValue } type { ...TypeRef } isDeprecated deprecationReason
  }
  inputFields(includeDeprecated: true) { ...InputValue }
  interfaces { ...TypeRef }
  enumValues(includeDeprecated: true) { name description isDeprecated deprecationReason }
  possibleTypes { ...TypeRef }
}
fragment InputValue on __InputValue {
  name description type { ...TypeRef } defaultValue isDeprecated deprecationReason
}
fragment TypeRef on __Type {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name ofType {
  kind name ofType { kind name ofType { kind name ofType { kind name ofType { kind name } } } } } } } } }
}";

impl Engine {
    /// The schema in the schema definition language.
    pub fn sdl(&self) -> String {
        self.served().schema.sdl()
    }

    /// The answer to the introspection query, as tools store it.
    pub fn introspection_json(&self) -> Result<String, OpenError> {
        introspect(&self.served().schema).map_err(|message| OpenError::Introspection { message })
    }
}

fn introspect(schema: &Schema) -> Result<String, String> {
    // The answer to ourselves may be as long as it is.
    let limits = Limits { introspection: true, max_introspection_bytes: usize::MAX, ..Limits::default() };
    let joined = |errors: Vec<prony_graphql::error::GraphqlError>| {
        errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    let operation = Operation::parse(schema, QUERY, None, &limits).map_err(joined)?;
    let variables = Variables::default();
    let selection = operation.select(schema, &variables).map_err(joined)?;
    let results: Vec<_> = selection
        .fields
        .iter()
        .map(|field| introspection::answer(schema, field, &variables, &limits))
        .collect();
    let body = response::assemble(&selection.fields, &results, response::Detail::Hidden);
    String::from_utf8(body).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use prony_graphql::{
        compiler::{ast::Type, name},
        schema::{Contribution, SourceId, build::field_with_arguments},
    };

    use super::*;

    /// As deep as graphql-js asks by itself: it cannot read a schema in which a type is cut.
    #[test]
    fn types_of_lists_within_lists_are_whole() {
        let deep = (0..4).fold(Type::NonNullNamed(name!("Int")), |inner, _| inner.list().non_null());
        let query = vec![field_with_arguments(&name!("deep"), Vec::new(), deep)];
        let contribution = Contribution { query, ..Contribution::default() };
        let schema = Schema::merge(vec![(SourceId(0), contribution)]).expect("it is valid");
        let text = introspect(&schema).expect("it is answered");
        let innermost = r#"{"kind":"NON_NULL","name":null,"ofType":{"kind":"SCALAR","name":"Int"}}"#;
        assert!(text.contains(innermost), "{text}");
    }
}
