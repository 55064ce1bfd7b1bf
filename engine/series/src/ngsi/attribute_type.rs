//! Types of attributes of NGSI-LD (ETSI GS CIM 009, clauses 4.5.2 and 4.5.3), and the members in which they have their values.

use prony_series_store::Kind;

/// A type of attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AttributeType {
    pub(crate) name: &'static str,
    /// Where an instance has its value.
    pub(crate) member: &'static str,
    /// Where the representation by values has those of all instances.
    pub(crate) values: &'static str,
}

const PROPERTY: AttributeType = AttributeType { name: "Property", member: "value", values: "values" };
const GEO_PROPERTY: AttributeType = AttributeType { name: "GeoProperty", member: "value", values: "values" };

const ALL: [AttributeType; 8] = [
    PROPERTY,
    GEO_PROPERTY,
    AttributeType { name: "Relationship", member: "object", values: "objects" },
    AttributeType { name: "LanguageProperty", member: "languageMap", values: "languageMaps" },
    AttributeType { name: "JsonProperty", member: "json", values: "jsons" },
    AttributeType { name: "VocabProperty", member: "vocab", values: "vocabs" },
    AttributeType { name: "ListProperty", member: "valueList", values: "valueLists" },
    AttributeType { name: "ListRelationship", member: "objectList", values: "objectLists" },
];

impl AttributeType {
    /// The one of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|of| of.name == name)
    }

    /// That of an instance that does not say it, by the member that it has.
    pub(crate) fn with_member(has: impl Fn(&str) -> bool) -> Option<Self> {
        ALL.into_iter().find(|of| has(of.member))
    }

    /// That of an attribute which was first given this type, and is kept so. What NGSI version 2 calls by other names is a property.
    pub(crate) fn of_kept(declared: &str, kind: Kind) -> Self {
        Self::named(declared).unwrap_or(if kind == Kind::Geometry { GEO_PROPERTY } else { PROPERTY })
    }

    /// Whether attributes of a type have their values in a member of this name.
    pub(crate) fn is_value(member: &str) -> bool {
        ALL.iter().any(|of| of.member == member)
    }

    pub(crate) fn is_property(self) -> bool {
        self == PROPERTY
    }
}
