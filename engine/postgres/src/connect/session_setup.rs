//! What each session is told at its start. One refused setting is no refused connection: what can be done without is left out from
//! then on, and said.

use std::fmt::Write as _;

use prony_postgres_connect::describe;
use prony_sql::settings::PoolMode;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use super::config::{PlanMode, Target};

/// Whether values have another form without it, or rows could be changed that must not be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Must,
    Can,
}

struct Setting {
    name: &'static str,
    value: String,
    need: Need,
}

/// What a session says once it is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SessionState {
    /// Transactions may change rows.
    pub(crate) is_writable: bool,
}

fn settings(target: &Target, mode: PlanMode) -> Vec<Setting> {
    let must = |name, value: &str| Setting { name, value: value.to_owned(), need: Need::Must };
    let can = |name, value: String| Setting { name, value, need: Need::Can };
    let mut settings = vec![
        can("statement_timeout", target.statement_timeout_ms.to_string()),
        can("lock_timeout", target.lock_timeout_ms.to_string()),
        can("plan_cache_mode", mode.setting().to_owned()),
        // Forms of values must not depend on the server's settings.
        must("datestyle", "'ISO, YMD'"),
        must("intervalstyle", "'postgres'"),
        must("timezone", "'UTC'"),
        must("bytea_output", "'hex'"),
        must("extra_float_digits", "1"),
        must("standard_conforming_strings", "on"),
        // Where it is off a null in a list is written as a text.
        can("array_nulls", "on".to_owned()),
        can("client_min_messages", "error".to_owned()),
        can("jit", "off".to_owned()),
    ];
    // What the server or the role says otherwise stays.
    if target.read_only {
        settings.push(must("default_transaction_read_only", "on"));
    }
    settings.retain(|setting| setting.need == Need::Must || !target.is_refused(setting.name));
    settings
}

/// Of a transaction where no session is ours, by the names that they have there.
fn settings_of_transaction(target: &Target) -> Vec<Setting> {
    let mut settings = settings(target, PlanMode::Custom);
    // Statements have no plans that could be kept, and messages are not shown.
    settings.retain(|setting| !matches!(setting.name, "plan_cache_mode" | "client_min_messages"));
    for setting in &mut settings {
        if setting.name == "default_transaction_read_only" {
            setting.name = "transaction_read_only";
        }
    }
    settings
}

/// The commands that a transaction begins with where no session is ours: behind a pooler that hands connections out for a transaction
/// each, what is set for a session would be left to others.
pub(crate) fn of_transaction(target: &Target) -> Option<String> {
    if target.pool_mode == PoolMode::Session {
        return None;
    }
    let commands = settings_of_transaction(target).into_iter();
    let commands = commands.map(|Setting { name, value, .. }| format!("set local {name} = {value}"));
    Some(commands.collect::<Vec<_>>().join("; "))
}

/// Sets a session up, and asks whether it takes writes, in one go where the server refuses nothing. Where no session is ours it is only
/// found out what the server refuses.
///
/// # Errors
/// The connection broke, or the server refuses what values cannot be read without.
pub(crate) async fn apply(client: &Client, target: &Target, mode: PlanMode) -> Result<SessionState, String> {
    let asked = if let Some(setup) = of_transaction(target) {
        format!("begin; show transaction_read_only; {setup}; rollback")
    } else {
        let mut commands = String::new();
        for setting in settings(target, mode) {
            // Writing to a string cannot fail.
            let _ = write!(commands, "set {} = {}; ", setting.name, setting.value);
        }
        commands + "show transaction_read_only"
    };
    match client.simple_query(&asked).await {
        Ok(messages) => Ok(state(&messages)),
        Err(error) if error.as_db_error().is_none() => Err(describe(&error)),
        Err(_) => {
            singly(client, target, mode).await?;
            let shown = client.simple_query("show transaction_read_only").await;
            // Where it cannot be asked, nothing is known of a failover either.
            Ok(shown.map_or(SessionState { is_writable: false }, |messages| state(&messages)))
        }
    }
}

/// One setting after the other.
async fn singly(client: &Client, target: &Target, mode: PlanMode) -> Result<(), String> {
    let is_ours = target.pool_mode == PoolMode::Session;
    let settings = if is_ours { settings(target, mode) } else { settings_of_transaction(target) };
    if !is_ours {
        // What was refused has left its transaction open.
        client.batch_execute("rollback").await.map_err(|error| describe(&error))?;
    }
    for setting in settings {
        let Err(error) = attempt(client, &setting, is_ours).await else { continue };
        let reason = describe(&error);
        if error.as_db_error().is_none() {
            return Err(reason);
        }
        match setting.need {
            Need::Can => target.refuse(setting.name, &reason),
            Need::Must if is_so_already(client, &setting).await => {}
            Need::Must => {
                let Setting { name, value, .. } = setting;
                return Err(format!("the server refuses to set {name} to {value}: {reason}"));
            }
        }
    }
    Ok(())
}

/// Sets it, and leaves nothing of it where the session is not ours.
async fn attempt(client: &Client, setting: &Setting, is_ours: bool) -> Result<(), Error> {
    let Setting { name, value, .. } = setting;
    if is_ours {
        return client.batch_execute(&format!("set {name} = {value}")).await;
    }
    let outcome = client.batch_execute(&format!("begin; set local {name} = {value}")).await;
    let ended = client.batch_execute("rollback").await;
    outcome.and(ended)
}

/// Whether the server has the value all the same.
async fn is_so_already(client: &Client, setting: &Setting) -> bool {
    let shown = client.simple_query(&format!("show {}", setting.name)).await.unwrap_or_default();
    let wanted = setting.value.trim_matches('\'');
    first_value(&shown).is_some_and(|value| value.eq_ignore_ascii_case(wanted))
}

fn state(messages: &[SimpleQueryMessage]) -> SessionState {
    SessionState { is_writable: first_value(messages) == Some("off") }
}

fn first_value(messages: &[SimpleQueryMessage]) -> Option<&str> {
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    })
}
