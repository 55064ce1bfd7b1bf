//! What each session is told at its start. One refused setting is no refused connection: what can be done without is left out from
//! then on, and said.

use std::fmt::Write as _;

use prony_postgres_connect::describe;
use prony_sql::settings::PoolMode;
use tokio_postgres::{Client, SimpleQueryMessage};

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

/// The commands that a transaction begins with where no session is ours: behind a pooler that hands connections out for a transaction
/// each, what is set for a session would be left to others.
pub(crate) fn of_transaction(target: &Target) -> Option<String> {
    if target.pool_mode == PoolMode::Session {
        return None;
    }
    let mut text = String::new();
    for setting in settings(target, PlanMode::Custom) {
        let name = match setting.name {
            // Statements have no plans that could be kept, and messages are not shown.
            "plan_cache_mode" | "client_min_messages" => continue,
            "default_transaction_read_only" => "transaction_read_only",
            name => name,
        };
        let separator = if text.is_empty() { "" } else { "; " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{separator}set local {name} = {}", setting.value);
    }
    Some(text)
}

/// Sets a session up, and asks whether it takes writes, in one go where the server refuses nothing.
///
/// # Errors
/// The connection broke, or the server refuses what values cannot be read without.
pub(crate) async fn apply(client: &Client, target: &Target, mode: PlanMode) -> Result<SessionState, String> {
    let mut commands = String::new();
    if target.pool_mode == PoolMode::Session {
        for setting in settings(target, mode) {
            // Writing to a string cannot fail.
            let _ = write!(commands, "set {} = {}; ", setting.name, setting.value);
        }
    }
    commands.push_str("show transaction_read_only");
    match client.simple_query(&commands).await {
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
    if target.pool_mode == PoolMode::Transaction {
        return Ok(());
    }
    for setting in settings(target, mode) {
        let name = setting.name;
        let Err(error) = client.batch_execute(&format!("set {name} = {}", setting.value)).await else {
            continue;
        };
        let reason = describe(&error);
        if error.as_db_error().is_none() {
            return Err(reason);
        }
        match setting.need {
            Need::Can => target.refuse(name, &reason),
            Need::Must if is_so_already(client, &setting).await => {}
            Need::Must => {
                return Err(format!("the server refuses to set {name} to {}: {reason}", setting.value));
            }
        }
    }
    Ok(())
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
