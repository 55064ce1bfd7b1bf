//! What a first configuration says beside its sources, as flags say it, or whoever sits at the terminal.

use std::{io::BufRead, net::SocketAddr};

use anyhow::bail;

#[derive(Debug, Default, clap::Args)]
pub(super) struct ChoiceArguments {
    /// Where the server is to listen
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Make an API key, and let nobody in without one
    #[arg(long)]
    key: bool,
    /// Let those who have no key read every table
    #[arg(long, requires = "key")]
    visitors: bool,
    /// Let everybody who reaches the server do everything
    #[arg(long, conflicts_with = "key")]
    open: bool,
    /// Whether there are pages for people at / (true)
    #[arg(long, value_name = "BOOLEAN")]
    console: Option<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choices {
    /// None is the default of what is served.
    pub(super) listen: Option<SocketAddr>,
    pub(super) who: WhoAsks,
    /// Whether there are pages for people.
    pub(super) console: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WhoAsks {
    /// Everybody on this machine.
    ThisMachine,
    /// Whoever has the key.
    Key,
    /// Whoever has the key; others may read.
    KeyAndVisitors,
    /// Whoever reaches the server.
    Everybody,
}

impl WhoAsks {
    pub(super) fn needs_key(self) -> bool {
        matches!(self, Self::Key | Self::KeyAndVisitors)
    }
}

impl Choices {
    /// As flags say; what they do not say is as the server has it by itself. `default` is where it would listen.
    pub(super) fn given(arguments: &ChoiceArguments, default: SocketAddr) -> anyhow::Result<Self> {
        let who = match (arguments.key, arguments.visitors, arguments.open) {
            (true, true, _) => WhoAsks::KeyAndVisitors,
            (true, false, _) => WhoAsks::Key,
            (false, _, true) => WhoAsks::Everybody,
            (false, _, false) => WhoAsks::ThisMachine,
        };
        Self { listen: arguments.listen, who, console: arguments.console.unwrap_or(true) }.checked(default)
    }

    /// As somebody answers; nothing is asked that flags say.
    pub(super) fn asked(
        arguments: &ChoiceArguments,
        default: SocketAddr,
        questions: &mut Questions<impl BufRead>,
    ) -> anyhow::Result<Self> {
        let listen = match arguments.listen {
            Some(listen) => listen,
            None => questions.address(
                "Where is it to listen? 127.0.0.1 is this machine alone, 0.0.0.0 its networks too",
                default,
            )?,
        };
        let who = if arguments.key || arguments.open {
            Self::given(arguments, listen)?.who
        } else {
            who_asks(listen, questions)?
        };
        let console = match arguments.console {
            Some(console) => console,
            None => questions.yes("Are there to be pages for people, at /?", true)?,
        };
        Self { listen: Some(listen).filter(|listen| *listen != default), who, console }.checked(default)
    }

    /// `prony serve` would not start where nothing says who may ask from other machines.
    fn checked(self, default: SocketAddr) -> anyhow::Result<Self> {
        let listen = self.listen.unwrap_or(default);
        if self.who == WhoAsks::ThisMachine && !listen.ip().is_loopback() {
            bail!(
                "other machines reach {listen}, and nothing says who may ask: add --key (whoever has an API key) or --open (everybody)"
            );
        }
        Ok(self)
    }
}

fn who_asks(listen: SocketAddr, questions: &mut Questions<impl BufRead>) -> anyhow::Result<WhoAsks> {
    let is_of_this_machine = listen.ip().is_loopback();
    if questions.yes("Is an API key to be needed?", !is_of_this_machine)? {
        let visitors =
            questions.yes("May those who have none read every table, and change nothing?", false)?;
        return Ok(if visitors { WhoAsks::KeyAndVisitors } else { WhoAsks::Key });
    }
    let is_open =
        !is_of_this_machine && questions.yes("May everybody who reaches it do everything, then?", false)?;
    Ok(if is_open { WhoAsks::Everybody } else { WhoAsks::ThisMachine })
}

/// Questions at a terminal, each with its default, which an empty line takes.
pub(super) struct Questions<R> {
    answers: R,
}

impl<R: BufRead> Questions<R> {
    pub(super) fn new(answers: R) -> Self {
        Self { answers }
    }

    /// A line without blanks around it.
    pub(super) fn line(&mut self, prompt: &str) -> anyhow::Result<String> {
        crate::print(prompt)?;
        let mut text = String::new();
        self.answers.read_line(&mut text)?;
        Ok(text.trim().to_owned())
    }

    fn address(&mut self, question: &str, default: SocketAddr) -> anyhow::Result<SocketAddr> {
        let mut prompt = format!("{question} [{default}]\n> ");
        loop {
            let answer = self.line(&prompt)?;
            if answer.is_empty() {
                return Ok(default);
            }
            if let Ok(address) = answer.parse() {
                return Ok(address);
            }
            prompt = format!("`{answer}` is no ADDRESS:PORT; write one such as 0.0.0.0:8080\n> ");
        }
    }

    fn yes(&mut self, question: &str, default: bool) -> anyhow::Result<bool> {
        let shown = if default { "yes" } else { "no" };
        let mut prompt = format!("{question} [{shown}]\n> ");
        loop {
            match self.line(&prompt)?.to_lowercase().as_str() {
                "" => return Ok(default),
                "y" | "yes" => return Ok(true),
                "n" | "no" => return Ok(false),
                other => prompt = format!("`{other}` is neither yes nor no\n> "),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: &str = "127.0.0.1:8080";
    const EVERYWHERE: &str = "0.0.0.0:80";

    fn asked(flags: &ChoiceArguments, answers: &str) -> Result<Choices, String> {
        let mut questions = Questions::new(answers.as_bytes());
        let choices = Choices::asked(flags, HERE.parse().unwrap(), &mut questions);
        assert_eq!(questions.answers, b"", "all is read");
        choices.map_err(|error| error.to_string())
    }

    fn choices(listen: Option<&str>, who: WhoAsks, console: bool) -> Choices {
        Choices { listen: listen.map(|listen| listen.parse().unwrap()), who, console }
    }

    #[test]
    fn empty_lines_take_the_defaults() {
        assert_eq!(
            asked(&ChoiceArguments::default(), "\n\n\n"),
            Ok(choices(None, WhoAsks::ThisMachine, true))
        );
        assert_eq!(asked(&ChoiceArguments::default(), ""), Ok(choices(None, WhoAsks::ThisMachine, true)));
        let reachable = choices(Some(EVERYWHERE), WhoAsks::Key, true);
        assert_eq!(asked(&ChoiceArguments::default(), "0.0.0.0:80\n\n\n\n"), Ok(reachable));
    }

    #[test]
    fn answers_are_taken_and_asked_for_again_where_they_are_none() {
        let said = "everywhere\n0.0.0.0:80\nperhaps\nyes\nY\nno\n";
        let expected = choices(Some(EVERYWHERE), WhoAsks::KeyAndVisitors, false);
        assert_eq!(asked(&ChoiceArguments::default(), said), Ok(expected));
        let open = choices(Some(EVERYWHERE), WhoAsks::Everybody, true);
        assert_eq!(asked(&ChoiceArguments::default(), "0.0.0.0:80\nno\nyes\n\n"), Ok(open));
    }

    #[test]
    fn what_flags_say_is_not_asked() {
        let flags = ChoiceArguments {
            listen: Some(EVERYWHERE.parse().unwrap()),
            open: true,
            console: Some(false),
            ..ChoiceArguments::default()
        };
        assert_eq!(asked(&flags, ""), Ok(choices(Some(EVERYWHERE), WhoAsks::Everybody, false)));
        let flags = ChoiceArguments { key: true, visitors: true, ..ChoiceArguments::default() };
        assert_eq!(asked(&flags, "\n\n"), Ok(choices(None, WhoAsks::KeyAndVisitors, true)));
    }

    #[test]
    fn nobody_may_be_everybody_without_a_word() {
        let refused = asked(&ChoiceArguments::default(), "0.0.0.0:80\nno\nno\n\n").unwrap_err();
        assert!(refused.contains("add --key") && refused.contains("0.0.0.0:80"), "{refused}");
        let flags =
            ChoiceArguments { listen: Some(EVERYWHERE.parse().unwrap()), ..ChoiceArguments::default() };
        assert!(Choices::given(&flags, HERE.parse().unwrap()).is_err());
    }
}
