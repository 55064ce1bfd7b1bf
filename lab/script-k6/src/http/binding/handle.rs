//! What scripts hold of ours without looking inside: cookie jars, expected statuses, URLs with names, files.

#![expect(unsafe_code, reason = "QuickJS's values are told how long Rust's live")]

use crate::http::settings::Expected;
use prony_http_session::exchange::SharedJar;
use rquickjs::class::{JsClass, Readable, Trace, Tracer};
use rquickjs::function::Constructor;
use rquickjs::{Class, Ctx, JsLifetime, Object, Value};
use std::rc::Rc;

/// One JavaScript class for them all; their methods are on the prototypes that the module gives them.
#[derive(Debug, Clone)]
pub(crate) enum Handle {
    Jar(SharedJar),
    Expected(Rc<Expected>),
    /// `http.url`: the URL and the name with gaps.
    Url {
        url: Rc<str>,
        name: Rc<str>,
    },
    /// `http.file`: the data and what is said of it are the object's own properties.
    File,
}

impl Handle {
    /// The object that a script gets.
    pub(crate) fn into_object(self, prototype: Object<'_>) -> rquickjs::Result<Object<'_>> {
        Class::instance_proto(self, prototype).map(Class::into_inner)
    }

    /// The handle within a value, where it is one.
    pub(crate) fn of(value: &Value<'_>) -> Option<Self> {
        let class = Class::<Self>::from_value(value).ok()?;
        Some(class.borrow().clone())
    }
}

impl<'js> Trace<'js> for Handle {
    fn trace(&self, _tracer: Tracer<'_, 'js>) {}
}

// SAFETY: it holds no value with the lifetime of a context.
unsafe impl JsLifetime<'_> for Handle {
    type Changed<'to> = Handle;
}

impl<'js> JsClass<'js> for Handle {
    const NAME: &'static str = "Handle";

    type Mutable = Readable;

    fn constructor(_ctx: &Ctx<'js>) -> rquickjs::Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}
