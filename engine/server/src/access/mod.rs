//! Authentication: from a request's head to who asks, before anything else of it is read. Who that is, is decided in
//! `prony-access`, which knows neither sockets nor clocks; here are both.

mod expiry;
mod fetch;
mod keys;
mod peer;
mod places;
pub(crate) mod quota_file;
mod rules;
mod shared_limits;
mod spans;

use std::{
    iter,
    net::IpAddr,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use http::{Extensions, HeaderMap, request::Parts};
use prony_access::{
    AccessSettings, AuthRefusal, Authenticator, Credentials, Identified, Identity, LastToken, LimitCounts,
    LimiterStatistics, Openness, RefusalKind, Standing, Standings, client_address,
};
use prony_source::{AskerRecord, Metric, Sample, current_request};
use serde_json::Value as Json;
use tokio::sync::{Semaphore, watch};

use self::places::Queues;
pub(crate) use self::{
    expiry::Expiry,
    keys::KeySetHealth,
    peer::Peer,
    places::Places,
    rules::{Keeping, OperationRules},
    shared_limits::{SharedLimits, SharedLimitsHealth},
};
use crate::{
    clock::unix_now,
    config::RedisSettings,
    graphql::{Asker, RoleSchemas},
    networks::network_of,
};

/// Who is let in. What is configured is replaced as a whole; who was let in before stays so until the end of the request.
#[derive(Debug)]
pub(crate) struct Access {
    /// None where everybody may do everything.
    current: ArcSwapOption<AccessPolicy>,
    /// Whether there is one: each request asks.
    is_closed: AtomicBool,
    /// What limits have counted, and who runs and waits, which another configuration takes over.
    counts: Arc<LimitCounts>,
    queues: Queues,
    /// None where servers share nothing.
    shared: ArcSwapOption<SharedLimits>,
    /// Counts the configurations that have been in force: each event of a stream asks, on all cores.
    generation: AtomicU64,
    replaced: watch::Sender<()>,
}

/// Why somebody who was let in, and has stayed, may not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetGo {
    /// They would be refused now.
    Refused,
    /// What they may do is another.
    OtherRights,
}

/// One configuration of it.
#[derive(Debug)]
pub(crate) struct AccessPolicy {
    authenticator: Authenticator,
    roles: Arc<RoleSchemas>,
    rules: Arc<OperationRules>,
    webhook_places: Arc<Semaphore>,
    /// What becomes of those whom others before it have let in, as far as somebody of them is still connected.
    standings: Mutex<Vec<(Weak<RoleSchemas>, Arc<Standings>)>>,
}

/// What is known of who asks without waiting.
pub(crate) enum Known {
    /// None where nobody is told from anybody else.
    Asker(Option<Asker>),
    /// Refused, or somebody else must be asked first: [`Access::identify`] says.
    NotKnown,
}

impl Access {
    pub(crate) fn new(settings: &Arc<AccessSettings>, shared: Option<Arc<SharedLimits>>) -> Self {
        let access = Self {
            current: ArcSwapOption::empty(),
            is_closed: AtomicBool::new(false),
            counts: Arc::default(),
            queues: Queues::default(),
            shared: ArcSwapOption::empty(),
            generation: AtomicU64::new(0),
            replaced: watch::Sender::default(),
        };
        access.replace(settings, shared);
        access
    }

    /// Tells whenever another configuration is in force.
    pub(crate) fn replacements(&self) -> watch::Receiver<()> {
        self.replaced.subscribe()
    }

    /// Another number after each replacement.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What becomes of somebody who was let in, and stays connected: none where nothing has changed, and otherwise as whom the configuration
    /// of now knows them.
    pub(crate) fn look_again(&self, asker: Option<&Asker>) -> Result<Option<Asker>, LetGo> {
        if !self.is_closed() {
            return Ok(None);
        }
        let current = self.current.load();
        let Some(policy) = &*current else { return Ok(None) };
        // Everybody was let in.
        let Some(Asker { roles, identity, address, .. }) = asker else { return Err(LetGo::OtherRights) };
        if Arc::ptr_eq(roles, &policy.roles) {
            return Ok(None);
        }
        match policy.standings(roles).of(identity) {
            Standing::Same(identity) => Ok(Some(Asker {
                roles: Arc::clone(&policy.roles),
                rules: Arc::clone(&policy.rules),
                identity,
                address: *address,
            })),
            Standing::Other => Err(LetGo::OtherRights),
            Standing::Refused => Err(LetGo::Refused),
        }
    }

