//! Permissions that are equal are kept once: of thousands of tables and a dozen roles most are.

use std::{
    collections::HashMap,
    fmt::{self, Write as _},
    hash::{DefaultHasher, Hasher as _},
    sync::Arc,
};

use prony_source::permissions::TablePermissions;

/// All permissions so far.
#[derive(Debug, Default)]
pub(super) struct SharedPermissions {
    /// By the hashes of their texts.
    known: HashMap<u64, Vec<Arc<TablePermissions>>>,
}

impl SharedPermissions {
    /// The one that is equal to it, which may be the one of before.
    pub(super) fn share(&mut self, permissions: TablePermissions) -> Arc<TablePermissions> {
        let mut text = HashedText(DefaultHasher::new());
        // Hashing does not fail.
        let _ = write!(text, "{permissions:?}");
        let known = self.known.entry(text.0.finish()).or_default();
        if let Some(equal) = known.iter().find(|known| ***known == permissions) {
            return Arc::clone(equal);
        }
        let shared = Arc::new(permissions);
        known.push(Arc::clone(&shared));
        shared
    }
}

/// Conditions have no hash of their own, and their texts need not be kept.
struct HashedText(DefaultHasher);

impl fmt::Write for HashedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use prony_source::permissions::SelectPermission;

    use super::*;
    use crate::settings::always;

    #[test]
    fn equal_permissions_are_one() {
        let mut shared = SharedPermissions::default();
        let limited = |limit| {
            let select = SelectPermission { limit: Some(limit), ..SelectPermission::of_rows(always()) };
            TablePermissions { select: Some(select), ..TablePermissions::default() }
        };
        let (one, same, other) =
            (shared.share(limited(1)), shared.share(limited(1)), shared.share(limited(2)));
        assert!(Arc::ptr_eq(&one, &same));
        assert!(!Arc::ptr_eq(&one, &other));
        assert_eq!(*other, limited(2));
    }
}
