//! What the module keeps for a thread, and for a user: pages, a jar, and the calls that are under way.

use crate::host::Host;
use crate::http::call::page::{HeadMemo, Page, Pages};
use crate::http::settings::{Expected, HttpOptions, HttpSettings, ResponseType};
use prony_http_session::exchange::{Exchange, SharedJar};
use prony_http_session::headers::Headers;
use prony_metrics::Tags;
use prony_model::program::call::AskId;
use prony_model::units::Nanos;
use std::rc::Rc;
use std::sync::Arc;

/// One thread's; made at its first use.
#[derive(Debug, Default)]
pub(crate) struct HttpThread {
    pages: Option<Pages>,
    pub memo: HeadMemo,
}

impl HttpThread {
    pub(crate) fn pages(&mut self, host: &Host) -> &mut Pages {
        self.pages.get_or_insert_with(|| Pages::new(host.script.shared::<HttpSettings>().get()))
    }
}

/// The options of the run.
pub(crate) fn options(host: &Host) -> Arc<HttpOptions> {
    Arc::clone(&host.thread().get::<HttpThread>().pages(host).options)
}

/// What the running user keeps, without what an earlier iteration left.
pub(crate) fn begin_user(host: &Host) {
    let keeps_cookies = options(host).keeps_cookies;
    let mut user = host.user();
    let iteration = user.iteration;
    user.data.get::<HttpUser>().begin(iteration, keeps_cookies);
}

/// The jar of the user that runs.
pub(crate) fn user_jar(host: &Host) -> SharedJar {
    begin_user(host);
    host.user().data.get::<HttpUser>().jar()
}

/// One user's.
#[derive(Debug, Default)]
pub(crate) struct HttpUser {
    /// Made at its first use.
    jar: Option<SharedJar>,
    /// The iteration that the rest belongs to.
    iteration: Option<u64>,
    /// Outer `None`: as k6's default.
    #[expect(clippy::option_option, reason = "not given, given as null, and given are three things")]
    pub callback: Option<Option<Rc<Expected>>>,
    calls: Vec<(AskId, Pending)>,
}

impl HttpUser {
    /// Lets go of what an earlier iteration left.
    pub(crate) fn begin(&mut self, iteration: u64, keeps_cookies: bool) {
        if self.iteration != Some(iteration) {
            self.iteration = Some(iteration);
            self.calls.clear();
            if !keeps_cookies {
                self.jar = None;
            }
        }
    }

    pub(crate) fn jar(&mut self) -> SharedJar {
        Rc::clone(self.jar.get_or_insert_default())
    }

    /// True where a request gets no cookies from the jar.
    pub(crate) fn has_no_cookies(&self) -> bool {
        self.jar.as_ref().is_none_or(|jar| jar.borrow().is_empty())
    }

    pub(crate) fn keep(&mut self, id: AskId, pending: Pending) {
        self.calls.push((id, pending));
    }

    pub(crate) fn take(&mut self, id: AskId) -> Option<Pending> {
        let index = self.calls.iter().position(|(known, _)| *known == id)?;
        Some(self.calls.swap_remove(index).1)
    }
}

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Pending {
    pub flow: Flow,
    pub wishes: Wishes,
    /// When the whole of it is given up.
    pub deadline: Nanos,
    /// Option `rps` lets it begin later; a timer has its number.
    pub is_held: bool,
}

/// The requests that a call may take.
#[derive(Debug)]
pub(crate) enum Flow {
    /// A plain GET: nothing but its page.
    Plain(Rc<Page>),
    Full(Box<FullFlow>),
}

#[derive(Debug)]
pub(crate) struct FullFlow {
    pub exchange: Exchange,
    /// Of the current request.
    pub page: Rc<Page>,
    /// As the script asked.
    pub given: Rc<GivenRequest>,
}

/// What `response.request` shows.
#[derive(Debug, Clone)]
pub(crate) struct GivenRequest {
    pub method: Rc<str>,
    pub url: String,
    pub headers: Headers,
    /// Before it was compressed.
    pub body: Rc<[u8]>,
}

/// What of a script's wishes is needed until the answer.
#[derive(Debug, Clone)]
pub(crate) struct Wishes {
    pub throws: bool,
    pub response_type: ResponseType,
    pub expected: Option<Rc<Expected>>,
    /// The user's when the call was made: what a script sets while it waits is not the call's.
    pub user: Tags,
    /// Beside the user's.
    pub tags: Rc<[(String, String)]>,
    /// A tag `name` that stands for all requests of the call.
    pub name: Option<Rc<str>>,
    /// The redirect limit was nobody's choice.
    pub warns_of_redirects: bool,
}