    /// Lets in by these settings from now on, with limits that are shared so.
    pub(crate) fn replace(&self, settings: &Arc<AccessSettings>, shared: Option<Arc<SharedLimits>>) {
        let before = self.current.load_full();
        let before = before.as_ref().map(|before| &before.authenticator);
        let policy = || AccessPolicy {
            authenticator: Authenticator::after(settings, before),
            roles: Arc::new(RoleSchemas::new(Arc::clone(settings))),
            rules: Arc::new(OperationRules::new(settings, &self.counts, &self.queues, shared.clone())),
            webhook_places: Arc::new(Semaphore::new(
                settings.webhook.as_ref().map_or(0, |webhook| webhook.max_in_flight),
            )),
            standings: Mutex::default(),
        };
        let is_closed = settings.openness == Openness::Closed;
        self.current.store(is_closed.then(|| Arc::new(policy())));
        self.is_closed.store(is_closed, Ordering::Release);
        self.generation.fetch_add(1, Ordering::Release);
        self.replaced.send_replace(());
        // `/health` names a Redis only once it counts whoever is let in: before, requests went on counting in the other.
        let before = self.shared();
        let is_other =
            |before: &Arc<SharedLimits>| shared.as_ref().is_none_or(|now| !Arc::ptr_eq(before, now));
        let is_replaced = before.as_ref().is_some_and(is_other);
        self.shared.store(shared);
        if is_replaced {
            tracing::info!("limits are shared as the configuration now says");
        }
    }

    /// What limits have counted.
    pub(crate) fn counts(&self) -> &Arc<LimitCounts> {
        &self.counts
    }

    /// For `/metrics`.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let LimiterStatistics { keys, overflowed } = self.counts.rate_statistics();
        let single = |value: u64| Sample::single(value as f64);
        let mut all = vec![
            Metric::gauge(
                "prony_rate_limit_keys",
                "Clients, or other keys of rates, that are counted at present",
                single(keys),
            ),
            Metric::counter(
                "prony_rate_limit_overflows",
                "Requests of keys for which there was no room: they were counted together",
                single(overflowed),
            ),
        ];
        all.extend(self.shared().into_iter().flat_map(|shared| shared.metrics()));
        all
    }

    /// Headers by which a webhook says who asks, in small letters.
    pub(crate) fn webhook_headers(&self) -> Vec<String> {
        let Some(policy) = self.current.load_full() else { return Vec::new() };
        let webhook = policy.roles.settings.webhook.as_ref();
        webhook.map(|webhook| webhook.forward.clone()).unwrap_or_default()
    }

    /// What limits share with other servers; none where they share nothing.
    pub(crate) fn shared(&self) -> Option<Arc<SharedLimits>> {
        self.shared.load_full()
    }

    /// What limits are shared by under these settings, for what [replaces](Self::replace) the present configuration: the present one
    /// where they are the same. Blocks until another Redis is reached, or is not.
    pub(crate) fn shared_by(&self, settings: &RedisSettings) -> Option<Arc<SharedLimits>> {
        let known = self.shared();
        let is_same = match &known {
            Some(known) => known.is_of(settings),
            None => settings.url.is_empty(),
        };
        if is_same { known } else { SharedLimits::start(settings) }
    }

    /// Whether it matters who asks.
    pub(crate) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Who the client of a request is to limits by address; none where it is not limited.
    pub(crate) fn client_network(&self, head: &Parts) -> Option<IpAddr> {
        self.network_of_request(&head.headers, &head.extensions)
    }

    /// The same of a request that is whole.
    pub(crate) fn network_of_request(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<IpAddr> {
        let address = extensions.get::<Peer>().unwrap_or(&peer::UNKNOWN).address;
        if !self.is_closed() {
            return network_of(address);
        }
        let lines = headers.get_all("x-forwarded-for").iter().map(http::HeaderValue::as_bytes);
        let current = self.current.load();
        let limited = current.as_ref().map_or(Some(address), |policy| policy.limited_address(address, lines));
        limited.and_then(network_of)
    }

    /// Whether the other end of a connection is a trusted proxy.
    pub(crate) fn is_proxy(&self, address: IpAddr) -> bool {
        self.current.load().as_ref().is_some_and(|policy| policy.is_proxy(address))
    }

    /// Who the other end of a connection is to limits by address; none where it is not limited.
    pub(crate) fn peer_network(&self, address: IpAddr) -> Option<IpAddr> {
        let current = self.current.load();
        let limited =
            current.as_ref().map_or(Some(address), |policy| policy.limited_address(address, iter::empty()));
        limited.and_then(network_of)
    }

    /// From which address a request comes, as limits see it: behind trusted proxies the client's.
    pub(crate) fn client_address<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        peer: IpAddr,
    ) -> IpAddr {
        let lines = headers.filter(|(name, _)| is_forwarded_for(name)).map(|(_, value)| value);
        self.current.load().as_ref().map_or(peer, |policy| policy.client_address(peer, lines))
    }

    /// Who asks, of the headers of a request. `last` is kept with its connection.
    pub(crate) fn try_identify<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        peer: &'h Peer,
        last: &LastToken,
    ) -> Known {
        if !self.is_closed() {
            return Known::Asker(None);
        }
        let current = self.current.load();
        let Some(policy) = &*current else { return Known::Asker(None) };
        let Ok((credentials, address)) = policy.read(headers, peer) else { return Known::NotKnown };
        match policy.authenticator.identify(&credentials, Some(last), unix_now()) {
            Identified::Known(identity) => Known::Asker(Some(policy.asker(identity, address))),
            Identified::Refused(_) | Identified::NeedsKeys(_) | Identified::NeedsWebhook(_) => {
                Known::NotKnown
            }
        }
    }

    /// As [`Self::try_identify`]; waits for keys and for the webhook.
    pub(crate) async fn identify<'h>(
        &self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        peer: &'h Peer,
    ) -> Result<Option<Asker>, AuthRefusal> {
        let Some(policy) = self.current.load_full() else { return Ok(None) };
        let (credentials, address) = policy.read(headers, peer)?;
        let identity = policy.identify(&credentials).await?;
        Ok(Some(policy.asker(identity, address)))
    }
}

