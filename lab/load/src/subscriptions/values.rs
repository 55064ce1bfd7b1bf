//! What each subscription takes from the plan's variables: the same for one seed, however many threads there are.

use prony_model::Plan;
use prony_model::data::template::Template;
use prony_model::data::variable::{Choice, Drawn, ValueOf, Variable};
use prony_model::subscription::Subscription;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

/// Users' waits and values are drawn from the streams below this one.
const STREAMS: u64 = 2 << 32;
/// Streams of one group of subscribers.
const STREAMS_OF_GROUP: u64 = 1 << 24;

/// The values of one subscription.
pub(crate) struct SubscriberValues<'a> {
    variables: &'a [Variable],
    chosen: Vec<(usize, Choice)>,
}

impl<'a> SubscriberValues<'a> {
    /// `number` counts the subscriptions of the group. Feeders that are counted give it the row of this number.
    pub(crate) fn new(plan: &'a Plan, group: usize, subscription: &Subscription, number: u64) -> Self {
        let variables = plan.variables();
        let mut random = ChaCha8Rng::seed_from_u64(plan.seed());
        random.set_stream(STREAMS + group as u64 * STREAMS_OF_GROUP + number);
        let choose = |index: usize| {
            // A feeder that is exhausted was a fault of the plan.
            variables[index].choose(&mut random, number).ok().map(|choice| (index, choice))
        };
        Self { variables, chosen: subscription.variables().into_iter().filter_map(choose).collect() }
    }

    pub(crate) fn render(&self, template: &Template) -> Vec<u8> {
        let mut out = Vec::new();
        template.render(self, &mut out);
        out
    }
}

impl ValueOf for SubscriberValues<'_> {
    fn value_of(&self, variable: usize) -> Drawn<'_> {
        let chosen = self.chosen.iter().find(|(index, _)| *index == variable);
        chosen.map_or(Drawn::NOTHING, |(index, choice)| self.variables[*index].drawn(*choice))
    }
}
