//! Options: a table of them makes flags, help, the keys of the file and the reference in the documentation.

use std::fmt::{self, Debug};

use super::{
    fault::{Fault, Origin},
    value::{TypedValue, ValueKind},
};

/// What an option is called and what it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OptionSpec {
    /// The key in the file; in a table of options each has its own.
    pub key: &'static str,
    /// The flag without dashes; none for options that only the file has.
    pub flag: Option<&'static str>,
    pub kind: ValueKind,
    /// As it would be written in a file.
    pub default: &'static str,
    pub help: &'static str,
}

/// An option of the settings `S`.
pub struct OptionOf<S> {
    pub spec: OptionSpec,
    /// The error says what is wrong with the value.
    set: fn(&mut S, &TypedValue) -> Result<(), String>,
}

impl<S> Debug for OptionOf<S> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.spec.key)
    }
}

/// An option, whatever it changes.
pub trait ConfigOption: Debug + Send + Sync {
    fn spec(&self) -> &OptionSpec;

    /// Whether settings can take a value of the option's [kind](OptionSpec::kind).
    ///
    /// # Errors
    /// What is wrong with it.
    fn check(&self, value: &TypedValue) -> Result<(), String>;
}

/// One option as it was given.
#[derive(Debug, Clone)]
pub struct GivenValue {
    pub option: &'static dyn ConfigOption,
    pub value: TypedValue,
    pub origin: Origin,
}

impl<S> OptionOf<S> {
    pub const fn new(
        key: &'static str,
        flag: Option<&'static str>,
        kind: ValueKind,
        default: &'static str,
        help: &'static str,
        set: fn(&mut S, &TypedValue) -> Result<(), String>,
    ) -> Self {
        Self { spec: OptionSpec { key, flag, kind, default, help }, set }
    }

    /// An option that settings of several kinds of sources have.
    pub const fn with(spec: OptionSpec, set: fn(&mut S, &TypedValue) -> Result<(), String>) -> Self {
        Self { spec, set }
    }

    /// Changes the settings.
    ///
    /// # Panics
    /// Where the value has not been [checked](ConfigOption::check).
    pub fn apply(&self, settings: &mut S, value: &TypedValue) {
        (self.set)(settings, value).expect("values are checked where they are read");
    }
}

impl<S: Default> ConfigOption for OptionOf<S> {
    fn spec(&self) -> &OptionSpec {
        &self.spec
    }

    fn check(&self, value: &TypedValue) -> Result<(), String> {
        (self.set)(&mut S::default(), value)
    }
}

/// The options of a table, whatever they change.
pub fn all<S: Default>(options: &'static [OptionOf<S>]) -> Vec<&'static dyn ConfigOption> {
    options.iter().map(|option| option as &dyn ConfigOption).collect()
}

impl GivenValue {
    /// Reads the values of an option's flag; whether settings can take them is still to be [checked](Self::check).
    ///
    /// # Errors
    /// Values that are not of the option's kind.
    pub fn from_flag(option: &'static dyn ConfigOption, texts: &[String]) -> Result<Self, Fault> {
        let spec = option.spec();
        Self::read(option, Origin::Flag(spec.flag.unwrap_or(spec.key)), texts)
    }

    /// As [`from_flag`](Self::from_flag), of texts from elsewhere.
    ///
    /// # Errors
    /// Values that are not of the option's kind.
    pub fn read(option: &'static dyn ConfigOption, origin: Origin, texts: &[String]) -> Result<Self, Fault> {
        match option.spec().kind.read_texts(texts) {
            Ok(value) => Ok(Self { option, value, origin }),
            Err(message) => Err(Fault { origin, message }),
        }
    }

    /// Whether settings can take the value.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn check(&self) -> Result<(), Fault> {
        let checked = self.option.check(&self.value);
        checked.map_err(|message| Fault { origin: self.origin.clone(), message })
    }
}
