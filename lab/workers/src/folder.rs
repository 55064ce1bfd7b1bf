//! Folders of temporary files that nobody else on the machine may read: plans come with keys and passwords.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

/// A new one, which only this user may enter, and which is gone when it is dropped.
pub(crate) fn private_folder() -> io::Result<TempDir> {
    tempfile::Builder::new().prefix("prony-").permissions(Permissions::from_mode(0o700)).tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn nobody_else_may_enter_a_folder_of_temporary_files() {
        let folder = private_folder().unwrap();
        assert_eq!(fs::metadata(folder.path()).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
