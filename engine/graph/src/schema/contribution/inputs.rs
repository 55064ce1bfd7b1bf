//! Filters and orders: one of each for every type, and one of each for all types of a side together.

use apollo_compiler::{Name, Node, ast::InputValueDefinition, name};
use prony_graph_store::{Kind, Side};
use prony_graphql::schema::build::{input, input_object, list, named};
use prony_source::dialect::{CONDITIONS, ORDER, filter_input, logical_inputs, shared_type};

use crate::{
    planning::rights::PropertyUse,
    schema::{
        contribution::{NODE, RELATIONSHIP, Writer, descriptions, scalar_name, valid},
        model::{PropertyModel, TypeId, TypeModel},
    },
};

const STRINGS: &[Name] = &[
    name!("eq"),
    name!("ne"),
    name!("gt"),
    name!("gte"),
    name!("lt"),
    name!("lte"),
    name!("in"),
    name!("not_in"),
    name!("is_null"),
    name!("like"),
    name!("ilike"),
    name!("starts_with"),
    name!("contains"),
    name!("ends_with"),
];

const LISTS: [Name; 9] = [
    name!("eq"),
    name!("ne"),
    name!("gt"),
    name!("gte"),
    name!("lt"),
    name!("lte"),
    name!("starts_with"),
    name!("contains"),
    name!("ends_with"),
];

/// The filter of a property.
fn filter_name(kind: Kind) -> Name {
    match kind {
        Kind::Boolean => name!("BoolWhere"),
        Kind::Integer => name!("BigIntWhere"),
        Kind::Double => name!("FloatWhere"),
        Kind::String => name!("GraphStrWhere"),
        Kind::BooleanList => name!("GraphBoolListWhere"),
        Kind::IntegerList => name!("GraphBigIntListWhere"),
        Kind::DoubleList => name!("GraphFloatListWhere"),
        Kind::StringList => name!("GraphStrListWhere"),
    }
}

impl Writer<'_> {
    /// For nodes or relationships whatever their type.
    pub(super) fn common_inputs(&mut self, side: Side) {
        let name = if side == Side::Nodes { NODE } else { RELATIONSHIP };
        let grants = self.grants;
        let filtered = grants.common(side, PropertyUse::Filter).collect();
        let sorted = grants.common(side, PropertyUse::Sort).collect();
        self.clauses_and_sort(side, &name, filtered, sorted, true);
    }

    pub(super) fn inputs(&mut self, side: Side, id: TypeId, of: &TypeModel) {
        let name = valid(&of.type_name);
        let grants = self.grants;
        let filtered = grants.properties(side, id, PropertyUse::Filter).collect();
        let sorted = grants.properties(side, id, PropertyUse::Sort).collect();
        self.clauses_and_sort(side, &name, filtered, sorted, false);
    }

    fn clauses_and_sort(
        &mut self,
        side: Side,
        of: &Name,
        filtered: Vec<&PropertyModel>,
        sorted: Vec<&PropertyModel>,
        of_all: bool,
    ) {
        let clauses = valid(&format!("{of}Clauses"));
        let mut fields = Vec::from(logical_inputs(&mut self.pool, &clauses));
        let mut own = vec![(name!("_id"), Kind::Integer)];
        if side == Side::Nodes {
            own.push((name!("_key"), Kind::String));
        }
        if of_all {
            own.push((name!("_type"), Kind::String));
        }
        for (name, kind) in &own {
            fields.push(self.pool.input(name, named(&filter_name(*kind))));
        }
        if side == Side::Relationships {
            for end in [name!("from"), name!("to")] {
                fields.push(self.pool.input(&end, named(&name!("GraphNodeClauses"))));
            }
        }
        for property in filtered {
            self.see(property.kind);
            fields.push(self.pool.input(&valid(&property.field), named(&filter_name(property.kind))));
        }
        let order = named(&name!("SortOperator"));
        let sort = valid(&format!("{of}Sort"));
        let mut keys: Vec<Node<InputValueDefinition>> =
            own.iter().map(|(name, _)| self.pool.input(name, order.clone())).collect();
        for property in sorted {
            keys.push(self.pool.input(&valid(&property.field), order.clone()));
        }
        let texts = [CONDITIONS, ORDER].map(|text| Some(self.pool.description(text)));
        let [of_clauses, of_sort] = texts;
        let contribution = &mut self.contribution;
        contribution.types.push(input_object(&clauses, of_clauses, fields));
        contribution.types.push(input_object(&sort, of_sort, keys));
        contribution.only_listed.push(sort);
    }

    /// The filters of properties, and what belongs to no type.
    pub(super) fn shared_inputs(&mut self) {
        // Ids are integers and keys are strings, whatever is declared.
        for kind in [Kind::Integer, Kind::String] {
            self.see(kind);
        }
        let mut kinds = std::mem::take(&mut self.kinds);
        kinds.sort_by_key(|kind| kind.name());
        let mut shared = vec![name!("BigInt"), name!("SortOperator")];
        for kind in kinds {
            let name = filter_name(kind);
            match kind {
                Kind::String => {
                    let filter = filter_input(&name, &name!("String"), STRINGS, &mut self.pool);
                    self.contribution.types.push(filter);
                }
                Kind::Boolean | Kind::Integer | Kind::Double => shared.push(name),
                Kind::BooleanList | Kind::IntegerList | Kind::DoubleList | Kind::StringList => {
                    let operand = list(&scalar_name(kind));
                    let mut fields: Vec<_> = LISTS.iter().map(|name| input(name, operand.clone())).collect();
                    fields.push(input(&name!("is_null"), named(&name!("Boolean"))));
                    let text = self.pool.description(descriptions::LISTS);
                    self.contribution.types.push(input_object(&name, Some(text), fields));
                }
            }
        }
        if !self.contribution.mutation.is_empty() || !self.contribution.subscription.is_empty() {
            shared.extend([name!("ChangeOperation"), name!("Result")]);
        }
        let types = shared.iter().filter_map(|name| shared_type(name, &mut self.pool));
        self.contribution.types.extend(types);
    }
}