impl AccessPolicy {
    /// What becomes of those whom a policy with these roles has let in.
    fn standings(&self, before: &Arc<RoleSchemas>) -> Arc<Standings> {
        let mut known = self.standings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = known.iter().find(|(roles, _)| Weak::as_ptr(roles) == Arc::as_ptr(before)) {
            return Arc::clone(found);
        }
        known.retain(|(roles, _)| roles.strong_count() > 0);
        let standings = Arc::new(Standings::between(&before.settings, &self.roles.settings));
        known.push((Arc::downgrade(before), Arc::clone(&standings)));
        standings
    }

    /// Of a client; none where all that is known of it is that a trusted proxy asks for it.
    fn limited_address<'h>(
        &self,
        peer: IpAddr,
        forwarded_for: impl Iterator<Item = &'h [u8]>,
    ) -> Option<IpAddr> {
        let client = self.client_address(peer, forwarded_for);
        (!self.is_proxy(client)).then_some(client)
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        self.roles.settings.trusted_proxies.iter().any(|range| range.contains(address))
    }

    /// Behind trusted proxies the client's.
    fn client_address<'h>(&self, peer: IpAddr, forwarded_for: impl Iterator<Item = &'h [u8]>) -> IpAddr {
        let trusted = &self.roles.settings.trusted_proxies;
        if trusted.is_empty() {
            return peer;
        }
        let forwarded_for: Vec<&[u8]> = forwarded_for.collect();
        client_address(peer, &forwarded_for, trusted)
    }

    /// The credentials, and from which address the client asks, as far as proxies are trusted.
    fn read<'a, 'h: 'a>(
        &'a self,
        headers: impl Iterator<Item = (&'h str, &'h [u8])>,
        peer: &'h Peer,
    ) -> Result<(Credentials<'a>, IpAddr), AuthRefusal> {
        let mut credentials = self.authenticator.credentials();
        if let Some(names) = peer.names()? {
            credentials.certificate(names);
        }
        let trusted = &self.roles.settings.trusted_proxies;
        let mut forwarded: Vec<&[u8]> = Vec::new();
        for (name, value) in headers {
            credentials.header(name, value);
            if !trusted.is_empty() && is_forwarded_for(name) {
                forwarded.push(value);
            }
        }
        Ok((credentials, client_address(peer.address, &forwarded, trusted)))
    }

    fn asker(&self, identity: Arc<Identity>, address: IpAddr) -> Asker {
        let asker =
            Asker { roles: Arc::clone(&self.roles), rules: Arc::clone(&self.rules), identity, address };
        note(&asker);
        asker
    }

    async fn identify(self: &Arc<Self>, credentials: &Credentials<'_>) -> Result<Arc<Identity>, AuthRefusal> {
        let mut has_fetched = false;
        loop {
            match self.authenticator.identify(credentials, None, unix_now()) {
                Identified::Known(identity) => return Ok(identity),
                Identified::Refused(refusal) => return Err(refusal),
                Identified::NeedsKeys(id) if !has_fetched => {
                    keys::fetch_or_wait(self, id).await;
                    has_fetched = true;
                }
                Identified::NeedsKeys(_) => {
                    let reason = "the token's key is not among those of its issuer";
                    return Err(AuthRefusal::new(RefusalKind::InvalidToken, reason));
                }
                Identified::NeedsWebhook(question) => {
                    let asked = fetch::ask_webhook(&self.authenticator, question, &self.webhook_places);
                    return self.authenticator.beside_certificate(asked.await?, credentials, unix_now());
                }
            }
        }
    }
}

