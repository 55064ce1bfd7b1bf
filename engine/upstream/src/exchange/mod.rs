//! Tokens of clients become tokens for an upstream (RFC 8693): each is exchanged once for all requests that wait for it, on all
//! cores, and the token that comes is kept until it expires. [`message`] has requests and responses as values.

mod message;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use prony_source::{Metric, Sample};
use sha2::{Digest as _, Sha256};
use tokio::sync::{Semaphore, watch};

use self::message::IssuedToken;
use crate::{
    client::{Connector, ResponseLimits, TlsError, connector, post_form},
    exchange_error::ExchangeError,
    exchange_settings::ExchangeSettings,
    settings::{HttpVersion, TlsSettings},
};

/// Exchanges under way at a time; others wait for their turn.
const UNDER_WAY_MAX: usize = 64;
/// A token whose lifetime is not said is kept so long.
const UNSAID_LIFETIME: Duration = Duration::from_secs(60);
/// No token is kept longer.
const KEPT_MAX: Duration = Duration::from_secs(3600);
/// A token is given up so long before its end, or a tenth of its lifetime before, whichever is less: a request takes time too.
const MARGIN_MAX: Duration = Duration::from_secs(30);
/// So long a refusal holds: a client that goes on asking does not have the token server asked each time.
const REFUSED_FOR: Duration = Duration::from_secs(1);
/// Of a response of the token server.
const RESPONSE_BYTES_MAX: usize = 64 << 10;

/// Exchanges the tokens of one upstream's clients; all cores share it.
#[derive(Debug)]
pub(crate) struct TokenExchange {
    settings: ExchangeSettings,
    connector: Connector,
    /// The value of `Authorization` of requests.
    client_authorization: Option<String>,
    tokens: Mutex<HashMap<TokenKey, Entry>>,
    places: Semaphore,
    exchanges: AtomicU64,
    failures: AtomicU64,
}

/// SHA-256 of a client's token.
type TokenKey = [u8; 32];

/// The value of `Authorization` for an upstream, or why there is none.
type Authorization = Result<Arc<str>, Arc<ExchangeError>>;

#[derive(Debug)]
enum Entry {
    /// Who waits for it is told.
    UnderWay(watch::Receiver<Option<Authorization>>),
    Known {
        authorization: Authorization,
        until: Instant,
    },
}

impl TokenExchange {
    pub(crate) fn new(settings: ExchangeSettings) -> Result<Self, TlsError> {
        let tls = TlsSettings { ca_file: settings.ca_file.clone(), ..TlsSettings::default() };
        let is_secure = settings.endpoint.is_secure;
        let tls = is_secure.then(|| connector(&tls, HttpVersion::Http1)).transpose()?;
        Ok(Self {
            connector: Connector::new(tls, settings.timeout, HttpVersion::Http1),
            client_authorization: message::client_authorization(&settings),
            tokens: Mutex::default(),
            places: Semaphore::new(UNDER_WAY_MAX),
            exchanges: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            settings,
        })
    }

    /// The value of `Authorization` for the upstream, for a client with these headers; none for one that has no token.
    pub(crate) async fn authorize(
        self: &Arc<Self>,
        headers: &[(Box<str>, Box<[u8]>)],
    ) -> Result<Option<Arc<str>>, Arc<ExchangeError>> {
        let Some(token) = bearer_token(headers) else { return Ok(None) };
        let mut outcome = match self.find(token)? {
            Entry::Known { authorization, .. } => return authorization.map(Some),
            Entry::UnderWay(outcome) => outcome,
        };
        match outcome.wait_for(Option::is_some).await {
            Ok(authorization) => authorization.clone().expect("it was waited for").map(Some),
            Err(_) => Err(Arc::new(ExchangeError::Ended)),
        }
    }

