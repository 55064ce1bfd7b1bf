//! What of a model is contributed: all of it, or what a role is granted.

use prony_graph_store::Side;

use crate::{
    planning::{
        restrict::Restrictions,
        rights::{Grant, PropertyUse},
    },
    schema::model::{Model, PropertyModel, TypeId, TypeModel},
};

/// Everything where there are no restrictions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grants<'m> {
    pub(crate) model: &'m Model,
    pub(crate) restrictions: Option<&'m Restrictions>,
}

impl<'m> Grants<'m> {
    /// Whether anything can be done with a type.
    pub(super) fn has_any(self, side: Side, of: TypeId) -> bool {
        self.restrictions.is_none_or(|all| all.of(side, of).is_some_and(|of| of.rights.has_any()))
    }

    pub(super) fn can(self, side: Side, of: TypeId, grant: Grant) -> bool {
        self.restrictions.is_none_or(|all| all.can(side, of, grant))
    }

    /// Types that can be seen.
    pub(super) fn selected(self, side: Side) -> impl Iterator<Item = (TypeId, &'m TypeModel)> {
        self.model.side(side).all().filter(move |(id, _)| self.can(side, *id, Grant::Select))
    }

    /// Properties of a type that can be used so.
    pub(super) fn properties(
        self,
        side: Side,
        of: TypeId,
        used: PropertyUse,
    ) -> impl Iterator<Item = &'m PropertyModel> {
        let properties = self.model.side(side).get(of).properties.iter();
        properties.filter(move |property| self.allows(side, of, used, property))
    }

    fn allows(self, side: Side, of: TypeId, used: PropertyUse, property: &PropertyModel) -> bool {
        self.restrictions
            .is_none_or(|all| all.of(side, of).is_some_and(|of| of.rights.allows(used, property)))
    }

    /// Properties of all types together that can be used so of each type which can be seen and has them; at least one must.
    pub(super) fn common(self, side: Side, used: PropertyUse) -> impl Iterator<Item = &'m PropertyModel> {
        self.model.side(side).common.iter().filter(move |property| {
            if self.restrictions.is_none() {
                return true;
            }
            let mut having = self.selected(side).filter(|(_, of)| of.has(&property.name));
            let mut found = false;
            let allowed = having.all(|(id, _)| {
                found = true;
                self.allows(side, id, used, property)
            });
            allowed && found
        })
    }

    /// Whether the number of relationships may be known, of all types that can be seen.
    pub(super) fn can_count_relationships(self) -> bool {
        let side = Side::Relationships;
        self.selected(side).all(|(id, _)| self.can(side, id, Grant::Aggregate))
    }
}
