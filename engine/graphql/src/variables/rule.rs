//! Which rule a schema has for the values of a scalar.

use crate::{schema::Schema, variables::scalar::Scalar};

/// By the scalar's name, where that is not the name that another server has given to something of its own.
pub(crate) fn scalar_rule(schema: &Schema, name: &str) -> Scalar {
    let scalar = Scalar::of(name);
    if !scalar.is_specified() && schema.is_opaque(name) { Scalar::Any } else { scalar }
}
