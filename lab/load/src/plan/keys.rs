//! What a plan may hold, as types: [`tables`](super::tables) lists every key with its form, default and help, and the
//! check of a file, the JSON Schema and the reference in `docs/plans.md` all follow from that one list.

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Text,
    /// A text such as `500ms` or `1m30s`.
    Duration,
    /// A whole number from 0 to `max`.
    Whole {
        max: u64,
    },
    /// Any whole number.
    Integer,
    /// A number that is not negative, with or without decimals.
    Decimal,
    Flag,
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// Anything that JSON can hold.
    Any,
    List(&'static Form),
    Table(&'static Table),
    /// A table whose names are the writer's.
    Map(&'static Form),
    /// Told apart by their types in TOML, so that a mistake within one is named and not the choice itself.
    OneOf(&'static [Form]),
}

/// A table of which these keys are known.
#[derive(Debug)]
pub(super) struct Table {
    /// In the schema's `$defs` and in the reference.
    pub(super) name: &'static str,
    /// Groups, because some tables share some of theirs.
    pub(super) groups: &'static [&'static [Key]],
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// As it would be written; nothing where absence is a case of its own.
    pub(super) default: &'static str,
    /// As it would be written, for messages.
    pub(super) example: &'static str,
    pub(super) is_required: bool,
    /// One sentence or two, in Markdown.
    pub(super) help: &'static str,
}

pub(super) const fn key(name: &'static str, form: Form, example: &'static str, help: &'static str) -> Key {
    Key { name, form, default: "", example, is_required: false, help }
}

impl Key {
    pub(super) const fn or(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub(super) const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }
}

impl Table {
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key> {
        self.groups.iter().flat_map(|group| group.iter())
    }

    pub(super) fn find(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys().map(|key| key.name).collect()
    }
}