    /// The upstream has not taken the token that this client's had become: the next request has it exchanged again.
    pub(crate) fn forget(&self, headers: &[(Box<str>, Box<[u8]>)]) {
        let Some(token) = bearer_token(headers) else { return };
        let mut tokens = self.lock();
        let key = key_of(token);
        if matches!(tokens.get(&key), Some(Entry::Known { authorization: Ok(_), .. })) {
            tokens.remove(&key);
        }
    }

    /// What is known of a token, or is under way; begins where nothing is.
    fn find(self: &Arc<Self>, token: &str) -> Result<Entry, Arc<ExchangeError>> {
        let (key, now) = (key_of(token), Instant::now());
        let mut tokens = self.lock();
        match tokens.get(&key) {
            Some(Entry::Known { authorization, until }) if now < *until => {
                return Ok(Entry::Known { authorization: authorization.clone(), until: *until });
            }
            // An exchange whose core has ended tells nobody.
            Some(Entry::UnderWay(outcome)) if outcome.has_changed().is_ok() => {
                return Ok(Entry::UnderWay(outcome.clone()));
            }
            _ => {}
        }
        if !make_room(&mut tokens, self.settings.max_tokens, now) {
            return Err(Arc::new(ExchangeError::Full { tokens: tokens.len() }));
        }
        let (sender, outcome) = watch::channel(None);
        tokens.insert(key, Entry::UnderWay(outcome.clone()));
        drop(tokens);
        let (this, token) = (Arc::clone(self), token.to_owned());
        // It goes on for the others when who has begun it leaves.
        tokio::task::spawn_local(async move {
            let issued = this.exchange(&token).await.map_err(Arc::new);
            let _ = sender.send(Some(this.settle(key, issued)));
        });
        Ok(Entry::UnderWay(outcome))
    }

    async fn exchange(&self, token: &str) -> Result<IssuedToken, ExchangeError> {
        self.exchanges.fetch_add(1, Relaxed);
        let limit = self.settings.timeout;
        // The response's own limits are no shorter.
        let limits =
            ResponseLimits { first_byte: limit * 2, whole: limit * 2, max_bytes: RESPONSE_BYTES_MAX };
        let exchanged = tokio::time::timeout(limit, async {
            let _place = self.places.acquire().await;
            let form = message::form(&self.settings, token);
            let authorization = self.client_authorization.as_deref();
            post_form(&self.connector, &self.settings.endpoint, authorization, &form, &limits).await
        });
        let issued = match exchanged.await {
            Ok(Ok(response)) => message::read(response.status, &response.body),
            Ok(Err(error)) => Err(ExchangeError::Unreachable(error.to_string())),
            Err(_) => Err(ExchangeError::Timeout { limit_ms: limit.as_millis() }),
        };
        if issued.is_err() {
            self.failures.fetch_add(1, Relaxed);
        }
        issued
    }

    /// Keeps what has come for as long as it is good.
    fn settle(&self, key: TokenKey, issued: Result<IssuedToken, Arc<ExchangeError>>) -> Authorization {
        let (authorization, kept): (Authorization, _) = match issued {
            Ok(IssuedToken { authorization, lifetime }) => {
                (Ok(authorization.into()), kept_for(lifetime.unwrap_or(UNSAID_LIFETIME)))
            }
            Err(error) => {
                let kept =
                    if matches!(*error, ExchangeError::Refused(_)) { REFUSED_FOR } else { Duration::ZERO };
                (Err(error), kept)
            }
        };
        let mut tokens = self.lock();
        if kept.is_zero() {
            tokens.remove(&key);
        } else {
            let until = Instant::now() + kept;
            tokens.insert(key, Entry::Known { authorization: authorization.clone(), until });
        }
        authorization
    }

