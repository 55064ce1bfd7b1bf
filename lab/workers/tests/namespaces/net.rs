//! Machines of a test on one: network namespaces, each with a link of its own to a switch in another one. All is gone with the value.

use std::process::{Child, Command, Stdio};

/// As other machines see the one with the switch, where server and coordinator are.
pub(crate) const HUB: &str = "10.231.77.1";
const BITS: u32 = 24;

/// Namespaces with the switch `hub` and machines `1` to `count`.
#[derive(Debug)]
pub(crate) struct Net {
    prefix: String,
    count: u32,
}

/// Why there are none.
pub(crate) type Refusal = String;

impl Net {
    pub(crate) fn make(count: u32) -> Result<Self, Refusal> {
        // Others run their tests on the same machine.
        let prefix = format!("prony-{}-", std::process::id());
        let net = Self { prefix, count };
        let hub = net.namespace("hub");
        ip(&["netns", "add", &hub])?;
        ip(&["-n", &hub, "link", "set", "lo", "up"])?;
        ip(&["-n", &hub, "link", "add", "switch", "type", "bridge"])?;
        ip(&["-n", &hub, "address", "add", &format!("{HUB}/{BITS}"), "dev", "switch"])?;
        ip(&["-n", &hub, "link", "set", "switch", "up"])?;
        (1..=count).try_for_each(|number| net.machine(&hub, number))?;
        Ok(net)
    }

    fn machine(&self, hub: &str, number: u32) -> Result<(), Refusal> {
        let (own, port) = (self.namespace(&number.to_string()), port(number));
        ip(&["netns", "add", &own])?;
        ip(&["-n", &own, "link", "set", "lo", "up"])?;
        ip(&["-n", hub, "link", "add", &port, "type", "veth", "peer", "name", "uplink", "netns", &own])?;
        ip(&["-n", hub, "link", "set", &port, "master", "switch"])?;
        ip(&["-n", hub, "link", "set", &port, "up"])?;
        let address = format!("10.231.77.{}/{BITS}", number + 1);
        ip(&["-n", &own, "address", "add", &address, "dev", "uplink"])?;
        ip(&["-n", &own, "link", "set", "uplink", "up"])
    }

    fn namespace(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Starts a program on a machine, or beside the switch; killed when the child is dropped.
    pub(crate) fn start(&self, machine: &str, command: &Command) -> Running {
        let mut inside = Command::new("ip");
        inside.args(["netns", "exec", &self.namespace(machine)]).arg(command.get_program());
        inside.args(command.get_args());
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // `ip netns exec` becomes the program.
        Running(inside.spawn().expect("iproute2 is installed"))
    }

    /// Drops everything on the way to and from a machine, or no longer.
    pub(crate) fn set_link(&self, number: u32, is_up: bool) {
        let state = if is_up { "up" } else { "down" };
        let hub = self.namespace("hub");
        ip(&["-n", &hub, "link", "set", &port(number), state]).expect("the link is there");
    }
}

fn port(number: u32) -> String {
    format!("port{number}")
}

impl Drop for Net {
    fn drop(&mut self) {
        let machines = (1..=self.count).map(|number| number.to_string());
        for name in machines.chain(["hub".to_owned()]) {
            // One that was not made is not there.
            let _ = ip(&["netns", "delete", &self.namespace(&name)]);
        }
    }
}

fn ip(arguments: &[&str]) -> Result<(), Refusal> {
    let output = Command::new("ip").args(arguments).output();
    let output = output.map_err(|error| format!("cannot start ip (Debian: iproute2): {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
}

/// A process on one of the machines.
#[derive(Debug)]
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// Until it ends by itself.
    pub(crate) fn wait(&mut self) -> bool {
        self.0.wait().is_ok_and(|status| status.success())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
