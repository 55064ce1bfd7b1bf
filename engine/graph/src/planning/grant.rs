//! What a role's rights add to a plan.

use prony_graph_store::Side;
use prony_graphql::{error::Position, selection::Value};
use prony_source::dialect::RowCount;

use super::{
    plan::{ListAnswer, ListPlan, Root},
    restrict::Restrictions,
};

/// Adds the most items of lists and the values that are written whatever is asked.
pub(super) fn apply(
    restrictions: &Restrictions,
    root: &mut Root,
    lists: &mut [ListPlan],
    position: Position,
) {
    for list in lists {
        let ListAnswer::Items { limit, .. } = &mut list.answer else { continue };
        let (side, only) = (list.candidates.side, list.candidates.only);
        if let Some(highest) = restrictions.limit(side, only) {
            let given = limit.take();
            let unlimited = || RowCount { value: Value::Null, position, highest: None };
            *limit = Some(RowCount { highest: Some(highest), ..given.unwrap_or_else(unlimited) });
        }
    }
    let (side, of, given, is_new) = match root {
        Root::CreateNode { of, properties, .. } => (Side::Nodes, *of, properties, true),
        Root::CreateRelationship { of, properties, .. } => (Side::Relationships, *of, properties, true),
        // An update that gives nothing only asks whether something is there.
        Root::Set { side, of, properties, .. } if !properties.is_empty() => (*side, *of, properties, false),
        _ => return,
    };
    let Some(of_type) = restrictions.of(side, of) else { return };
    let rights = &of_type.rights;
    let presets = if is_new { &rights.insert_set } else { &rights.update_set };
    given.retain(|(name, ..)| presets.iter().all(|(preset, ..)| preset != name));
    given.extend(presets.iter().cloned());
}
