//! The connection service file: parameters under a name (PostgreSQL manual, "The Connection Service File").

use std::{fs, io, path::PathBuf};

use crate::{environment::Environment, given::Given};

/// What a service is made of: from the named file, else the user's own, else the system's.
///
/// # Errors
/// A file that cannot be read, a line of it that is none, or a service that is in none of them.
pub(crate) fn find(service: &str, named: Option<&str>, environment: &Environment) -> Result<Given, String> {
    let own = named.map(PathBuf::from).or_else(|| environment.in_home(".pg_service.conf"));
    let system = environment.system_directory().join("pg_service.conf");
    let mut searched = Vec::new();
    for file in own.into_iter().chain([system]) {
        let text = match fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && named.is_none_or(|named| file != *named) =>
            {
                searched.push(format!("{} (not there)", file.display()));
                continue;
            }
            Err(error) => return Err(format!("service file {} cannot be read: {error}", file.display())),
        };
        match section(service, &text) {
            Ok(Some(given)) => return Ok(given),
            Ok(None) => searched.push(file.display().to_string()),
            Err(line) => {
                return Err(format!("service file {}, line {line}: must be name=value", file.display()));
            }
        }
    }
    Err(format!("there is no service {service:?} in {}", searched.join(" nor in ")))
}

/// The error is the number of the line.
fn section(service: &str, text: &str) -> Result<Option<Given>, usize> {
    let mut found: Option<Given> = None;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            if name.strip_suffix(']') == Some(service) {
                found = Some(Given::new());
            }
            continue;
        }
        if let Some(given) = &mut found {
            let (name, value) = line.split_once('=').ok_or(index + 1)?;
            // A service that names another would never end.
            if name == "service" {
                return Err(index + 1);
            }
            given.entry(name.trim().to_owned()).or_insert_with(|| value.trim().to_owned());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_file_goes_before_the_systems() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().to_str().unwrap();
        let environment = Environment::of(&[("HOME", directory), ("PGSYSCONFDIR", directory)]);
        fs::write(home.path().join("pg_service.conf"), "[a]\nhost=system\n[b]\nhost=system b\nport=7\n")
            .unwrap();
        assert_eq!(find("a", None, &environment).unwrap()["host"], "system");
        fs::write(home.path().join(".pg_service.conf"), "[a]\nhost=own\nhost=again\n\n# end\n").unwrap();
        assert_eq!(find("a", None, &environment).unwrap()["host"], "own");
        assert_eq!(find("b", None, &environment).unwrap()["port"], "7");
        let reason = find("c", None, &environment).unwrap_err();
        assert!(reason.contains("\"c\"") && reason.contains(directory), "{reason}");
        let reason = find("a", Some("/nowhere/services"), &environment).unwrap_err();
        assert!(reason.contains("/nowhere/services"), "{reason}");
    }

    #[test]
    fn lines_that_are_none_are_told_by_their_number() {
        assert_eq!(section("a", "[b]\nnonsense\n[a]\nhost=h\nnonsense"), Err(5));
        assert_eq!(section("a", "[a]\nservice=b"), Err(2));
    }
}
