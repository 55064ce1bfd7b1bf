//! The names of k6's executors, and the keys of each.

use super::notes::nearest;
use super::table::Form;

/// A key of scenarios and its form.
pub(super) type Key = (&'static str, Form);

/// Which executor; the values are those of the key `executor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    SharedIterations,
    PerVuIterations,
    ConstantVus,
    RampingVus,
    ConstantArrivalRate,
    RampingArrivalRate,
}

const ALL: [Kind; 6] = [
    Kind::SharedIterations,
    Kind::PerVuIterations,
    Kind::ConstantVus,
    Kind::RampingVus,
    Kind::ConstantArrivalRate,
    Kind::RampingArrivalRate,
];

impl Kind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::SharedIterations => "shared-iterations",
            Self::PerVuIterations => "per-vu-iterations",
            Self::ConstantVus => "constant-vus",
            Self::RampingVus => "ramping-vus",
            Self::ConstantArrivalRate => "constant-arrival-rate",
            Self::RampingArrivalRate => "ramping-arrival-rate",
        }
    }

    /// Beside those that all have.
    pub(super) const fn keys(self) -> &'static [Key] {
        match self {
            Self::SharedIterations | Self::PerVuIterations => {
                &[("vus", Form::Integer), ("iterations", Form::Integer), ("maxDuration", Form::Duration)]
            }
            Self::ConstantVus => &[("vus", Form::Integer), ("duration", Form::Duration)],
            Self::RampingVus => {
                &[("startVUs", Form::Integer), ("stages", Form::Stages), ("gracefulRampDown", Form::Duration)]
            }
            Self::ConstantArrivalRate => &[
                ("rate", Form::Integer),
                ("timeUnit", Form::Duration),
                ("duration", Form::Duration),
                ("preAllocatedVUs", Form::Integer),
                ("maxVUs", Form::Integer),
            ],
            Self::RampingArrivalRate => &[
                ("startRate", Form::Integer),
                ("timeUnit", Form::Duration),
                ("stages", Form::Stages),
                ("preAllocatedVUs", Form::Integer),
                ("maxVUs", Form::Integer),
            ],
        }
    }

    pub(super) fn names() -> String {
        ALL.map(Self::name).join(", ")
    }

    pub(super) fn find(name: &str) -> Result<Self, String> {
        if name == "externally-controlled" {
            return Err("the executor `externally-controlled` is not supported; \
                        ramping-vus changes the number of users over time"
                .to_owned());
        }
        ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
            let near = nearest(name, ALL.iter().map(|kind| kind.name()));
            format!("unknown executor `{name}`; executors are: {}{near}", Self::names())
        })
    }
}
