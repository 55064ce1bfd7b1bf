//! The subscription fields of a model's tables, and the types of their events.

use apollo_compiler::{Name, name};
use prony_graphql::schema::{
    Contribution,
    build::{field_with_arguments, input, list, named, non_null, object},
};

use super::names::{ChangeIndex, KEY, OPERATION, PREVIOUS_KEY};
use crate::relational::{contribution::shared_type, model::Model};

/// Adds to what the model contributes.
pub(crate) fn add(model: &Model, index: &ChangeIndex, contribution: &mut Contribution) {
    let operation = name!("ChangeOperation");
    let operations = input(&name!("operations"), list(&operation));
    for names in &index.tables {
        let type_name = &model.table(names.table).type_name;
        let (row, change) = (name_of(type_name), name_of(&names.type_name));
        let key = name_of(&format!("{type_name}Pks"));
        let clauses = named(&name_of(&format!("{type_name}Clauses")));
        let member = |name: &str, ty| field_with_arguments(&name_of(name), Vec::new(), ty);
        let members = [
            member(OPERATION, non_null(&operation)),
            member(KEY, non_null(&key)),
            member(PREVIOUS_KEY, named(&key)),
            member(&names.row, named(&row)),
        ];
        contribution.types.push(object(&change, None, members));
        let arguments = vec![operations.clone(), input(&name!("where"), clauses)];
        let field = field_with_arguments(&name_of(&names.field), arguments, non_null(&change));
        contribution.subscription.push(field);
    }
    if !index.tables.is_empty() {
        contribution
            .types
            .extend(shared_type(&operation, &mut prony_graphql::schema::build::Pool::default()));
    }
}

fn name_of(text: &str) -> Name {
    Name::new(text).expect("the model holds only GraphQL names")
}
