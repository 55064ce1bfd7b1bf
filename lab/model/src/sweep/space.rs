//! What a sweep goes through, as lists of values, and their combinations.

use super::TARGET_PREFIX;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// At 40 s each, the shortest that makes sense, this many take almost five days.
pub const COMBINATIONS_MAX: usize = 10_000;
/// Of the names of a combination's files, without their endings. File systems take 255 with the longest of these, that of a result
/// which is being written.
const FILE_STEM_BYTES_MAX: usize = 230;

/// The values of each variable. Where a list is empty, the variable is not swept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepSpace {
    pub users: Vec<u32>,
    pub payloads: Vec<PayloadSize>,
    pub settings: Vec<Setting>,
}

/// A message that requests carry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PayloadSize {
    /// `1024B`, or the name of the file that it was read from.
    pub name: String,
    pub bytes: u64,
}

/// A name and the values that it takes one after the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub values: Vec<String>,
}

/// One point of the space.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Combination {
    /// Absent where the load is the plan's own.
    pub users: Option<u32>,
    pub payload: Option<PayloadSize>,
    /// Names and values, in the order in which they were asked for.
    pub settings: Vec<(String, String)>,
}

/// A space that cannot be gone through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpaceError {
    #[error("nothing is swept; write for example --users 50,100,200")]
    Nothing,
    #[error(
        "{count} combinations are more than {COMBINATIONS_MAX}; leave out some values, or make several sweeps"
    )]
    TooMany { count: usize },
    #[error("`{name}` is set twice; write all of its values at once, such as --set {name}=A,B")]
    SettingTwice { name: String },
    #[error("`{value}` is given twice for `{variable}`; leave one of them out")]
    ValueTwice { variable: String, value: String },
    #[error(
        "`{name}` is given twice for `--payload`; leave one of them out, or give two files names of their own"
    )]
    MessageTwice { name: String },
    #[error(
        "two combinations would have the same file, `{file}`: their values differ only in characters that names of files cannot have"
    )]
    SameFile { file: String },
    #[error(
        "the files of a combination would have a name of {bytes} bytes, and {FILE_STEM_BYTES_MAX} are the most: `{file}`; make values \
         shorter, or give them names in what is run"
    )]
    LongFile { file: String, bytes: usize },
}

impl SweepSpace {
    /// All combinations: settings of the target change least often, then users, message sizes, and other settings.
    pub fn combinations(&self) -> Result<Vec<Combination>, SpaceError> {
        self.check()?;
        let (of_target, others): (Vec<_>, Vec<_>) =
            self.settings.iter().partition(|setting| setting.name.starts_with(TARGET_PREFIX));
        let mut all = vec![Combination::default()];
        for setting in of_target {
            all = each(&all, &setting.values, |combination, value| {
                combination.settings.push((setting.name.clone(), value.clone()));
            });
        }
        all = each(&all, &self.users, |combination, users| combination.users = Some(*users));
        all = each(&all, &self.payloads, |combination, payload| combination.payload = Some(payload.clone()));
        for setting in others {
            all = each(&all, &setting.values, |combination, value| {
                combination.settings.push((setting.name.clone(), value.clone()));
            });
        }
        if let Some(file) =
            all.iter().map(Combination::file_stem).find(|file| file.len() > FILE_STEM_BYTES_MAX)
        {
            return Err(SpaceError::LongFile { bytes: file.len(), file });
        }
        let mut files = BTreeSet::new();
        match all.iter().map(Combination::file_stem).find(|file| !files.insert(file.clone())) {
            Some(file) => Err(SpaceError::SameFile { file }),
            None => Ok(all),
        }
    }

    fn check(&self) -> Result<(), SpaceError> {
        let lengths = [self.users.len(), self.payloads.len()];
        let lengths = lengths.into_iter().chain(self.settings.iter().map(|setting| setting.values.len()));
        let count = lengths.clone().fold(1_usize, |product, length| product.saturating_mul(length.max(1)));
        if lengths.clone().all(|length| length == 0) {
            return Err(SpaceError::Nothing);
        }
        if count > COMBINATIONS_MAX {
            return Err(SpaceError::TooMany { count });
        }
        if let Some(setting) = repeated(&self.settings, |setting| &setting.name) {
            return Err(SpaceError::SettingTwice { name: setting.name.clone() });
        }
        if let Some(users) = repeated(&self.users, |users| users) {
            return Err(SpaceError::ValueTwice { variable: "--users".to_owned(), value: users.to_string() });
        }
        if let Some(payload) = repeated(&self.payloads, |payload| &payload.name) {
            return Err(SpaceError::MessageTwice { name: payload.name.clone() });
        }
        let twice = |setting: &Setting| {
            let value = repeated(&setting.values, |value| value)?.clone();
            Some(SpaceError::ValueTwice { variable: setting.name.clone(), value })
        };
        self.settings.iter().find_map(twice).map_or(Ok(()), Err)
    }
}

/// The first that is called as one before it.
fn repeated<V, K: Ord>(values: &[V], key: impl Fn(&V) -> &K) -> Option<&V> {
    let mut known = BTreeSet::new();
    values.iter().find(|&value| !known.insert(key(value)))
}

/// Each of `all` with each of `values`; unchanged where there are none.
fn each<V>(all: &[Combination], values: &[V], set: impl Fn(&mut Combination, &V)) -> Vec<Combination> {
    if values.is_empty() {
        return all.to_vec();
    }
    let with = |combination: &Combination| {
        let made = values.iter().map(|value| {
            let mut combination = combination.clone();
            set(&mut combination, value);
            combination
        });
        made.collect::<Vec<_>>()
    };
    all.iter().flat_map(with).collect()
}