fn is_forwarded_for(name: &str) -> bool {
    name.eq_ignore_ascii_case("x-forwarded-for")
}

/// For the logs of the request that somebody makes.
fn note(asker: &Asker) {
    if let Some(record) = current_request() {
        let role = Arc::clone(&asker.role().name);
        *record.asker.borrow_mut() = Some(AskerRecord { user: asker.identity.subject.clone(), role });
    }
}

/// Who is at the other end of a request's connection.
pub(crate) fn peer(head: &Parts) -> &Peer {
    head.extensions.get().unwrap_or(&peer::UNKNOWN)
}

/// Headers as credentials are read from them.
pub(crate) fn fields(headers: &HeaderMap) -> impl Iterator<Item = (&str, &[u8])> {
    headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
}

fn is_credential(name: &str) -> bool {
    ["authorization", "x-api-key", "cookie"].contains(&name)
}

/// Whether proxies say by a header from where a client comes, and how.
fn is_of_proxies(name: &str) -> bool {
    name.starts_with("x-forwarded-") || ["forwarded", "via", "x-real-ip"].contains(&name)
}

/// Headers that the payload of a WebSocket's `connection_init` stands for: its texts by their names, and those of its member
/// `headers`, before those of the opening. Other headers than credentials may be what a proxy says of its client: a payload takes the
/// place of none of them, and behind a trusted proxy, which may leave one out where nobody is known, it brings none.
pub(crate) fn with_payload(head: &HeaderMap, payload: &Json, is_proxied: bool) -> Vec<(String, Vec<u8>)> {
    let may_be_new = |name: &str| name == "x-prony-role" || !(is_proxied || is_of_proxies(name));
    let may_bring = |name: &str| is_credential(name) || !head.contains_key(name) && may_be_new(name);
    let members = |value: &Json| -> Vec<(String, Vec<u8>)> {
        let members = value.as_object().into_iter().flatten();
        let texts = members.filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value.as_str()?)));
        let texts = texts.filter(|(name, _)| may_bring(name));
        texts.map(|(name, text)| (name, text.as_bytes().to_vec())).collect()
    };
    let mut fields = members(payload);
    fields.extend(payload.get("headers").map(members).unwrap_or_default());
    let brings = |name: &str| fields.iter().any(|(known, _)| known == name);
    let has_credential = prony_access::brings_credential(payload);
    let of_head = head.iter().filter(|(name, _)| {
        let name = name.as_str();
        // Browsers send cookies unasked, and a credential of the payload is meant to count.
        !(brings(name) || has_credential && is_credential(name))
    });
    let of_head: Vec<_> =
        of_head.map(|(name, value)| (name.as_str().to_owned(), value.as_bytes().to_vec())).collect();
    fields.extend(of_head);
    fields
}

