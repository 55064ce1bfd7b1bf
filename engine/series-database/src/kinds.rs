//! Kinds of values by the names that tables of names have for them.

use prony_series_store::Kind;

const NAMES: [(Kind, &str); 7] = [
    (Kind::Double, "double"),
    (Kind::Integer, "integer"),
    (Kind::Boolean, "boolean"),
    (Kind::Time, "time"),
    (Kind::Text, "text"),
    (Kind::Structured, "structured"),
    (Kind::Geometry, "geometry"),
];

/// The name of a kind.
pub fn kind_name(kind: Kind) -> &'static str {
    NAMES.into_iter().find(|(of, _)| *of == kind).map_or("text", |(_, name)| name)
}

/// Texts where the name is none of ours.
pub fn kind_of(name: &str) -> Kind {
    NAMES.into_iter().find(|(_, of)| *of == name).map_or(Kind::Text, |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_kinds() {
        for (kind, name) in NAMES {
            assert_eq!((kind_name(kind), kind_of(name)), (name, kind));
        }
        assert_eq!(kind_of("of a later version"), Kind::Text);
    }
}
