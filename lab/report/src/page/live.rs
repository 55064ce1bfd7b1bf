//! The page of a run that goes on: the same as that of its result, drawn anew from time to time by whoever serves it.

use super::data::{LiveData, PageData};
use super::{TEMPLATE, fill, page_data, plain};
use crate::read::NamedDocument;
use prony_model::Nanos;

/// What pages that are only read are not allowed; a live one asks who serves it.
const CLOSED_POLICY: &str = "default-src 'none'; ";
const OPEN_POLICY: &str = "default-src 'none'; connect-src 'self'; ";
/// Plain pages are loaded anew, for want of scripts.
const PLAIN_REFRESH_S: u32 = 5;

/// How far the run is that a live page shows.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveMoment {
    /// Of the page, until there is a result.
    pub title: String,
    pub elapsed: Nanos,
    /// How long requests are started for.
    pub duration: Nanos,
    /// Which run of a search, a comparison or a sweep it is; empty where there is one alone.
    pub step: String,
    /// The run is over: where its result is, in a sentence. Nothing follows.
    pub end: Option<String>,
}

/// A live page as it is at a moment.
#[derive(Debug, Clone, PartialEq)]
pub struct LivePage(PageData);

impl LivePage {
    /// What has been measured so far; without documents nothing has been.
    pub fn new(documents: &[NamedDocument], moment: &LiveMoment) -> Self {
        let mut data = page_data(documents);
        if documents.is_empty() {
            data.title.clone_from(&moment.title);
        }
        if moment.end.is_none() {
            // It says itself how far it is, and a verdict is for what has ended.
            for run in &mut data.runs {
                (run.notice, run.verdict) = (None, None);
            }
        }
        data.live = Some(LiveData {
            elapsed_s: moment.elapsed.as_secs_f64(),
            duration_s: moment.duration.as_secs_f64(),
            step: moment.step.clone(),
            end: moment.end.clone(),
        });
        Self(data)
    }

    /// For a page that is open already.
    pub fn json(&self) -> String {
        serde_json::to_string(&self.0).expect("page data has only texts as keys")
    }

    /// The whole page.
    pub fn html(&self) -> String {
        match TEMPLATE {
            Ok(template) => fill(&opened(template), &self.0),
            Err(missing) => plain::live_page(&self.0, missing, PLAIN_REFRESH_S),
        }
    }
}

fn opened(template: &str) -> String {
    template.replacen(CLOSED_POLICY, OPEN_POLICY, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(end: Option<&str>) -> LivePage {
        let moment = LiveMoment {
            title: "</title><script>".to_owned(),
            elapsed: Nanos::from_secs(3),
            duration: Nanos::from_secs(60),
            step: String::new(),
            end: end.map(str::to_owned),
        };
        LivePage::new(&[], &moment)
    }

    #[test]
    fn a_page_says_how_far_its_run_is() {
        let data: serde_json::Value = serde_json::from_str(&page(None).json()).unwrap();
        assert_eq!(data["live"], serde_json::json!({ "elapsed_s": 3.0, "duration_s": 60.0, "end": null }));
        assert_eq!(data["title"], "</title><script>");
        let data: serde_json::Value = serde_json::from_str(&page(Some("it is over")).json()).unwrap();
        assert_eq!(data["live"]["end"], "it is over");
    }

    #[test]
    fn a_page_of_many_runs_says_which_one_it_shows() {
        let step = "20 users, step 2, run 1 of 3".to_owned();
        let moment = LiveMoment {
            title: "find-shop".to_owned(),
            elapsed: Nanos::ZERO,
            duration: Nanos::ZERO,
            step: step.clone(),
            end: None,
        };
        let data: serde_json::Value = serde_json::from_str(&LivePage::new(&[], &moment).json()).unwrap();
        assert_eq!(data["live"]["step"], step);
    }

    #[test]
    fn only_live_pages_may_ask_who_serves_them() {
        let html = page(None).html();
        assert!(!html.contains("<script>"), "a title became a script");
        if let Ok(template) = TEMPLATE {
            assert!(template.contains(CLOSED_POLICY) && !template.contains("connect-src"));
            assert!(html.contains(OPEN_POLICY));
            assert_eq!(opened(template).len(), template.len() + OPEN_POLICY.len() - CLOSED_POLICY.len());
        } else {
            assert!(html.contains("http-equiv=\"refresh\""));
        }
    }
}
