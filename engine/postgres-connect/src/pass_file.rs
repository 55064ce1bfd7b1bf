//! The password file `host:port:database:user:password` (PostgreSQL manual, "The Password File").

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

/// Whom a password is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    /// A socket of this machine is `localhost`.
    pub(crate) host: &'a str,
    pub(crate) port: u16,
    pub(crate) database: &'a str,
    pub(crate) user: &'a str,
}

/// The password of the first line that fits. A file that others can read is not used, as libpq has it; that is logged.
pub(crate) fn find(file: &Path, entry: Entry<'_>) -> Option<String> {
    match read(file) {
        Ok(text) => in_text(&text, entry),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            tracing::warn!(file = %file.display(), reason = %error, "the password file is not used");
            None
        }
    }
}

fn read(file: &Path) -> io::Result<String> {
    let metadata = fs::metadata(file)?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no plain file"));
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(io::Error::other("others can read it; chmod 0600"));
    }
    fs::read_to_string(file)
}

fn in_text(text: &str, entry: Entry<'_>) -> Option<String> {
    let port = entry.port.to_string();
    let wanted = [entry.host, &port, entry.database, entry.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let mut fields = fields(line);
        let fits = wanted.iter().all(|wanted| {
            fields.next().is_some_and(|(text, is_plain)| (is_plain && text == "*") || text == *wanted)
        });
        if fits { fields.next().map(|(password, _)| password) } else { None }
    })
}

/// Parts between colons without their backslashes, and whether a part had none.
fn fields(line: &str) -> impl Iterator<Item = (String, bool)> + '_ {
    let mut letters = line.chars().peekable();
    let mut index = 0;
    std::iter::from_fn(move || {
        if index > 0 && letters.next_if_eq(&':').is_none() {
            return None;
        }
        index += 1;
        let (mut text, mut is_plain) = (String::new(), true);
        while let Some(letter) = letters.next_if(|letter| *letter != ':') {
            is_plain &= letter != '\\';
            text.extend(if letter == '\\' { letters.next() } else { Some(letter) });
        }
        Some((text, is_plain))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# db.example:5432:shop:ann:of a remark\n\
        db.example:5432:shop:ann:first\n\
        *:5433:*:ann:fifty\\:three\\\\\n\
        2001\\:db8\\:\\:1:*:*:*:six\n\
        \\*:*:*:*:no wildcard\n\
        short:1:2\n\
        *:*:*:bob:last\n";

    fn password(host: &str, port: u16, user: &str) -> Option<String> {
        in_text(TEXT, Entry { host, port, database: "shop", user })
    }

    #[test]
    fn the_first_line_that_fits_is_taken() {
        assert_eq!(password("db.example", 5432, "ann").as_deref(), Some("first"));
        assert_eq!(password("db.example", 5433, "ann").as_deref(), Some("fifty:three\\"));
        assert_eq!(password("2001:db8::1", 1, "eve").as_deref(), Some("six"));
        assert_eq!(password("short", 1, "bob").as_deref(), Some("last"));
        assert_eq!(password("db.example", 1, "eve"), None);
    }

    #[test]
    fn a_file_that_others_can_read_is_not_used() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("pass");
        let entry = Entry { host: "h", port: 1, database: "d", user: "u" };
        assert_eq!(find(&file, entry), None);
        fs::write(&file, "*:*:*:*:secret").unwrap();
        for (mode, expected) in [(0o600, Some("secret")), (0o640, None), (0o604, None)] {
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(find(&file, entry).as_deref(), expected, "{mode:o}");
        }
    }
}
