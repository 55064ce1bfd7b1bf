//! The context of a request: what is known of who asks before anything is read of the operation. Every way in makes one from
//! the request's head; it decides which schema is served and goes with the operation to its end.

use std::{net::IpAddr, sync::Arc};

use http::request::Parts;
use prony_graphql::{
    request::Asked,
    variables::{Authority, ForwardedHeaders, RequestClient, Variables},
};
use prony_source::AcceptedCodings;

use super::{
    roles::{Asker, client_at},
    stages::ClockKind,
};
use crate::config::Settings;

/// Who asks. Nobody is told from anybody else where neither roles nor functions want to know; all are served from one schema
/// then.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestContext {
    /// Who was let in, where not everybody is.
    pub(crate) asker: Option<Asker>,
    /// The other end of the connection, for those of whom nothing else is known.
    pub(crate) address: Option<IpAddr>,
    /// What functions have made of the request's head: their own value, or why they refuse.
    pub(crate) caller: Option<Asked>,
    /// Headers that sources want to know; none where no source wants any.
    pub(crate) headers: Option<ForwardedHeaders>,
    /// What is granted to who asks; none where no directive of functions or of sources wants to know it.
    pub(crate) authority: Option<Arc<Authority>>,
    /// Codings in which the response may come, beside none at all.
    pub(crate) codings: AcceptedCodings,
    /// What the times of its stages are.
    pub(crate) clock: ClockKind,
}

impl RequestContext {
    /// Of somebody who has been let in.
    pub(crate) fn of(
        settings: &Settings,
        head: &Parts,
        asker: Option<Asker>,
        headers: Option<ForwardedHeaders>,
    ) -> Self {
        let caller = settings.functions.caller(head);
        Self { caller, headers, ..Self::of_asker(asker) }
    }

    /// Of somebody whose head nobody wants to see.
    pub(crate) fn of_asker(asker: Option<Asker>) -> Self {
        Self { asker, ..Self::default() }
    }

    /// Values of a request, with those of who asks and with the headers that sources want to know.
    pub(crate) fn add_session(&self, variables: Variables) -> Variables {
        let variables = match &self.authority {
            Some(authority) => variables.with_authority(Some(Arc::clone(authority))),
            None => variables,
        };
        let variables = match &self.asker {
            Some(asker) => {
                let variables = variables.with_session(Arc::clone(&asker.identity.session));
                match &asker.roles.settings.source_names {
                    Some(names) => variables.with_session_names(Arc::clone(names)),
                    None => variables,
                }
            }
            None => variables,
        };
        let variables = match &self.headers {
            Some(headers) => variables.with_headers(Arc::clone(headers)),
            None => variables,
        };
        variables.with_client(self.client())
    }

    /// Whose turn it is where many wait.
    fn client(&self) -> RequestClient {
        match (&self.asker, self.address) {
            (Some(asker), _) => asker.client(),
            (None, Some(address)) => client_at(address),
            (None, None) => RequestClient::Unknown,
        }
    }

    /// When who asks is no longer known (Unix seconds).
    pub(crate) fn expires_at(&self) -> Option<i64> {
        self.asker.as_ref()?.identity.expires_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_of_whom_nothing_is_known_are_told_from_each_other_by_their_addresses() {
        let of = |address: &str| {
            let context = RequestContext { address: address.parse().ok(), ..RequestContext::default() };
            context.add_session(Variables::default())
        };
        let key = |address: &str| of(address).client().key();
        for other in ["192.0.2.2", "2001:db8:0:1::7", "::c000:201", "unknown"] {
            assert_ne!(key("192.0.2.1"), key(other), "{other}");
        }
        assert_eq!(key("192.0.2.1"), key("::ffff:192.0.2.1"));
        assert_eq!(key("2001:db8:0:1::7"), key("2001:db8:0:1:5::"), "one client has all of a network");
        assert_eq!(of("192.0.2.1"), of("192.0.2.2"), "what is asked is the same");
    }
}
