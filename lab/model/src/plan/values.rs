//! Whether every value that a scenario's requests need can be there when they need it: captured before, and enough
//! rows where none may be used twice.

use crate::data::variable::{Order, Share, Take, Variable};
use crate::load::{IterationBudget, LoadModel};
use crate::plan::request::Request;
use crate::plan::scenario::{Flow, Scenario};
use crate::plan::{Fault, Field, Place};

pub(crate) fn check(
    variables: &[Variable],
    requests: &[Request],
    scenarios: &[Scenario],
    faults: &mut Vec<Fault>,
) {
    for scenario in scenarios {
        check_captures(variables, requests, scenario, faults);
    }
    for (index, variable) in variables.iter().enumerate() {
        if let Some(message) = row_fault(index, variable, requests, scenarios) {
            faults.push(Fault { place: Place::Variable(index), message });
        }
    }
}

/// Each value must come from an earlier step of the same iteration.
fn check_captures(
    variables: &[Variable],
    requests: &[Request],
    scenario: &Scenario,
    faults: &mut Vec<Fault>,
) {
    let mut there = vec![false; variables.len()];
    let (order, is_sequence): (Vec<_>, _) = match &scenario.flow {
        Flow::Mix { weights, .. } => (weights.iter().map(|(request, _)| *request).collect(), false),
        Flow::Sequence(steps) => (steps.iter().map(|step| step.request).collect(), true),
        Flow::Script => return,
    };
    for index in order {
        let request = &requests[index];
        let missing = |needed: Vec<usize>, there: &[bool]| {
            needed.into_iter().find(|variable| variables[*variable].is_captured() && !there[*variable])
        };
        if !is_sequence {
            there.fill(false);
        }
        let before = missing(request.variables(), &there);
        request.captures.iter().for_each(|capture| there[capture.variable] = true);
        let Some(variable) = before.or_else(|| missing(request.check_variables(), &there)) else { continue };
        let (name, from) = (&request.name, &variables[variable].name);
        let message = if is_sequence {
            format!("`{name}` needs `${{{from}}}`, which no earlier step of `{}` captures", scenario.name)
        } else {
            format!(
                "`{name}` needs `${{{from}}}`, which another request captures, and each iteration of `{}` is a \
                 single request; give it `steps`",
                scenario.name
            )
        };
        let fault = Fault { place: Place::Request(index, Field::Name), message };
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
}

/// Where a feeder gives no row twice and the load can ask for more than it has.
fn row_fault(
    index: usize,
    variable: &Variable,
    requests: &[Request],
    scenarios: &[Scenario],
) -> Option<String> {
    let feeder = variable.feeder().filter(|feeder| feeder.order == Order::Unique)?;
    let is_asked = |scenario: &&Scenario| {
        let mut sent = (0..requests.len()).filter(|request| scenario.flow.sends(*request));
        sent.any(|at| {
            requests[at].variables().contains(&index) || requests[at].check_variables().contains(&index)
        })
    };
    let asked = scenarios.iter().filter(is_asked);
    // Where checks compare responses with values, all requests of a pipeline have the same.
    let has_one_row = requests.iter().any(|request| !request.check_variables().is_empty());
    let rows_of = |scenario: &Scenario| {
        let each = if feeder.take == Take::Once || has_one_row { 1 } else { u64::from(scenario.pipeline) };
        Some(rows_asked(&scenario.load, feeder.share, feeder.take)?.saturating_mul(each))
    };
    let needed = asked.filter_map(rows_of).fold(0, u64::saturating_add);
    let rows = feeder.rows.len() as u64;
    (needed > rows).then(|| {
        let (name, whose) = (
            &variable.name,
            match feeder.share {
                Share::AllUsers => "the load",
                Share::EachUser => "each user",
            },
        );
        format!(
            "`{name}` has {rows} rows and gives none twice, but {whose} can ask for {needed}; \
             add rows, or write `order = \"sequential\"`"
        )
    })
}

/// How many rows a load can ask for, where that is known before the run.
fn rows_asked(load: &LoadModel, share: Share, take: Take) -> Option<u64> {
    let users = u64::from(load.users_max());
    match (share, take) {
        (Share::EachUser, Take::Once) => Some(1),
        (Share::AllUsers, Take::Once) => Some(users),
        (Share::EachUser, _) => load.budget.of_each_user(),
        (Share::AllUsers, _) => match load.budget {
            IterationBudget::EachUser(iterations) => Some(users.saturating_mul(iterations)),
            IterationBudget::Shared(iterations) => Some(iterations),
            IterationBudget::Unlimited => load.rates().map(|rates| rates.starts()),
        },
    }
}
