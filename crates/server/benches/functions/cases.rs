//! The requests of the micro-benchmarks on the music example. Peers are asked the same: they include this file.

pub(crate) struct Case {
    pub(crate) name: &'static str,
    query: &'static str,
    variables: &'static str,
}

pub(crate) const CASES: [Case; 5] = [
    Case { name: "single", query: "{ artist(id: 2) { id name } }", variables: "{}" },
    Case {
        name: "list",
        query: "{ artists(searchText: \"queen\") { id name records { id name } company { id name } } }",
        variables: "{}",
    },
    Case {
        name: "three",
        query: "query($id: Int!) { one: artist(id: $id) { id name } \
                queens: artists(searchText: \"queen\") { name records(searchText: \"1\") { name } } \
                some: findArtistsById(ids: [1, 2, 3]) { name @toUpper company { name } } }",
        variables: "{\"id\":2}",
    },
    Case {
        name: "six",
        query: "query($id: Int!, $other: Int!, $text: String, $ids: [Int!]!, $with: Boolean!, $without: Boolean!) { \
                artist(id: $id) { name @skip(if: $without) records(searchText: $text) @include(if: $with) { id name genre { name } } } \
                other: artist(id: $other) { id name company @include(if: $with) { name } } \
                findArtistsById(ids: $ids) { id name records(searchText: $text) @skip(if: $without) { id name } } }",
        variables: "{\"id\":1,\"other\":3,\"text\":\"4\",\"ids\":[2,4,5],\"with\":true,\"without\":false}",
    },
    Case { name: "introspection", query: INTROSPECTION, variables: "{}" },
];

const INTROSPECTION: &str = "{ __schema { queryType { name } mutationType { name } types { kind name description \
    fields(includeDeprecated: true) { name description args { name description type { ...T } defaultValue } type { ...T } \
    isDeprecated deprecationReason } inputFields { name type { ...T } defaultValue } interfaces { ...T } \
    enumValues(includeDeprecated: true) { name } possibleTypes { ...T } } \
    directives { name description locations args { name type { ...T } } } } } \
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

impl Case {
    /// The case of a name.
    #[allow(dead_code, reason = "not every program that includes this runs one case alone")]
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// The request; with a number, one that no other has.
    pub(crate) fn request(&self, number: Option<usize>) -> Vec<u8> {
        let comment = number.map_or_else(String::new, |number| format!(" # {number}"));
        let query = serde_json::Value::from(format!("{}{comment}", self.query));
        format!("{{\"query\":{query},\"variables\":{}}}", self.variables).into_bytes()
    }
}
