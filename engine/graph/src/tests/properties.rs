//! Nested answers on generated graphs, held to a plain model.

use prony_graph_store::{Direction, Kind, Ref, Side, Value};
use proptest::prelude::*;
use serde_json::{Value as Json, json};

use crate::tests::harness::Served;

const NODES: [&str; 2] = ["User", "Product"];
const RELATIONSHIPS: [&str; 2] = ["FRIEND", "LIKES"];

#[derive(Debug, Clone)]
struct QueryPlan {
    nodes: Vec<(usize, Option<i64>)>,
    relationships: Vec<(usize, usize, usize, Option<i64>)>,
    gone: Vec<usize>,
}

/// A list of neighbours or of relationships below a node.
#[derive(Debug, Clone)]
struct ListPlan {
    relationships: bool,
    direction: Option<Direction>,
    types: Option<Vec<usize>>,
    /// `number` is at least this.
    nodes_from: Option<i64>,
    links_from: Option<i64>,
    /// Of what is listed; descending where true.
    sort: Option<bool>,
    limit: usize,
    offset: usize,
    below: Option<Box<ListPlan>>,
}

fn plans() -> impl Strategy<Value = QueryPlan> {
    let number = || prop::option::weighted(0.8, -3..4_i64);
    let nodes = prop::collection::vec((0..2_usize, number()), 1..12);
    nodes.prop_flat_map(move |nodes| {
        let count = nodes.len();
        let links = prop::collection::vec((0..2_usize, 0..count, 0..count, number()), 0..40);
        (Just(nodes), links, prop::collection::vec(0..count, 0..3))
            .prop_map(|(nodes, relationships, gone)| QueryPlan { nodes, relationships, gone })
    })
}

fn lists() -> impl Strategy<Value = ListPlan> {
    let leaf = fields().prop_map(|list| list);
    leaf.prop_recursive(3, 3, 1, |inner| {
        (fields(), inner).prop_map(|(list, below)| ListPlan { below: Some(Box::new(below)), ..list })
    })
}

fn fields() -> impl Strategy<Value = ListPlan> {
    let direction = prop_oneof![Just(None), Just(Some(Direction::Outgoing)), Just(Some(Direction::Incoming))];
    let types = prop::option::weighted(0.4, prop::collection::vec(0..2_usize, 0..3));
    let from = || prop::option::weighted(0.3, -3..3_i64);
    let counts = (0..8_usize, 0..3_usize);
    (any::<bool>(), direction, types, from(), from(), prop::option::of(any::<bool>()), counts).prop_map(
        |(relationships, direction, types, nodes_from, links_from, sort, (limit, offset))| ListPlan {
            relationships,
            direction,
            types,
            nodes_from,
            links_from,
            sort,
            limit,
            offset,
            below: None,
        },
    )
}

/// What was made: places and numbers.
struct Made {
    nodes: Vec<(Ref, Option<i64>)>,
    relationships: Vec<(Ref, Ref, Ref, Option<i64>)>,
}

fn make(served: &Served, plan: &QueryPlan) -> Made {
    served.write(|write| {
        for (side, names) in [(Side::Nodes, NODES), (Side::Relationships, RELATIONSHIPS)] {
            for of in names {
                write.make_type(side, of)?;
                write.declare(side, of, "number", Kind::Integer)?;
            }
        }
        let given = |number: Option<i64>| number.map(|number| ("number", Value::Integer(number)));
        let mut made = Made { nodes: Vec::new(), relationships: Vec::new() };
        for (index, (of, number)) in plan.nodes.iter().enumerate() {
            let given: Vec<_> = given(*number).into_iter().collect();
            made.nodes.push((write.create_node(NODES[*of], &format!("k{index}"), &given)?, *number));
        }
        for (of, from, to, number) in &plan.relationships {
            let given: Vec<_> = given(*number).into_iter().collect();
            let (from, to) = (made.nodes[*from].0, made.nodes[*to].0);
            let at = write.create_relationship(RELATIONSHIPS[*of], from, to, &given)?;
            made.relationships.push((at, from, to, *number));
        }
        for index in &plan.gone {
            let at = made.nodes[*index].0;
            if write.delete_node(at).is_ok() {
                made.relationships.retain(|(_, from, to, _)| *from != at && *to != at);
            }
        }
        let gone: Vec<Ref> = plan.gone.iter().map(|index| made.nodes[*index].0).collect();
        made.nodes.retain(|(at, _)| !gone.contains(at));
        Ok(made)
    })
}

impl ListPlan {
    fn text(&self) -> String {
        let mut arguments = vec![format!("limit: {}, offset: {}", self.limit, self.offset)];
        arguments.extend(self.direction.map(|direction| match direction {
            Direction::Outgoing => "direction: out".to_owned(),
            Direction::Incoming => "direction: in".to_owned(),
        }));
        arguments.extend(self.types.as_ref().map(|types| {
            let names: Vec<&str> = types.iter().map(|of| RELATIONSHIPS[*of]).collect();
            format!("types: [{}]", names.join(" "))
        }));
        let (nodes, links) = if self.relationships { ("node", "where") } else { ("where", "relationship") };
        for (name, from) in [(nodes, self.nodes_from), (links, self.links_from)] {
            arguments.extend(from.map(|from| format!("{name}: {{number: {{gte: {from}}}}}")));
        }
        arguments.extend(
            self.sort
                .map(|descending| format!("sort: {{number: {}}}", if descending { "desc" } else { "asc" })),
        );
        let below = self.below.as_ref().map_or_else(String::new, |below| below.text());
        let arguments = arguments.join(", ");
        if self.relationships {
            format!("list: relationships({arguments}) {{ _id node {{ _id {below} }} }}")
        } else {
            format!("list: neighbors({arguments}) {{ _id {below} }}")
        }
    }

