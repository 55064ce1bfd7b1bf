//! A transaction that knows who asks: the database's own row-level security reads what it begins with. A connection has one at a
//! time, so that nothing of one session can be seen by another.

use std::{fmt::Write as _, rc::Rc};

use prony_graphql::{error::GraphqlError, variables::Variables};
use prony_sql::{session_settings::SessionValues, settings::RelationalSettings};
use tokio::sync::mpsc;

use crate::{
    connect::{
        link::{Answer, Chore, Executed, Link, Progress, StatementText},
        pool::Permit,
    },
    error::{Failure, FailureKind},
    statement::bound::Bound,
};

/// The commands that begin a transaction for a request; none where its statements run as the connection's own user.
///
/// # Errors
/// What must be known of the session is not.
pub(crate) fn begin(
    settings: &RelationalSettings,
    setup: Option<&str>,
    variables: &Variables,
) -> Result<Option<Rc<str>>, GraphqlError> {
    let values = match (&settings.session, setup) {
        (Some(session), _) => session.values(variables)?,
        (None, Some(_)) => SessionValues { settings: Vec::new(), role: None },
        (None, None) => return Ok(None),
    };
    Ok(Some(commands(&values, setup).into()))
}

/// They undo whatever the connection was left with, and set all that may be set. `setup` is what sessions are told at their start, where
/// no session is ours.
fn commands(values: &SessionValues, setup: Option<&str>) -> String {
    let mut text = "rollback; begin".to_owned();
    if let Some(setup) = setup {
        text.push_str("; ");
        text.push_str(setup);
    }
    for (index, (name, value)) in values.settings.iter().enumerate() {
        text.push_str(if index == 0 { "; select " } else { ", " });
        // Writing to a string cannot fail.
        let _ = write!(text, "set_config({}, {}, true)", literal(name), literal(value));
    }
    if let Some(role) = &values.role {
        let _ = write!(text, "; set local role \"{}\"", role.replace('"', "\"\""));
    }
    text
}

/// A text in quotes: `standard_conforming_strings` is on in all sessions.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A connection on which a transaction may be open. Dropping it ends the transaction before anybody else has the connection.
struct Scope {
    permit: Option<Permit>,
    end: &'static str,
    chores: mpsc::UnboundedSender<Chore>,
}

impl Drop for Scope {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let end = self.end;
        // Fails only when the core is being torn down, and then the connection is closed anyway.
        let _ = self.chores.send(Box::pin(async move {
            let _ = permit.link.batch(end).await;
            drop(permit);
        }));
    }
}

/// Runs a read in a transaction of its own. The statement is sent only once the transaction has begun: a failure of its beginning
/// must not leave a statement that runs as somebody else.
pub(crate) async fn execute<A: Answer>(
    permit: Permit,
    begin: &str,
    statement: (&StatementText, &[Bound]),
    answer: A,
    progress: &Progress,
    chores: mpsc::UnboundedSender<Chore>,
) -> Executed<A> {
    let link: Rc<Link> = Rc::clone(&permit.link);
    let mut scope = Scope { permit: Some(permit), end: "rollback", chores };
    if let Err(failure) = begin_on(&link, begin).await {
        return Executed { result: Err(failure), service: std::time::Duration::ZERO, is_first: true };
    }
    let (text, parameters) = statement;
    let executed = link.execute(text, parameters, answer, progress).await;
    if executed.result.is_ok() {
        scope.end = "commit";
    }
    executed
}

/// Begins a transaction by these commands.
pub(crate) async fn begin_on(link: &Rc<Link>, begin: &str) -> Result<(), Failure> {
    link.batch(begin).await.map_err(|mut failure| {
        // No value of the request is meant, but one of the session: a role that is not there.
        if failure.kind == FailureKind::BadValue {
            failure.kind = FailureKind::Failed;
        }
        failure
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_roles_stand_in_quotes() {
        let values = SessionValues {
            settings: vec![
                ("app.user".to_owned(), "o'neil'; drop table x; --".to_owned()),
                ("app.n".to_owned(), "\\'".to_owned()),
            ],
            role: Some("we\"b".to_owned()),
        };
        assert_eq!(
            commands(&values, None),
            "rollback; begin; select set_config('app.user', 'o''neil''; drop table x; --', true), \
             set_config('app.n', '\\''', true); set local role \"we\"\"b\""
        );
        let nothing = SessionValues { settings: Vec::new(), role: None };
        assert_eq!(commands(&nothing, None), "rollback; begin");
        assert_eq!(commands(&nothing, Some("set local a = 1")), "rollback; begin; set local a = 1");
    }
}
