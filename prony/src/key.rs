//! `prony key`: makes API keys. A key is printed once; the configuration keeps only its hash.

use std::{
    process::ExitCode,
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, ensure};
use prony_server::config::{KEY_RANDOM_BYTES, check_role_name, new_key, unix_time};

#[derive(Debug, clap::Args)]
pub(crate) struct KeyArguments {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum KeyCommand {
    /// Print a new key, and what the configuration keeps of it.
    New(NewArguments),
}

#[derive(Debug, clap::Args)]
struct NewArguments {
    /// The role of who brings it
    #[arg(long)]
    role: String,
    /// By which it is known in logs, and revoked; the role's where none is given
    #[arg(long)]
    name: Option<String>,
    /// When it ends, as a date or a time: 2027-01-01, 2027-01-01T12:00:00Z
    #[arg(long, value_name = "TIME")]
    expires: Option<String>,
}

pub(crate) fn execute(arguments: &KeyArguments) -> anyhow::Result<ExitCode> {
    let KeyCommand::New(arguments) = &arguments.command;
    check_role(&arguments.role)?;
    if let Some(time) = &arguments.expires {
        check_end(time, SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))?;
    }
    let mut random = [0; KEY_RANDOM_BYTES];
    getrandom::fill(&mut random).context("the system gives no random bytes")?;
    let key = new_key(&random);
    let name = arguments.name.as_deref().unwrap_or(&arguments.role);
    let record = key.record(name, &arguments.role, arguments.expires.as_deref());
    let record = record.replace("[[api_key]]", "[[auth.api_key]]");
    crate::print(&format!(
        "{}\n\n# The key above is shown once and is nowhere kept. For the configuration, which is read again at SIGHUP:\n{record}",
        key.printed
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// A configuration would refuse the record of a key that was printed, and the key is shown only once.
fn check_role(role: &str) -> anyhow::Result<()> {
    check_role_name(role).context("--role")
}

/// As [`check_role`], of a time that is none or has passed.
fn check_end(time: &str, now: u64) -> anyhow::Result<()> {
    let end = unix_time(time).with_context(|| {
        format!("--expires {time:?} is no time: write 2027-01-01 or 2027-01-01T12:00:00Z")
    })?;
    ensure!(u64::try_from(end).is_ok_and(|end| end > now), "--expires {time:?} has passed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_of_roles_that_there_may_be() {
        for role in ["owner", "a-b.c_1", "_"] {
            assert!(check_role(role).is_ok(), "{role}");
        }
        for role in ["", "a b", "1", "ü"] {
            let message = format!("{:#}", check_role(role).expect_err(role));
            assert!(message.starts_with(&format!("--role: `{role}` is no name of a role")), "{message}");
        }
    }

    #[test]
    fn keys_end_at_a_time_that_is_to_come() {
        let told = |time: &str| check_end(time, 1_800_000_000).map_err(|error| error.to_string());
        for time in ["2027-01-16", "2027-01-15T08:00:01Z", "2027-01-15T10:00:01+02:00"] {
            assert_eq!(told(time), Ok(()), "{time}");
        }
        for (time, expected) in [
            ("2027-01-15T08:00:00Z", "has passed"),
            ("1969-12-31", "has passed"),
            ("tomorrow", "is no time"),
            ("12:00:00", "is no time"),
            ("", "is no time"),
        ] {
            let message = told(time).expect_err(time);
            assert!(message.contains(expected), "{message}");
        }
    }
}