impl Combination {
    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// For people: `50 users, 1024B, target.heap=512m`.
    pub fn label(&self) -> String {
        let users = self.users.map(|users| match users {
            1 => "1 user".to_owned(),
            users => format!("{users} users"),
        });
        let payload = self.payload.as_ref().map(|payload| payload.name.clone());
        let settings = self.settings.iter().map(|(name, value)| format!("{name}={value}"));
        users.into_iter().chain(payload).chain(settings).collect::<Vec<_>>().join(", ")
    }

    /// Of files, without their endings: `users-50_payload-1024B_target.heap-512m`.
    pub fn file_stem(&self) -> String {
        let is_safe = |c: char| c.is_alphanumeric() || "-.".contains(c);
        let safe = |text: &str| text.chars().map(|c| if is_safe(c) { c } else { '-' }).collect::<String>();
        let users = self.users.map(|users| format!("users-{users}"));
        let payload = self.payload.as_ref().map(|payload| format!("payload-{}", safe(&payload.name)));
        let settings = self.settings.iter().map(|(name, value)| format!("{}-{}", safe(name), safe(value)));
        users.into_iter().chain(payload).chain(settings).collect::<Vec<_>>().join("_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, values: &[&str]) -> Setting {
        Setting { name: name.to_owned(), values: values.iter().map(ToString::to_string).collect() }
    }

    fn size(bytes: u64) -> PayloadSize {
        PayloadSize { name: format!("{bytes}B"), bytes }
    }

    #[test]
    fn settings_of_the_target_change_least_often_and_others_most_often() {
        let space = SweepSpace {
            users: vec![200, 50],
            payloads: vec![size(50), size(10_240)],
            settings: vec![setting("größe", &["a b"]), setting("target.heap", &["512m", "1g"])],
        };
        let all = space.combinations().unwrap();
        assert_eq!(all.len(), 8);
        assert_eq!(all[0].label(), "200 users, 50B, target.heap=512m, größe=a b");
        assert_eq!(all[0].file_stem(), "users-200_payload-50B_target.heap-512m_größe-a-b");
        assert_eq!(all[1].label(), "200 users, 10240B, target.heap=512m, größe=a b");
        assert_eq!(all[2].users, Some(50));
        assert_eq!((all[4].setting("target.heap"), all[4].setting("x")), (Some("1g"), None));
    }

    #[test]
    fn what_is_not_swept_is_left_as_it_is() {
        let space = SweepSpace { settings: vec![setting("id", &["1", "2"])], ..SweepSpace::default() };
        let labels: Vec<_> = space.combinations().unwrap().iter().map(Combination::label).collect();
        assert_eq!(labels, ["id=1", "id=2"]);
        let one = SweepSpace { users: vec![1], ..SweepSpace::default() };
        assert_eq!(one.combinations().unwrap()[0].label(), "1 user");
    }

    #[test]
    fn spaces_that_make_no_sense_are_refused() {
        let nothing = SweepSpace { settings: vec![setting("id", &[])], ..SweepSpace::default() };
        assert_eq!(nothing.combinations(), Err(SpaceError::Nothing));
        let users: Vec<u32> = (1..=COMBINATIONS_MAX as u32 + 1).collect();
        let many = SweepSpace { users, ..SweepSpace::default() };
        assert_eq!(many.combinations(), Err(SpaceError::TooMany { count: COMBINATIONS_MAX + 1 }));
        let twice = SweepSpace {
            settings: vec![setting("a", &["1"]), setting("a", &["2"])],
            ..SweepSpace::default()
        };
        assert_eq!(twice.combinations(), Err(SpaceError::SettingTwice { name: "a".to_owned() }));
        let same = SweepSpace { settings: vec![setting("x", &["a b", "a/b"])], ..SweepSpace::default() };
        assert!(matches!(same.combinations(), Err(SpaceError::SameFile { .. })));
    }

    /// Its two results would have the same file, for no reason that has to do with characters.
    #[test]
    fn a_value_that_is_given_twice_is_said_to_be() {
        let said = |space: SweepSpace| space.combinations().unwrap_err().to_string();
        let settings = SweepSpace { settings: vec![setting("x", &["a", "b", "a"])], ..SweepSpace::default() };
        assert_eq!(said(settings), "`a` is given twice for `x`; leave one of them out");
        let users = SweepSpace { users: vec![50, 100, 50], ..SweepSpace::default() };
        assert_eq!(said(users), "`50` is given twice for `--users`; leave one of them out");
        // Of two folders.
        let files = [3, 5].map(|bytes| PayloadSize { name: "order.json".to_owned(), bytes });
        let payloads = SweepSpace { payloads: files.to_vec(), ..SweepSpace::default() };
        assert_eq!(
            said(payloads),
            "`order.json` is given twice for `--payload`; leave one of them out, or give two files names of their own"
        );
    }

    /// Its result could not be written, after it was measured.
    #[test]
    fn a_combination_whose_files_cannot_be_made_is_refused() {
        let of = |value: &str| {
            let settings = vec![setting("query", &["short", value])];
            SweepSpace { settings, ..SweepSpace::default() }.combinations()
        };
        // A letter of two bytes: a file system counts these.
        let (longest, too_long) = ("ü".repeat(112), "ü".repeat(113));
        assert_eq!(of(&longest).unwrap().len(), 2);
        let expected = SpaceError::LongFile { file: format!("query-{too_long}"), bytes: 232 };
        assert_eq!(of(&too_long), Err(expected));
    }
}
