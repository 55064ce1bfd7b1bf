//! What can be made of the instances of a period (ETSI GS CIM 009, clause 4.5.19), and of which attributes.

use prony_series_store::Kind;

use crate::{ngsi::attribute_type::AttributeType, query::entity::AskedAttribute};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AggregateMethod {
    TotalCount,
    DistinctCount,
    Sum,
    Avg,
    Min,
    Max,
    /// Of a sample, as `stddev` of PostgreSQL is: none of one value.
    StdDev,
    SumSq,
}

impl AggregateMethod {
    pub(crate) const ALL: [Self; 8] = [
        Self::TotalCount,
        Self::DistinctCount,
        Self::Sum,
        Self::Avg,
        Self::Min,
        Self::Max,
        Self::StdDev,
        Self::SumSq,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TotalCount => "totalCount",
            Self::DistinctCount => "distinctCount",
            Self::Sum => "sum",
            Self::Avg => "avg",
            Self::Min => "min",
            Self::Max => "max",
            Self::StdDev => "stddev",
            Self::SumSq => "sumsq",
        }
    }

    /// Whether it can be made of the values of an attribute. Booleans are 0 and 1.
    pub(super) fn fits(self, of: &AskedAttribute) -> bool {
        let is_property = AttributeType::of_kept(&of.declared, of.kind).is_property();
        match self {
            Self::TotalCount | Self::DistinctCount => true,
            Self::Min | Self::Max => is_property && !matches!(of.kind, Kind::Structured | Kind::Geometry),
            _ => is_property && matches!(of.kind, Kind::Double | Kind::Integer | Kind::Boolean),
        }
    }

    /// Whether it is known of blocks that need not be read.
    pub(super) const fn is_summary(self, kind: Kind) -> bool {
        match self {
            Self::TotalCount => true,
            Self::Sum | Self::Avg | Self::Min | Self::Max => {
                matches!(kind, Kind::Double | Kind::Integer | Kind::Time)
            }
            Self::DistinctCount | Self::StdDev | Self::SumSq => false,
        }
    }
}
