//! Flags of `prony run URL` on the command lines of `find`, `compare` and `sweep`, which say the load of an address in their own way:
//! they are known by name, and refused with what to write.

use anyhow::bail;

/// Known so that they can be named; none of them does anything.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct RunNames {
    #[arg(short = 'c', long, hide = true)]
    connections: Option<String>,
    #[arg(short = 'd', hide = true)]
    short_duration: Option<String>,
    #[arg(short = 'R', hide = true)]
    short_rate: Option<String>,
    #[arg(long, hide = true)]
    pacing: Option<String>,
    #[arg(short = 'H', long = "header", hide = true)]
    headers: Vec<String>,
    #[arg(short = 's', long, hide = true)]
    script: Option<String>,
}

/// What a command has in the place of a flag.
#[derive(Debug)]
pub(crate) struct RunFlagsInstead {
    /// Such as `prony find`.
    pub(crate) command: &'static str,
    pub(crate) connections: &'static str,
    pub(crate) duration: &'static str,
    pub(crate) rate: &'static str,
}

impl RunNames {
    /// An error that says what to write instead of all that were given.
    pub(crate) fn refuse(&self, instead: &RunFlagsInstead) -> anyhow::Result<()> {
        let command = instead.command;
        let mut all = Vec::new();
        if self.connections.is_some() {
            all.push(format!("in the place of --connections write {}", instead.connections));
        }
        if self.short_duration.is_some() {
            all.push(format!("in the place of -d write {}", instead.duration));
        }
        if self.short_rate.is_some() {
            all.push(format!("in the place of -R write {}", instead.rate));
        }
        if self.pacing.is_some() {
            all.push("in the place of --pacing write `pacing` into a plan".to_owned());
        }
        if !self.headers.is_empty() {
            all.push(format!(
                "an address is asked without headers of your own: make a plan that has them, prony from-curl 'curl URL -H …' -o plan.toml, \
                 and then {command} plan.toml"
            ));
        }
        if let Some(script) = &self.script {
            all.push(format!("a script stands before its address: {command} {script} URL"));
        }
        if !all.is_empty() {
            bail!("flags of prony run are not those of {command}: {}", all.join("; "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        names: RunNames,
    }

    #[test]
    fn what_to_write_instead_is_said_of_all_at_once() {
        let instead = RunFlagsInstead {
            command: "prony find",
            connections: "--from and --max",
            duration: "--hold",
            rate: "--vary rate",
        };
        let said = |line: &[&str]| {
            let line = Line::parse_from(["find"].iter().chain(line));
            line.names.refuse(&instead).map_err(|error| error.to_string())
        };
        assert_eq!(
            said(&["-c", "50", "-d10s", "-R", "9", "-s", "a.lua"]),
            Err("flags of prony run are not those of prony find: in the place of --connections write --from and --max; in the place of -d \
                 write --hold; in the place of -R write --vary rate; a script stands before its address: prony find a.lua URL"
                .to_owned())
        );
        let pacing = said(&["--pacing", "1s"]).unwrap_err();
        assert!(pacing.ends_with("in the place of --pacing write `pacing` into a plan"), "{pacing}");
        let headers = said(&["-H", "A: b"]).unwrap_err();
        assert!(headers.contains("prony from-curl") && headers.contains("prony find plan.toml"), "{headers}");
        assert_eq!(said(&[]), Ok(()));
    }
}