    pub(crate) fn metrics(&self, source: &str) -> [Metric; 2] {
        let one = |value: &AtomicU64| vec![Sample::labelled("source", source, value.load(Relaxed) as f64)];
        [
            Metric::counter(
                "prony_upstream_token_exchanges",
                "Tokens of clients that were to be exchanged for an upstream's",
                one(&self.exchanges),
            ),
            Metric::counter(
                "prony_upstream_token_exchange_failures",
                "Tokens of clients for which there was no upstream's",
                one(&self.failures),
            ),
        ]
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TokenKey, Entry>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key_of(token: &str) -> TokenKey {
    Sha256::digest(token).into()
}

/// The token of the client (RFC 6750, section 2.1).
fn bearer_token(headers: &[(Box<str>, Box<[u8]>)]) -> Option<&str> {
    let (_, value) = headers.iter().find(|(name, _)| &**name == "authorization")?;
    let (scheme, token) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn kept_for(lifetime: Duration) -> Duration {
    lifetime.saturating_sub((lifetime / 10).min(MARGIN_MAX)).min(KEPT_MAX)
}

/// Makes room for one more: of what is known, what has expired goes first, then what expires soonest. False where all are under way.
fn make_room(tokens: &mut HashMap<TokenKey, Entry>, max_tokens: usize, now: Instant) -> bool {
    if tokens.len() < max_tokens {
        return true;
    }
    let until = |entry: &Entry| match entry {
        Entry::Known { until, .. } => Some(*until),
        Entry::UnderWay(outcome) => outcome.has_changed().is_err().then_some(now),
    };
    tokens.retain(|_, entry| until(entry).is_none_or(|until| now < until));
    if tokens.len() < max_tokens {
        return true;
    }
    let mut ends: Vec<Instant> = tokens.values().filter_map(until).collect();
    // Several at once, so that not each new token looks at all.
    let Some(last) = (ends.len() / 8).checked_sub(usize::from(ends.len() >= 8)).filter(|_| !ends.is_empty())
    else {
        return false;
    };
    let (_, end, _) = ends.select_nth_unstable(last);
    let end = *end;
    tokens.retain(|_, entry| until(entry).is_none_or(|until| end < until));
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_given_up_before_they_expire() {
        let ms = |lifetime_s| kept_for(Duration::from_secs(lifetime_s)).as_millis();
        assert_eq!([0, 1, 60, 300, 3600, 86_400].map(ms), [0, 900, 54_000, 270_000, 3_570_000, 3_600_000]);
    }

    #[test]
    fn tokens_have_a_bound() {
        let now = Instant::now();
        let known = |seconds| Entry::Known {
            authorization: Ok("Bearer x".into()),
            until: now + Duration::from_secs(seconds),
        };
        let mut tokens: HashMap<TokenKey, Entry> = (1..=16).map(|at| ([at; 32], known(at.into()))).collect();
        assert!(make_room(&mut tokens, 17, now) && tokens.len() == 16);
        assert!(make_room(&mut tokens, 16, now + Duration::from_secs(3)));
        assert_eq!(tokens.len(), 13, "what has expired is gone");
        assert!(make_room(&mut tokens, 13, now));
        assert!(
            !tokens.contains_key(&[4; 32]) && tokens.contains_key(&[16; 32]),
            "the next to expire is gone"
        );
        let (sender, outcome) = watch::channel(None);
        let mut tokens: HashMap<TokenKey, Entry> = [([0; 32], Entry::UnderWay(outcome))].into();
        assert!(!make_room(&mut tokens, 1, now), "it is waited for");
        drop(sender);
        assert!(make_room(&mut tokens, 1, now) && tokens.is_empty(), "nobody will tell its outcome");
    }

    #[test]
    fn tokens_of_clients_are_found() {
        let of = |value: &str| {
            let headers = [("authorization".into(), value.as_bytes().into())];
            bearer_token(&headers).map(str::to_owned)
        };
        assert_eq!(of("Bearer a.b"), Some("a.b".to_owned()));
        assert_eq!(of("bearer  a"), Some("a".to_owned()));
        for value in ["", "Bearer", "Bearer ", "Basic YTpi"] {
            assert_eq!(of(value), None, "{value}");
        }
        assert_eq!(bearer_token(&[]), None);
    }
}
