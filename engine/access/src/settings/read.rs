//! Reading the values of `auth` and `roles`, and what must hold between the two.

use prony_source::config::{Faults, FileEntry, Origin, suggestion};

use super::{
    auth::AuthReader,
    condition::Conditions,
    roles,
    types::{AccessSettings, ConfigInputs, Openness, ROLE_VARIABLE},
};

/// What to do about a variable that is like none of those that are given.
const NOTHING_GIVES_IT: &str =
    "; give it a claim of tokens in `claims` of [[auth.jwt]], or a value in `session` of [[auth.api_key]]";

impl AccessSettings {
    /// Reads the values of `auth` and `roles`. Whether sources and their tables exist is not known here.
    ///
    /// All that is wrong goes to `faults`; what is returned then is of no use.
    pub fn read(
        auth: Option<FileEntry<'_, '_>>,
        roles: Option<FileEntry<'_, '_>>,
        inputs: &ConfigInputs<'_>,
        faults: &mut Faults,
    ) -> Self {
        let mut conditions = Conditions::default();
        let mut settings = Self::default();
        if let Some(roles) = roles {
            settings.roles = roles::read(roles, &mut conditions, faults);
        }
        let mut variables = Vec::new();
        if let Some(auth) = auth {
            let mut reader = AuthReader { settings: &mut settings, inputs, variables: &mut variables };
            reader.read(auth, faults);
        }
        if let Some(roles) = roles.filter(|_| settings.openness != Openness::Closed) {
            let message =
                "roles need [auth], which says who has them; without it everybody may do everything";
            faults.push(roles.key_origin(), message);
        } else if settings.webhook.is_none() {
            // What a webhook will say is not known.
            check_variables(&conditions, &variables, faults);
        }
        settings.names = conditions.names;
        settings.given_variables = settings.webhook.is_none().then_some(variables);
        settings
    }

    /// Has sources know variables of the session, each with the place where it is asked for.
    pub fn tell_sources(&mut self, wanted: &[(String, Origin)], faults: &mut Faults) {
        for (name, origin) in wanted {
            if let (Openness::Closed, Some(given)) = (self.openness, &self.given_variables) {
                check_variable(name, origin, given, faults);
            }
            let index = self.names.index(name);
            if !self.source_variables.contains(&index) {
                self.source_variables.push(index);
            }
        }
        if !wanted.is_empty() {
            self.source_names = Some(self.names.names().map(Into::into).collect());
        }
    }
}

/// Variables that nothing ever gives would hide all rows.
fn check_variables(conditions: &Conditions, given: &[String], faults: &mut Faults) {
    for (name, origin) in &conditions.used {
        check_variable(name, origin, given, faults);
    }
}

fn check_variable(name: &str, origin: &Origin, given: &[String], faults: &mut Faults) {
    let known = || given.iter().map(String::as_str).chain([ROLE_VARIABLE]);
    if known().any(|known| known == name) {
        return;
    }
    let likely = suggestion(name, known());
    let help = if likely.is_empty() { NOTHING_GIVES_IT } else { &likely };
    faults.push(origin.clone(), format!("session variable `{name}` is unknown{help}"));
}
