//! Collecting faults of settings, with the nearest name that exists.

use crate::model::Model;
use crate::settings::SettingsFault;

/// All faults found so far.
#[derive(Debug, Default)]
pub(super) struct Faults {
    found: Vec<SettingsFault>,
}

impl Faults {
    pub(super) fn add(&mut self, path: &[&str], message: impl Into<String>) {
        let path = path.iter().map(|&step| step.to_owned()).collect();
        self.found.push(SettingsFault { path, message: message.into() });
    }

    pub(super) fn into_result(self, model: Model) -> Result<Model, Vec<SettingsFault>> {
        if self.found.is_empty() { Ok(model) } else { Err(self.found) }
    }
}

/// `; did you mean …?` for the candidate that is most like `name`, or nothing.
pub(crate) fn suggestion<'c>(name: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    /// Below this Jaro-Winkler similarity a name is no help.
    const ALIKE: f64 = 0.75;
    let lower = name.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map_or_else(String::new, |(_, nearest)| format!("; did you mean `{nearest}`?"))
}
