//! PostgreSQL behind an engine: one of the lab's own, durable as it comes and with `pg_stat_statements`, or the user's at an address.

use std::{
    env, fs, io,
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use rustix::process::{Signal, geteuid};
use tempfile::TempDir;

use super::{
    error::DatabaseError,
    programs,
    scratch::sql,
    server::{Server, ServerCommand, open_log},
};
use crate::engine::{detach, tail_of};

const FLAG: &str = "--postgres";
const PRODUCT: &str = "PostgreSQL";
/// What differs from PostgreSQL's own defaults. What is acknowledged is on the disk, as by default.
const SETTINGS: [&str; 6] = [
    "listen_addresses=127.0.0.1",
    // A path of a socket may have 107 bytes, which that of the results may exceed.
    "unix_socket_directories=",
    "shared_buffers=256MB",
    "max_wal_size=4GB",
    "timezone=UTC",
    "log_min_messages=warning",
];
const STATEMENTS: &str = "shared_preload_libraries=pg_stat_statements";

/// Where databases can be made.
#[derive(Debug)]
pub(crate) struct PostgresPlace {
    /// Of a database that is there, in which others can be made.
    pub(crate) url: String,
    /// `15.14`
    pub(crate) version: String,
    /// Whether the lab has started it.
    pub(crate) is_own: bool,
    /// Where its files are, where that is not beside the results.
    pub(crate) elsewhere: Option<PathBuf>,
    _server: Option<Server>,
}

/// The one at an address, or else one of the lab's own, whose files are in `directory` where its user can reach that, and whose log is `log`.
pub(crate) fn provide(
    given: Option<&str>,
    directory: &Path,
    log: &Path,
) -> Result<PostgresPlace, DatabaseError> {
    match given {
        Some(url) => {
            let version = version(url)?;
            Ok(PostgresPlace { url: url.to_owned(), version, is_own: false, elsewhere: None, _server: None })
        }
        None => start(directory, log),
    }
}

fn version(url: &str) -> Result<String, DatabaseError> {
    let rows = sql(PRODUCT, url, "show server_version")?;
    // `15.14 (Debian 15.14-0+deb12u1)`
    let text = rows.into_iter().flatten().next().unwrap_or_default();
    Ok(text.split(' ').next().unwrap_or_default().to_owned())
}

fn start(directory: &Path, log: &Path) -> Result<PostgresPlace, DatabaseError> {
    let found = programs::find(&["initdb", "postgres"]).ok_or_else(|| DatabaseError::NotInstalled {
        program: "postgres",
        searched: format!("PATH, {}", programs::BESIDE_PATH),
        package: "postgresql",
        flag: FLAG,
    })?;
    // The programs find their other files from where they are; what is in PATH may be a link.
    let programs =
        found.join("postgres").canonicalize().ok().and_then(|found| found.parent().map(Path::to_owned));
    let programs = programs.unwrap_or(found);
    let owner = owner()?;
    let (home, elsewhere) = home(directory, owner)?;
    let data = home.path().join("data");
    initialise(&programs, &data, owner, log)?;
    // The extension is in a package of its own with some distributions.
    let further = has_statements(&programs).then_some(STATEMENTS);
    let command = |port: u16| {
        let mut command = command_as(&programs.join("postgres"), owner);
        command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
        for setting in SETTINGS.iter().copied().chain(further) {
            command.args(["-c", setting]);
        }
        command
    };
    let server = ServerCommand {
        program: "postgres",
        command: &command,
        is_ready: &|port| sql(PRODUCT, &url(port), "select 1").is_ok(),
        // It disconnects all and ends in an orderly way.
        signal: Signal::INT,
        log: log.to_owned(),
    };
    let server = server.start(home)?;
    let url = url(server.port);
    let version = version(&url)?;
    Ok(PostgresPlace { url, version, is_own: true, elsewhere, _server: Some(server) })
}

fn url(port: u16) -> String {
    format!("postgres://postgres@127.0.0.1:{port}/postgres")
}

/// Asked of the `pg_config` beside the server's programs, where there is one; most have it.
fn has_statements(programs: &Path) -> bool {
    let asked = Command::new(programs.join("pg_config")).arg("--pkglibdir").stdin(Stdio::null()).output();
    let Ok(output) = asked else { return true };
    let directory = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    !output.status.success()
        || ["so", "dylib"]
            .iter()
            .any(|end| Path::new(&directory).join(format!("pg_stat_statements.{end}")).is_file())
}

/// The user that it runs as where the lab is root's, which it refuses to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Owner {
    user: u32,
    group: u32,
}

fn owner() -> Result<Option<Owner>, DatabaseError> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd").map_err(DatabaseError::io("read /etc/passwd"))?;
    let found = ["postgres", "nobody"].iter().find_map(|name| find_user(&users, name));
    let why = "it does not run as root, and there is neither a user postgres nor a user nobody".to_owned();
    found.map(Some).ok_or_else(|| DatabaseError::Refused { what: "`postgres`".to_owned(), why })
}

