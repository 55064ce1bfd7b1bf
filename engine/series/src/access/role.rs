//! What the role of one request may do.

use std::sync::Arc;

use prony_graphql::variables::Variables;

use super::{
    filter::{BoundFilter, Filter},
    permissions::{Restrictions, SelectRights, TypeRights},
};

/// What the role of a request may do with the values of its session. It outlives the request, whose response may be long.
#[derive(Debug, Clone)]
pub(crate) struct RoleAccess {
    restrictions: Arc<Restrictions>,
    variables: Arc<Variables>,
}

impl RoleAccess {
    pub(crate) fn new(restrictions: &Arc<Restrictions>, variables: Variables) -> Self {
        Self { restrictions: Arc::clone(restrictions), variables: Arc::new(variables) }
    }

    fn rights(&self, tenant: &str, type_name: &str) -> Option<&TypeRights> {
        self.restrictions.of(tenant, type_name)
    }

    /// None where a value of the session does not fit the condition.
    fn bound(&self, filter: &Filter) -> Option<BoundFilter> {
        filter.bind(&self.variables).ok()
    }

    /// What can be read of a type; none where nothing can.
    pub(crate) fn select(&self, tenant: &str, type_name: &str) -> Option<&SelectRights> {
        self.rights(tenant, type_name)?.select.as_ref()
    }

    /// The entities of a type that can be read; none where none can.
    pub(crate) fn visible(&self, tenant: &str, type_name: &str) -> Option<BoundFilter> {
        self.bound(&self.select(tenant, type_name)?.visible)
    }

    /// Whether a row of an entity with these attributes can be written.
    pub(crate) fn inserts<'a>(
        &self,
        (tenant, type_name): (&str, &str),
        (id, service_path): (&str, &str),
        mut attributes: impl Iterator<Item = &'a str>,
    ) -> bool {
        let insert = self.rights(tenant, type_name).and_then(|rights| rights.insert.as_ref());
        insert.is_some_and(|insert| {
            attributes.all(|name| insert.attributes.has(name))
                && self.bound(&insert.check).is_some_and(|check| check.passes(id, service_path))
        })
    }

    /// The entities of a type whose rows can be deleted; none where none can.
    pub(crate) fn deletes(&self, tenant: &str, type_name: &str) -> Option<BoundFilter> {
        self.bound(self.rights(tenant, type_name)?.delete.as_ref()?)
    }

    /// Whether a type can be deleted: the rows of all its entities can.
    pub(crate) fn drops(&self, tenant: &str, type_name: &str) -> bool {
        let delete = self.rights(tenant, type_name).and_then(|rights| rights.delete.as_ref());
        delete.is_some_and(|filter| *filter == Filter::everything())
    }
}
