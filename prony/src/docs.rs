//! `prony docs`: serves the documentation that is in the program as pages, or writes them into a folder.

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context as _, anyhow, bail};
use prony_site::Page;

#[derive(Debug, clap::Args)]
pub(crate) struct DocsArguments {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8090")]
    listen: SocketAddr,
    /// Write the pages into this folder, for another web server, and serve nothing
    #[arg(long, value_name = "DIR", conflicts_with = "listen")]
    write: Option<PathBuf>,
}

pub(crate) fn execute(arguments: &DocsArguments) -> anyhow::Result<ExitCode> {
    let pages = prony_site::pages().map_err(|reason| {
        anyhow!("this program was built without its documentation ({reason}); it is in the folder docs of the source")
    })?;
    if let Some(folder) = &arguments.write {
        write(pages, folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let address = arguments.listen;
    let listener = prony_server::runtime::bind(address)?;
    let listening = listener.local_addr()?;
    crate::print(&format!("the documentation, until Ctrl-C: listening on http://{listening}\n"))?;
    prony_site::serve(pages, listener)?;
    Ok(ExitCode::SUCCESS)
}

fn write(pages: &[Page], folder: &Path) -> anyhow::Result<()> {
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{} is not empty; name a folder that is, or is not there yet", folder.display());
    }
    for page in pages {
        let path = folder.join(page.path.trim_start_matches('/'));
        let cannot = || format!("cannot write {}", path.display());
        fs::create_dir_all(path.parent().unwrap_or(folder)).with_context(cannot)?;
        fs::write(&path, page.content()?).with_context(cannot)?;
    }
    crate::print(&format!("{} files in {}\n", pages.len(), folder.display()))
}
