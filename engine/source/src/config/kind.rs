//! Kinds of sources: what the server must know of a kind to take its sources from a configuration. A new kind of source is
//! a crate with a [`SourceKind`] and a line where the kinds are listed.

use std::{any::Any, borrow::Cow, error::Error, fmt::Debug, ops::Range, path::Path, sync::Arc};

use futures_util::future::LocalBoxFuture;
use toml::{Spanned, de::DeValue};

use super::{
    address::{AddressForm, SourceUrl},
    fault::{Faults, Origin},
    file::{FileEntry, FileText},
    option::{ConfigOption, GivenValue, OptionOf},
};
use crate::Source;

/// The kinds of sources that a program serves, in the order in which messages name them.
pub type Kinds<'a> = &'a [&'a dyn SourceKind];

/// A kind of source.
pub trait SourceKind: Debug + Send + Sync {
    fn address(&self) -> AddressForm;

    /// A key of `[[source]]` under which its address may stand too, beside `url`.
    fn address_key(&self) -> Option<&'static str> {
        None
    }

    /// The address of a file or directory that is there and of this kind, where somebody has given nothing but its path.
    fn address_of(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Where passwords stand in an address of this kind: byte positions, in their order, for who writes it where others read it.
    fn secrets(&self, _address: &str) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// Options of `[[source]]`, in the order of the reference. Kinds may share some: one key, one flag, one meaning.
    fn options(&self) -> Vec<&'static dyn ConfigOption>;

    /// Tables inside of `[[source]]` that the kind reads itself.
    fn sections(&self) -> &'static [&'static str] {
        &[]
    }

    /// Keys of the options and sections that count while a source is served, where the configuration is read again.
    fn taken_again(&self) -> &'static [&'static str] {
        &[]
    }

    /// Defaults of the server that are others where the kind is served.
    fn server_defaults(&self) -> &'static [ServerDefault] {
        &[]
    }

    /// Where a server can have only one source of the kind, what to say of a second one.
    fn only_one(&self) -> Option<&'static str> {
        None
    }

    /// Makes settings of what is given; nothing is opened or read yet. All that is wrong goes to `faults`, and then nothing
    /// needs to be returned.
    fn configure(&self, entry: &SourceEntry<'_>, faults: &mut Faults) -> Option<Arc<dyn SourceOpener>>;
}

/// A default of an option of `[server]` that is another where a kind of source is served. Of several numbers the highest
/// holds.
#[derive(Debug, Clone, Copy)]
pub struct ServerDefault {
    /// The option's key.
    pub key: &'static str,
    /// As the option's flag would have it.
    pub value: &'static str,
    /// Whether it holds only where no other kind is served.
    pub only_alone: bool,
    /// For the option's help: `port 7243 where only a graph is served`.
    pub help: &'static str,
}

/// One source as its user has written it, for its kind.
#[derive(Debug)]
pub struct SourceEntry<'a> {
    pub url: &'a SourceUrl,
    pub url_origin: &'a Origin,
    /// Those of the file, then those of flags, which win; also of options that other kinds have.
    pub values: &'a [GivenValue],
    pub sections: &'a [SourceSection<'a>],
}

/// A table inside of `[[source]]`, for the kind that reads it.
#[derive(Debug, Clone)]
pub struct SourceSection<'t> {
    file: FileText<'t>,
    key: Spanned<Cow<'t, str>>,
    value: Spanned<DeValue<'t>>,
}

impl<'t> SourceSection<'t> {
    pub fn new(file: &FileText<'t>, entry: FileEntry<'_, 't>) -> Self {
        Self { file: file.clone(), key: entry.key().clone(), value: entry.value().clone() }
    }

    /// Its key and its value.
    pub fn entry(&self) -> FileEntry<'_, 't> {
        self.file.entry(&self.key, &self.value)
    }
}

impl SourceEntry<'_> {
    /// Changes settings by the values that are given of their options; the later one of an option wins.
    pub fn apply<S>(&self, options: &[OptionOf<S>], settings: &mut S) {
        for given in self.values {
            let key = given.option.spec().key;
            if let Some(option) = options.iter().find(|option| option.spec.key == key) {
                option.apply(settings, &given.value);
            }
        }
    }

    /// The section of this name, where it is given.
    pub fn section(&self, name: &str) -> Option<FileEntry<'_, '_>> {
        self.sections.iter().map(SourceSection::entry).find(|entry| entry.name() == name)
    }
}

/// A configured source, ready to be opened.
pub trait SourceOpener: Debug + Send + Sync {
    /// Opens it; called on a thread with a `LocalSet`, where it may block, before anything is served.
    ///
    /// # Errors
    /// Why it cannot be served, for people who run the server.
    fn open(&self) -> Opening<'_>;

    /// The same with names that begin so, where its user has chosen none; none of a source that has no such names.
    fn with_name_prefix(&self, _prefix: &str) -> Option<Arc<dyn SourceOpener>> {
        None
    }

    /// The same for who serves nothing and wants to know what there is: opened so that nothing of it is changed. None where opening changes
    /// nothing anyway.
    fn only_looking(&self) -> Option<Arc<dyn SourceOpener>> {
        None
    }

    /// Its settings, for [`Source::reconfigured`] of a source of its kind; none where no setting changes while it is served.
    fn settings(&self) -> Option<&dyn Any> {
        None
    }

    /// Names of variables of the session that it wants to know of each request, beside those of permissions.
    fn session_variables(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A source that is being opened.
pub type Opening<'a> = LocalBoxFuture<'a, Result<Arc<dyn Source>, Box<dyn Error + Send + Sync>>>;
