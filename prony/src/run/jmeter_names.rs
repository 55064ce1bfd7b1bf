//! Flags of JMeter that are not there: they are known by name, and refused with what to do instead.

use std::path::{Path, PathBuf};

/// Known so that they can be named. Only `-f` does what it asks for, because files of samples are written anew anyway.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct JmeterNames {
    #[arg(short = 'e', long = "reportatendofloadtests", hide = true)]
    makes_dashboard: bool,
    #[arg(short = 'o', long = "reportoutputfolder", hide = true)]
    dashboard_folder: Option<PathBuf>,
    #[arg(short = 'f', long = "forceDeleteResultFile", hide = true)]
    writes_anew: bool,
    #[arg(short = 'j', long = "jmeterlogfile", hide = true)]
    log_file: Option<PathBuf>,
    #[arg(short = 'p', long = "propfile", hide = true)]
    main_properties: Option<PathBuf>,
    #[arg(short = 'D', long = "systemproperty", hide = true)]
    system_properties: Vec<String>,
    #[arg(short = 'S', long = "systemPropertyFile", hide = true)]
    system_property_files: Vec<PathBuf>,
    /// And what belongs to it: port, names that go past it, user, password.
    #[arg(short = 'H', long = "proxyHost", hide = true)]
    #[arg(short_aliases = ['P', 'N', 'u', 'a'], aliases = ["proxyPort", "nonProxyHosts", "username", "password"])]
    proxy: Vec<String>,
    #[arg(short = 'L', long = "loglevel", hide = true)]
    #[arg(short_aliases = ['i', 'd'], aliases = ["jmeterlogconf", "homedir"])]
    settings_of_jmeter: Vec<String>,
    #[arg(short = 'G', long = "globalproperty", hide = true)]
    global_properties: Vec<String>,
    #[arg(short = 'r', long = "runremote", short_alias = 'X', alias = "remoteexit", hide = true)]
    is_remote: bool,
    #[arg(short = 'R', long = "remotestart", hide = true)]
    remote_hosts: Option<String>,
}

impl JmeterNames {
    /// What to write instead of all that were given; `jtl` is the file of samples that the same command line names.
    pub(super) fn instead(&self, jtl: Option<&Path>) -> Option<String> {
        let mut all = Vec::new();
        if self.makes_dashboard || self.dashboard_folder.is_some() {
            let samples = jtl.unwrap_or(Path::new("samples.jtl")).display();
            let first = if jtl.is_some() { String::new() } else { format!("run with -l {samples}, and ") };
            all.push(format!(
                "-e and -o: the dashboard is made when the run is over; {first}then type prony report {samples} --html dashboard.html"
            ));
        }
        if let Some(file) = &self.log_file {
            all.push(format!("-j: the log is on standard error; write 2> {}", file.display()));
        }
        if let Some(file) = &self.main_properties {
            all.push(format!("-p: a file of properties is given by -q {}", file.display()));
        }
        if let Some(given) = self.system_properties.first() {
            all.push(format!(
                "-D{given}: there is no Java, and so none of its system properties; the plan's own are set by -J"
            ));
        }
        if let Some(file) = self.system_property_files.first() {
            all.push(format!(
                "-S {}: there is no Java, and so none of its system properties; the plan's own are set by -J",
                file.display()
            ));
        }
        if !self.proxy.is_empty() {
            all.push(
                "-H, -P, -N, -u and -a: requests go to the target itself, through no proxy; leave them out"
                    .to_owned(),
            );
        }
        if !self.settings_of_jmeter.is_empty() {
            all.push(
                "-L, -i and -d: the log has no levels, and there is no folder of JMeter; leave them out"
                    .to_owned(),
            );
        }
        if self.is_remote || self.remote_hosts.is_some() || !self.global_properties.is_empty() {
            all.push(
                "-r, -R, -X and -G: several machines make one load with --workers, and have the properties of -J (docs/workers.md)"
                    .to_owned(),
            );
        }
        (!all.is_empty()).then(|| format!("flags of JMeter that are not there: {}", all.join("; ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use expect_test::{Expect, expect};

    #[derive(Debug, Parser)]
    struct Line {
        #[arg(short = 'l')]
        jtl: Option<PathBuf>,
        #[command(flatten)]
        names: JmeterNames,
    }

    fn check(line: &str, expected: &Expect) {
        let line = Line::parse_from(["run"].into_iter().chain(line.split_whitespace()));
        expected.assert_eq(&line.names.instead(line.jtl.as_deref()).unwrap_or_default());
    }

    #[test]
    fn what_jmeter_would_do_is_said_in_our_words() {
        check(
            "-l out.jtl -e -o report -j jmeter.log",
            &expect![
                "flags of JMeter that are not there: -e and -o: the dashboard is made when the run is over; then type prony report out.jtl --html dashboard.html; -j: the log is on standard error; write 2> jmeter.log"
            ],
        );
        check(
            "-e",
            &expect![
                "flags of JMeter that are not there: -e and -o: the dashboard is made when the run is over; run with -l samples.jtl, and then type prony report samples.jtl --html dashboard.html"
            ],
        );
        check(
            "-p own.properties -Duser.language=de -R host1,host2",
            &expect![
                "flags of JMeter that are not there: -p: a file of properties is given by -q own.properties; -Duser.language=de: there is no Java, and so none of its system properties; the plan's own are set by -J; -r, -R, -X and -G: several machines make one load with --workers, and have the properties of -J (docs/workers.md)"
            ],
        );
        check(
            "-S java.properties -H proxy -P 8080 -u ann -a secret -LDEBUG -X",
            &expect![
                "flags of JMeter that are not there: -S java.properties: there is no Java, and so none of its system properties; the plan's own are set by -J; -H, -P, -N, -u and -a: requests go to the target itself, through no proxy; leave them out; -L, -i and -d: the log has no levels, and there is no folder of JMeter; leave them out; -r, -R, -X and -G: several machines make one load with --workers, and have the properties of -J (docs/workers.md)"
            ],
        );
        check("-f -l out.jtl", &expect![""]);
    }
}