    fn answer(&self, made: &Made, node: Ref) -> Json {
        let number_of =
            |at: Ref| made.nodes.iter().find(|(known, _)| *known == at).and_then(|(_, number)| *number);
        let mut found = Vec::new();
        for &(at, from, to, number) in &made.relationships {
            for (direction, own, other) in [(Direction::Outgoing, from, to), (Direction::Incoming, to, from)]
            {
                let named = self
                    .types
                    .as_ref()
                    .is_none_or(|types| types.iter().any(|of| *of + 1 == usize::from(at.type_number())));
                let passes = |from: Option<i64>, number: Option<i64>| {
                    from.is_none_or(|from| number.is_some_and(|number| number >= from))
                };
                if own == node
                    && named
                    && self.direction.is_none_or(|wanted| wanted == direction)
                    && passes(self.links_from, number)
                    && passes(self.nodes_from, number_of(other))
                {
                    let key = if self.relationships { number } else { number_of(other) };
                    let place = (at.shard(), direction, at.type_number(), other.id(), at.id());
                    found.push((key, place, at, other));
                }
            }
        }
        found.sort_by_key(|(_, place, ..)| *place);
        // Missing numbers are the greatest.
        let rank = |key: &Option<i64>| key.map_or(i64::MAX, |key| key);
        match self.sort {
            Some(false) => found.sort_by_key(|(key, ..)| rank(key)),
            Some(true) => found.sort_by_key(|(key, ..)| std::cmp::Reverse(rank(key))),
            None => {}
        }
        let page = found.into_iter().skip(self.offset).take(self.limit);
        page.map(|(_, _, at, other)| {
            let mut object = json!({"_id": other.id()});
            if let Some(below) = &self.below {
                object["list"] = below.answer(made, other);
            }
            if self.relationships { json!({"_id": at.id(), "node": object}) } else { object }
        })
        .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn nested_answers_are_those_of_a_plain_model(plan in plans(), list in lists()) {
        let served = Served::empty();
        let made = make(&served, &plan);
        let answer = served.answer(&format!("{{ graph_nodes(limit: 100) {{ _id {} }} }}", list.text()), "{}");
        let answer: Json = serde_json::from_str(&answer).unwrap();
        let mut nodes: Vec<Ref> = made.nodes.iter().map(|(at, _)| *at).collect();
        nodes.sort_by_key(|at| (at.type_number(), at.shard(), at.index()));
        let expected: Json =
            nodes.iter().map(|at| json!({"_id": at.id(), "list": list.answer(&made, *at)})).collect();
        prop_assert_eq!(&answer["data"]["graph_nodes"], &expected, "{}", list.text());
        prop_assert!(answer.get("errors").is_none());
    }
}

/// Whether a number passes, compared with another.
type Passes = fn(i64, i64) -> bool;

/// An operator with its operand, and whether a number passes.
fn comparisons() -> impl Strategy<Value = (String, Passes, i64)> {
    let operators: [(&str, Passes); 8] = [
        ("eq: N", |number, wanted| number == wanted),
        ("ne: N", |number, wanted| number != wanted),
        ("gt: N", |number, wanted| number > wanted),
        ("gte: N", |number, wanted| number >= wanted),
        ("lt: N", |number, wanted| number < wanted),
        ("lte: N", |number, wanted| number <= wanted),
        ("in: [N, 3]", |number, wanted| number == wanted || number == 3),
        ("not_in: [N, 3]", |number, wanted| number != wanted && number != 3),
    ];
    (0..operators.len(), -3..4_i64).prop_map(move |(operator, wanted)| {
        let (text, passes) = operators[operator];
        (text.replace('N', &wanted.to_string()), passes, wanted)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn filters_pass_the_same_with_an_index_and_without(
        plan in plans(),
        (text, passes, wanted) in comparisons(),
        negated in any::<bool>(),
        indexed in any::<bool>(),
    ) {
        let served = Served::empty();
        let made = make(&served, &plan);
        if indexed {
            served.write(|write| write.index(Side::Nodes, "User", "number"));
        }
        let clause = format!("{{number: {{{text}}}}}");
        let clause = if negated { format!("{{not: {clause}}}") } else { clause };
        let answer = served.answer(&format!("{{ users(where: {clause}) {{ _id }} }}"), "{}");
        let answer: Json = serde_json::from_str(&answer).unwrap();
        let fits = |(at, number): &&(Ref, Option<i64>)| {
            at.type_number() == 1 && number.is_some_and(|number| passes(number, wanted) != negated)
        };
        let mut expected: Vec<Ref> = made.nodes.iter().filter(fits).map(|(at, _)| *at).collect();
        expected.sort_by_key(|at| (at.shard(), at.index()));
        let expected: Json = expected.iter().map(|at| json!({"_id": at.id()})).collect();
        prop_assert_eq!(&answer["data"]["users"], &expected, "{}", clause);
    }
}
