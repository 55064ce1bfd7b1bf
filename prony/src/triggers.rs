//! `prony triggers`: puts triggers into a PostgreSQL database that tell a listening `prony serve` of changes made by
//! others, shows them, and takes them out again.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};
use prony_postgres::changes::triggers::{Triggers, TriggersRequest};

use crate::{kinds::KINDS, print};

#[derive(Debug, Args)]
pub(crate) struct TriggersArguments {
    #[command(subcommand)]
    command: TriggersCommand,
}

#[derive(Debug, Subcommand)]
enum TriggersCommand {
    /// Install the triggers, all or none; those that are there are made anew.
    Install(DatabaseArguments),
    /// Remove the triggers, and without --tables the table of changes too.
    Remove(DatabaseArguments),
    /// Print the SQL of the installation without running it.
    Show(DatabaseArguments),
}

#[derive(Debug, Args)]
struct DatabaseArguments {
    /// `postgres://USER:PASSWORD@HOST/DATABASE`, as the owner of the tables.
    #[arg(value_name = "URL")]
    url: String,
    /// Only these tables, as NAME or SCHEMA.NAME [default: all with a primary key]
    #[arg(long, value_name = "TABLES", value_delimiter = ',')]
    tables: Vec<String>,
    /// The schemas of the tables [default: the current one]
    #[arg(long, value_name = "SCHEMA")]
    schema: Vec<String>,
    /// The role as which `prony serve` connects, where it is another: it may read the changes.
    #[arg(long, value_name = "ROLE")]
    reader: Option<String>,
}

pub(crate) fn execute(arguments: TriggersArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match arguments.command {
            TriggersCommand::Install(database) => {
                let triggers = database.open().await?;
                triggers.install().await?;
                report("installed", &triggers.tables())?;
                if !triggers.tells_of_schema().await? {
                    print("changes of the schema are looked for and not told: event triggers need a role that may make them (a superuser)\n")?;
                }
                print("serve with `--listen-changes`, or `listen = true` in [[source]], to hear of changes made by others\n")
            }
            TriggersCommand::Remove(database) => {
                let triggers = database.open().await?;
                let removed = triggers.remove().await?;
                report("removed", &removed)
            }
            TriggersCommand::Show(database) => print(&database.open().await?.installing()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

impl DatabaseArguments {
    async fn open(self) -> anyhow::Result<Triggers> {
        // PostgreSQL's driver takes addresses of other forms too.
        let mut others = KINDS.iter().map(|kind| kind.address()).filter(|form| !form.fits("postgres://"));
        if others.any(|form| form.fits(&self.url)) {
            bail!(
                "`{}` is no PostgreSQL database, and only these tell of changes made by others; \
                 write postgres://user:password@host:port/database",
                prony_runs::observe::without_password(&self.url)
            );
        }
        let request = TriggersRequest { schemas: self.schema, tables: self.tables, reader: self.reader };
        Triggers::open(&self.url, request).await.context("cannot look after the triggers")
    }
}

fn report(done: &str, tables: &[String]) -> anyhow::Result<()> {
    if tables.is_empty() {
        return print("no table has triggers of Prony\n");
    }
    for table in tables {
        print(&format!("{done}: {table}\n"))?;
    }
    let plural = if tables.len() == 1 { "" } else { "s" };
    print(&format!("triggers {done} on {} table{plural}\n", tables.len()))
}