/// `name:password:user:group:…` (passwd(5)).
fn find_user(users: &str, name: &str) -> Option<Owner> {
    users.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [of, _, user, group, ..] = fields[..] else { return None };
        let owner = Owner { user: user.parse().ok()?, group: group.parse().ok()? };
        (of == name).then_some(owner)
    })
}

/// A directory of its own beside the results, so that it writes to the same disk as other engines; where its user cannot reach that, among
/// the system's temporary ones, which is told.
fn home(directory: &Path, owner: Option<Owner>) -> Result<(TempDir, Option<PathBuf>), DatabaseError> {
    let is_beside = owner.is_none() || is_open_to_all(directory);
    let place = if is_beside { directory.to_owned() } else { env::temp_dir() };
    let action = format!("make a directory for PostgreSQL in {}", place.display());
    let absolute = place.canonicalize().map_err(DatabaseError::io(action.clone()))?;
    let made = tempfile::Builder::new().prefix("data-postgres-").tempdir_in(absolute);
    let made = made.map_err(DatabaseError::io(action))?;
    if let Some(Owner { user, group }) = owner {
        let given = chown(made.path(), Some(user), Some(group));
        given.map_err(DatabaseError::io(format!("give {} to PostgreSQL's user", made.path().display())))?;
    }
    let elsewhere = (!is_beside).then_some(place);
    Ok((made, elsewhere))
}

fn is_open_to_all(directory: &Path) -> bool {
    let Ok(directory) = directory.canonicalize() else { return false };
    directory.ancestors().all(|of| fs::metadata(of).is_ok_and(|data| data.permissions().mode() & 0o001 != 0))
}

fn command_as(program: &Path, owner: Option<Owner>) -> Command {
    let mut command = Command::new(program);
    // It wants to be able to go back to where it was started.
    command.current_dir("/");
    if let Some(Owner { user, group }) = owner {
        command.uid(user).gid(group);
    }
    command
}

fn initialise(programs: &Path, data: &Path, owner: Option<Owner>, log: &Path) -> Result<(), DatabaseError> {
    let output = open_log(log)?;
    let errors = output.try_clone().map_err(DatabaseError::io("open PostgreSQL's log"))?;
    let mut command = command_as(&programs.join("initdb"), owner);
    command.args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--pgdata"]);
    command.arg(data).stdin(Stdio::null()).stdout(output).stderr(errors);
    detach(&mut command);
    let status: io::Result<_> = command.status();
    let status = status.map_err(DatabaseError::io("run `initdb`"))?;
    if status.success() {
        return Ok(());
    }
    Err(DatabaseError::Ended { program: "initdb", status, log: tail_of(log) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::databases::ScratchDatabase;

    #[test]
    fn one_of_its_own_counts_statements_and_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("postgres.log");
        let place = provide(None, directory.path(), &log).unwrap();
        assert!(
            place.is_own && place.version.split('.').all(|part| part.parse::<u32>().is_ok()),
            "{place:?}"
        );
        let database = ScratchDatabase::create(&place.url).unwrap();
        sql(PRODUCT, database.url(), "create table item (id int)").unwrap();
        let counted = sql(
            PRODUCT,
            database.url(),
            "select count(*) from pg_stat_statements where query like 'create table%'",
        );
        assert_eq!(counted.unwrap(), [["1"]]);
        let durable = sql(
            PRODUCT,
            database.url(),
            "select current_setting('fsync'), current_setting('synchronous_commit')",
        );
        assert_eq!(durable.unwrap(), [["on", "on"]]);
        let given = provide(Some(database.url()), directory.path(), &log).unwrap();
        assert_eq!((given.is_own, &given.version), (false, &place.version));
        let url = database.url().to_owned();
        drop(database);
        assert!(sql(PRODUCT, &url, "select 1").unwrap_err().to_string().contains("does not exist"));
        drop(place);
        let left = fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.file_name());
        assert_eq!(left.collect::<Vec<_>>(), ["postgres.log"]);
    }

    #[test]
    fn an_address_at_which_nobody_is_is_told_without_its_password() {
        let error = provide(Some("postgres://bob:geheim@127.0.0.1:1/shop"), Path::new("/"), Path::new("/"));
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("127.0.0.1:1") && error.contains("refused") && !error.contains("geheim"),
            "{error}"
        );
    }

    #[test]
    fn users_are_found_by_their_name() {
        let users = "root:x:0:0::/root:/bin/sh\npostgresql:x:7:7::/:/bin/sh\npostgres:x:115:123:,,,:/var:/bin/bash\nodd\n";
        assert_eq!(find_user(users, "postgres"), Some(Owner { user: 115, group: 123 }));
        assert_eq!(find_user(users, "nobody"), None);
    }

    #[test]
    fn what_others_cannot_reach_is_known() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert!(!is_open_to_all(&inner), "what is above counts too");
        assert!(is_open_to_all(Path::new("/usr/bin")));
    }
}
