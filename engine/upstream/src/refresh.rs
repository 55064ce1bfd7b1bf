//! Keeps what is known of an upstream in step with it: its schema, and whether its addresses respond.

use std::{
    fs, io,
    path::Path,
    sync::{Arc, PoisonError},
    time::Duration,
};

use futures_util::future::join_all;

use crate::{
    counters::add,
    response::request_text,
    schema::{Edition, introspection_query, sdl_of},
    sender::Sender,
    upstream::{Upstream, UpstreamOpenError},
};

/// How soon a schema that is not known is asked for again, and after how many failures it is no sooner.
const RETRY_FIRST: Duration = Duration::from_millis(250);
const RETRY_LAST: Duration = Duration::from_secs(15);
/// How long a start waits for an upstream: the others are served without it.
const START_LIMIT: Duration = Duration::from_secs(3);

pub(crate) async fn open_schema(upstream: &Arc<Upstream>) -> Result<(), UpstreamOpenError> {
    if upstream.settings.schema_file.is_some() {
        let sdl = upstream.read_schema_file()?;
        upstream.serve(sdl)?;
        return Ok(());
    }
    let sender = Sender::new(Arc::clone(upstream));
    let asked = tokio::time::timeout(START_LIMIT, renew(upstream, &sender)).await;
    let late = || Err(format!("it has not said within {} s what its schema is", START_LIMIT.as_secs()));
    let Err(failure) = asked.unwrap_or_else(|_| late()) else { return Ok(()) };
    let address = &upstream.endpoints[0].address;
    let cached = upstream.settings.schema_cache.as_ref().and_then(|path| fs::read_to_string(path).ok());
    if let Some(Ok(_)) = cached.map(|sdl| upstream.serve(sdl)) {
        tracing::warn!(%address, failure, "an upstream is down; its last schema is served");
    } else {
        tracing::warn!(%address, failure, "an upstream is down; it is asked again");
    }
    Ok(())
}

/// Asks for the schema. What is wrong is for people who run the server.
async fn renew(upstream: &Upstream, sender: &Sender) -> Result<(), String> {
    let renewed = try_renew(upstream, sender).await;
    if renewed.is_err() {
        add(&upstream.counters.schema_failures);
    }
    let mut failure = upstream.schema.failure.lock().unwrap_or_else(PoisonError::into_inner);
    *failure = renewed.as_ref().err().cloned();
    renewed
}

async fn try_renew(upstream: &Upstream, sender: &Sender) -> Result<(), String> {
    if upstream.settings.schema_file.is_some() {
        let sdl = upstream.read_schema_file().map_err(|error| error.to_string())?;
        return upstream.serve(sdl).map(|_| ()).map_err(|error| error.to_string());
    }
    let sdl = introspect(sender).await?;
    let is_other = upstream.serve(sdl.clone()).map_err(|error| error.to_string())?;
    if let (true, Some(path)) = (is_other, &upstream.settings.schema_cache)
        && let Err(error) = keep(path, &sdl)
    {
        tracing::warn!(path = %path.display(), %error, "an upstream's schema cannot be kept");
    }
    Ok(())
}

/// Half a file must never be read, nor what is kept of another source, whose file may have the same name up to a dot.
fn keep(path: &Path, sdl: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    fs::write(&beside, sdl)?;
    fs::rename(&beside, path)
}

/// What the upstream says of its schema: as much as it knows to say.
async fn introspect(sender: &Sender) -> Result<String, String> {
    let mut refusal = String::new();
    for edition in [Edition::October2021, Edition::June2018] {
        let response = sender.send(true, &[], request_text(&introspection_query(edition))).await;
        let response = response.map_err(|error| error.to_string())?;
        let sdl = if response.is_json {
            sdl_of(&response.body)
        } else {
            Err(format!("it responded with status {} and no JSON", response.status))
        };
        match sdl {
            Ok(sdl) => return Ok(sdl),
            Err(fault) => refusal = fault,
        }
    }
    Err(refusal)
}

/// Keeps the schema in step with the upstream's; never returns.
pub(crate) async fn follow_schema(upstream: Arc<Upstream>) {
    let sender = Sender::new(Arc::clone(&upstream));
    let mut retry = RETRY_FIRST;
    loop {
        let is_known = upstream.schema.model.load().is_some();
        let refresh = upstream.settings.schema_refresh;
        let wait = match (is_known, refresh.is_zero() || upstream.settings.schema_file.is_some()) {
            (false, _) => Some(retry),
            (true, false) => Some(refresh),
            (true, true) => None,
        };
        let pause = async {
            match wait {
                Some(wait) => tokio::time::sleep(wait).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = pause => {}
            () = upstream.schema.reload.notified() => {}
        }
        match renew(&upstream, &sender).await {
            Ok(()) => retry = RETRY_FIRST,
            Err(failure) => {
                let address = &upstream.endpoints[0].address;
                retry = (retry * 2).min(RETRY_LAST);
                tracing::warn!(%address, failure, "an upstream's schema is not known, or stays as it was");
            }
        }
    }
}

/// Asks each address whether it responds, none of them held up by another; never returns.
pub(crate) async fn check_health(upstream: Arc<Upstream>) {
    let interval = upstream.settings.health_check;
    if interval.is_zero() {
        std::future::pending::<()>().await;
    }
    let sender = &Sender::new(Arc::clone(&upstream));
    let each = (0..upstream.endpoints.len()).map(|index| async move {
        loop {
            tokio::time::sleep(interval).await;
            sender.check(index).await;
        }
    });
    join_all(each).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Both wrote to `schema.part`, and either could become the other's.
    #[test]
    fn schemas_of_two_sources_are_kept_apart() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let other = directory.path().join("schema.part");
        fs::write(&other, "of another").expect("it can be written");
        let path = directory.path().join("schema.films");
        keep(&path, "of films").expect("it can be kept");
        let read = |path: &Path| fs::read_to_string(path).expect("it is there");
        assert_eq!((read(&path), read(&other)), ("of films".to_owned(), "of another".to_owned()));
        assert_eq!(fs::read_dir(directory.path()).expect("it is there").count(), 2);
    }
}
