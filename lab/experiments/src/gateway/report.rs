//! The study's table with the published figures beside ours, and what each layer costs.

use prony_model::Conclusion;
use prony_report::StudyData;

use super::{
    layer_runs::LayerRun,
    outcome::GatewayOutcome,
    page,
    published::CONDITIONS,
    study::{LAYER_USERS, Query},
    tables::{layers_of, layers_table, notes, published_table, setting, users_table},
};
use crate::{
    frame::{self, Head},
    markdown::{document, seconds},
};

impl frame::Outcome for GatewayOutcome {
    fn head_mut(&mut self) -> &mut Head {
        &mut self.head
    }

    fn render(&self) -> String {
        let mut parts = vec![
            format!("# {}", page::TITLE),
            setting(self),
            format!("What differs from the study: {CONDITIONS}."),
        ];
        if !self.steps.is_empty() {
            parts.extend(users_parts(self));
        }
        for (query, runs) in layers_of(self) {
            parts.extend(layers_parts(self, query, &runs));
        }
        document(parts, &notes(self))
    }

    fn page(&self) -> Option<(StudyData, Vec<&str>)> {
        Some((page::study(self), self.steps.iter().map(|step| step.file.as_str()).collect()))
    }

    fn conclusion(&self) -> Conclusion {
        let successes =
            |requests: u64, error_share: f64| (requests as f64 * (1.0 - error_share)).round() as u64;
        let steps = self.steps.iter().map(|step| (step.requests, successes(step.requests, step.error_share)));
        let layers = self.layers.iter().map(|run| (run.figures.requests, run.figures.successes));
        let (requests, good) =
            steps.chain(layers).fold((0, 0), |(all, good), one| (all + one.0, good + one.1));
        frame::conclusion_of(requests, good)
    }
}

fn users_parts(outcome: &GatewayOutcome) -> Vec<String> {
    let pace = &outcome.pace;
    vec![
        "## Operations by users".to_owned(),
        format!(
            "TLS, a JWT (RS256) of one of 1,000 users with each request, a rate limit by user, depth and complexity. Users ask again as soon \
             as they have their response, for {} of which the first {} are not counted.",
            seconds(pace.step()),
            seconds(pace.warm_up)
        ),
        users_table(&outcome.steps).render(),
        "The same beside the study's figures: requests/s, mean, p95.".to_owned(),
        published_table(&outcome.steps).render(),
    ]
}

fn layers_parts(outcome: &GatewayOutcome, query: Query, runs: &[LayerRun]) -> Vec<String> {
    vec![
        format!("## What each layer costs: {}", query.label()),
        format!(
            "{LAYER_USERS} users without think time, {} a run, {} rounds in turns; each layer against the bare proxy of the same round. \
             Ranges hold together in 95 of 100 comparisons.",
            seconds(outcome.pace.layer),
            outcome.pace.rounds
        ),
        layers_table(query, runs).render(),
    ]
}