/// Headers of a connection that sources may be told of, where these are what its [payload stands for](with_payload): credentials are those
/// by which it is known who asks, and all others those of the opening.
pub(crate) fn for_sources<'h>(
    head: &'h HeaderMap,
    with_payload: &'h [(String, Vec<u8>)],
) -> impl Iterator<Item = (&'h str, &'h [u8])> {
    let credentials = with_payload.iter().filter(|(name, _)| is_credential(name));
    let credentials = credentials.map(|(name, value)| (name.as_str(), value.as_slice()));
    fields(head).filter(|(name, _)| !is_credential(name)).chain(credentials)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// It was told of before: who saw it and asked was counted in the one before.
    #[test]
    fn another_redis_is_told_of_once_it_counts() {
        let mut settings = AccessSettings::default();
        settings.openness = Openness::Closed;
        let settings = Arc::new(settings);
        let access = Access::new(&settings, None);
        let redis = RedisSettings { url: "redis://127.0.0.1:1".to_owned(), ..RedisSettings::default() };
        let next = access.shared_by(&redis);
        assert!(next.is_some() && access.shared().is_none(), "who is let in is counted without it");
        access.replace(&settings, next);
        let shared = access.shared().expect("it counts now");
        assert!(access.shared_by(&redis).is_some_and(|same| Arc::ptr_eq(&same, &shared)));
        assert!(access.shared_by(&RedisSettings::default()).is_none());
    }

    #[test]
    fn a_payload_stands_for_headers() {
        let mut head = HeaderMap::new();
        for (name, value) in [("authorization", "Bearer head"), ("cookie", "token=c"), ("host", "h")] {
            head.insert(name, HeaderValue::from_static(value));
        }
        let names = |payload: Json| -> Vec<String> {
            let fields = with_payload(&head, &payload, false);
            let text =
                |(name, value): &(String, Vec<u8>)| format!("{name}={}", String::from_utf8_lossy(value));
            fields.iter().map(text).collect()
        };
        assert_eq!(names(Json::Null), ["authorization=Bearer head", "cookie=token=c", "host=h"]);
        let payload = serde_json::json!({"Authorization": "Bearer p", "n": 1});
        assert_eq!(names(payload), ["authorization=Bearer p", "host=h"]);
        let payload = serde_json::json!({"headers": {"X-Prony-Role": "r"}});
        assert_eq!(
            names(payload),
            ["x-prony-role=r", "authorization=Bearer head", "cookie=token=c", "host=h"]
        );
    }

    /// Behind a trusted proxy it took the place of what the proxy says, and with it the client's limits by address.
    #[test]
    fn a_payload_does_not_say_where_its_client_is() {
        let mut head = HeaderMap::new();
        head.insert("x-forwarded-for", HeaderValue::from_static("192.0.2.1"));
        let payload = serde_json::json!({
            "X-Forwarded-For": "198.51.100.7",
            "headers": {"x-forwarded-for": "198.51.100.8"},
        });
        let of_head = [("x-forwarded-for".to_owned(), b"192.0.2.1".to_vec())];
        assert_eq!(with_payload(&head, &payload, false), of_head);
    }

    /// A webhook was told the client's own word of who it is, in place of that of the proxy.
    #[test]
    fn a_payload_does_not_replace_what_a_proxy_says() {
        let mut head = HeaderMap::new();
        for (name, value) in [("x-user", "ann"), ("authorization", "Bearer head")] {
            head.insert(name, HeaderValue::from_static(value));
        }
        let payload = serde_json::json!({
            "X-User": "root", "X-Real-IP": "198.51.100.7", "forwarded": "for=198.51.100.7", "via": "1.1 x",
            "X-Forwarded-Proto": "https", "X-Tenant": "t",
            "headers": {"x-user": "root", "Authorization": "Bearer p"},
        });
        let found = with_payload(&head, &payload, false);
        let text = |(name, value): (&str, &[u8])| format!("{name}={}", String::from_utf8_lossy(value));
        let all = found.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        let all: Vec<String> = all.map(text).collect();
        assert_eq!(all, ["x-tenant=t", "authorization=Bearer p", "x-user=ann"]);
        let told: Vec<String> = for_sources(&head, &found).map(text).collect();
        assert_eq!(told, ["x-user=ann", "authorization=Bearer p"]);
        // Of somebody whom the proxy does not know, it may say nothing.
        let payload = serde_json::json!({"x-user": "root", "X-Api-Key": "k", "x-prony-role": "r"});
        let found = with_payload(&HeaderMap::new(), &payload, true);
        let all = found.iter().map(|(name, value)| (name.as_str(), value.as_slice()));
        let mut all: Vec<String> = all.map(text).collect();
        all.sort_unstable();
        assert_eq!(all, ["x-api-key=k", "x-prony-role=r"]);
    }
}
