//! How a plan's request judges its answers: status, GraphQL errors, captures, checks; each check counted by itself.

use super::values::Values;
use prony_client::Sink;
use prony_model::measurement::counts::{CheckCount, Counts};
use prony_model::plan::request::{AnswerCheck, Request};
use prony_model::program::{Answer, Keep};
use prony_model::{Outcome, Plan};

/// The judge of one request.
#[derive(Debug)]
pub(super) struct Judge<'a> {
    request: &'a Request,
    keep: Keep,
    /// The place of its first check among all of the plan.
    first_check: usize,
    /// Checks in the whole plan.
    checks: usize,
    variables: Vec<usize>,
}

impl<'a> Judge<'a> {
    pub(super) fn all(plan: &'a Plan) -> Vec<Self> {
        let counts: Vec<_> = plan.requests().iter().map(|request| request.check_names().count()).collect();
        let checks = counts.iter().sum();
        let mut first_check = 0;
        let judge = |(request, count): (&'a Request, &usize)| {
            let first = first_check;
            first_check += count;
            let is_filled = |variable: &usize| !plan.variables()[*variable].is_captured();
            let variables = request.check_variables().into_iter().filter(is_filled).collect();
            Self { request, keep: request.keep(), first_check: first, checks, variables }
        };
        plan.requests().iter().zip(&counts).map(judge).collect()
    }

    pub(super) fn has_variables(&self) -> bool {
        !self.variables.is_empty()
    }

    /// Those that feeders fill and its checks compare answers with.
    pub(super) fn variables(&self) -> &[usize] {
        &self.variables
    }

    pub(super) fn judge(
        &self,
        answer: &Answer<'_>,
        user: usize,
        values: &mut Values<'_>,
        counts: &mut Counts,
    ) -> Outcome {
        let keeps_checks = self.captures_and_checks(answer, user, values, counts);
        if !self.request.expect.accepts(answer.status) {
            Outcome::Status(answer.status)
        } else if self.has_graphql_errors(answer) {
            Outcome::GraphQlErrors
        } else if keeps_checks {
            Outcome::Success
        } else {
            Outcome::FailedCheck
        }
    }

    /// Where the whole answer is kept, nobody has looked for errors while it came.
    fn has_graphql_errors(&self, answer: &Answer<'_>) -> bool {
        if self.keep != Keep::Whole || self.request.check != AnswerCheck::GraphQl {
            return answer.has_graphql_errors;
        }
        let mut search = Sink::new(Keep::GraphQlErrors, &mut Vec::new());
        search.feed_whole(answer.body);
        search.answer(answer.status).has_graphql_errors
    }

    fn captures_and_checks(
        &self,
        answer: &Answer<'_>,
        user: usize,
        values: &mut Values<'_>,
        counts: &mut Counts,
    ) -> bool {
        if self.request.captures.is_empty() && self.request.checks.is_empty() {
            return true;
        }
        counts.checks.resize(self.checks, CheckCount::default());
        let mut needed = self.first_check + self.request.checks.len();
        let mut all_kept = true;
        for capture in &self.request.captures {
            let taken = capture.draft.take(answer);
            if capture.draft.default.is_none() {
                all_kept &= counted(&mut counts.checks[needed], taken.is_ok());
                needed += 1;
            }
            if let Ok(captured) = taken {
                values.capture(user, capture.variable, captured);
            }
        }
        for (check, count) in self.request.checks.iter().zip(&mut counts.checks[self.first_check..]) {
            all_kept &= counted(count, check.rule.is_kept_by(answer, &values.of(user)));
        }
        all_kept
    }
}

fn counted(count: &mut CheckCount, is_kept: bool) -> bool {
    *(if is_kept { &mut count.passed } else { &mut count.failed }) += 1;
    is_kept
}
