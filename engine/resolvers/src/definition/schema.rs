//! Putting a schema together: its text, the functions of its fields, and checks that they fit.

use std::{any::Any, fmt, sync::Arc, time::Duration};

use prony_graphql::{
    Name,
    compiler::collections::HashMap,
    requirements::{Requirements, with_definitions},
};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    api::{
        answer::Answer,
        context::{Context, Making},
        error::{Error, Faults},
        events::Subscriber,
        function::{AsyncBatchFunction, AsyncFieldFunction, BatchFunction, Bind, FieldFunction},
    },
    definition::{
        catalog::Catalog,
        check,
        contribution::{self, Declared},
        directive::{self, Apply},
        settings::Settings,
    },
    execute::{event_field::EventField, plan::Resolve},
    source::Resolvers,
};

/// A schema in GraphQL's own language, and a function for each field that a value does not hold itself.
///
/// Every root field has a function. A field of another type has one, or its value comes from the member of the
/// same name of what serde writes of the parent. Objects that functions answer fields of must themselves be
/// answered by functions, so that the parents are there as Rust values.
///
/// [`build`](Schema::build) refuses what does not fit, all faults at once.
pub struct Schema<C> {
    sdl: String,
    context: Context<C>,
    making: Option<Making>,
    functions: Vec<(String, Arc<dyn Resolve>)>,
    directives: Vec<(String, Arc<dyn Apply>)>,
    settings: Settings,
}

impl<C: Send + Sync + 'static> Schema<C> {
    /// A schema without functions yet; each gets the context as its first argument.
    pub fn new(sdl: impl Into<String>, context: C) -> Self {
        Self::sharing(sdl, Arc::new(context))
    }

    /// The same with a context that others hold too.
    pub fn sharing(sdl: impl Into<String>, context: Arc<C>) -> Self {
        Self::with(sdl.into(), Context::shared(context), None)
    }

    /// A schema whose functions get a context of the request that they answer: `make` makes it of the request's head,
    /// before anything runs. Its error refuses the request. The head is what the server has of it:
    /// `http::request::Parts`, in which the payload of a WebSocket's `connection_init` is one of the extensions.
    pub fn per_request<H: Any>(
        sdl: impl Into<String>,
        make: impl Fn(&H) -> Result<C, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::with(sdl.into(), Context::of_request(), Some(Making::new(make)))
    }

    fn with(sdl: String, context: Context<C>, making: Option<Making>) -> Self {
        let (functions, directives) = (Vec::new(), Vec::new());
        Self { sdl, context, making, functions, directives, settings: Settings::default() }
    }

    /// A function for `Type.field`: `|context: &C, arguments: A|` for a root field, `|context: &C, parent: &P,
    /// arguments: A|` for a field of another type. It must not block.
    #[must_use]
    pub fn field<M>(self, name: &str, function: impl FieldFunction<C, M>) -> Self {
        let bound = function.bind(self.context.clone());
        self.add(name, bound)
    }

    /// A function that is called once for all parents of a level: `|context: &C, parents: &[&P], arguments: A|`.
    /// It answers a list with one entry a parent.
    #[must_use]
    pub fn batch_field<M>(self, name: &str, function: impl BatchFunction<C, M>) -> Self {
        let bound = function.bind(self.context.clone());
        self.add(name, bound)
    }

    /// [`field`](Schema::field) for what waits: `|context: Arc<C>, arguments: A| async move { … }`, with a clone
    /// of the parent between where there is one.
    #[must_use]
    pub fn async_field<M>(self, name: &str, function: impl AsyncFieldFunction<C, M>) -> Self {
        let bound = function.bind(self.context.clone());
        self.add(name, bound)
    }

    /// [`batch_field`](Schema::batch_field) for what waits: `|context: Arc<C>, parents: Vec<P>, arguments: A|
    /// async move { … }`.
    #[must_use]
    pub fn async_batch_field<M>(self, name: &str, function: impl AsyncBatchFunction<C, M>) -> Self {
        let bound = function.bind(self.context.clone());
        self.add(name, bound)
    }

    /// A function for a field of `Subscription`: `|context: &C, arguments: A|` gives the [`Subscriber`] that the
    /// client hears. Each event is answered as if a function had given it, with functions below it.
    #[must_use]
    pub fn event_field<F, A, T>(self, name: &str, function: F) -> Self
    where
        F: Fn(&C, A) -> Subscriber<T> + Send + Sync + 'static,
        A: DeserializeOwned + 'static,
        T: Answer + Clone,
    {
        let bound = Bind(Arc::new(EventField::new(self.context.clone(), function)));
        self.add(name, bound)
    }

    fn add(mut self, name: &str, bound: Bind) -> Self {
        self.functions.push((name.to_owned(), bound.0));
        self
    }

    /// A function for a directive of the schema, which changes values of the fields it stands at: in a request
    /// (`on FIELD`) or in the schema (`on FIELD_DEFINITION`). Nulls stay, and items of lists change one by one.
    #[must_use]
    pub fn directive<F, T, A, R>(mut self, name: &str, function: F) -> Self
    where
        F: Fn(T, A) -> R + Send + Sync + 'static,
        T: DeserializeOwned + 'static,
        A: DeserializeOwned + 'static,
        R: Serialize + 'static,
    {
        let name = name.trim_start_matches('@');
        self.directives.push((name.to_owned(), directive::wrap(name, function)));
        self
    }

    /// See [`Settings::function_timeout`].
    #[must_use]
    pub fn function_timeout(mut self, timeout: Duration) -> Self {
        self.settings.function_timeout = timeout;
        self
    }

    /// The source that answers with these functions, or everything that does not fit.
    pub fn build(self) -> Result<Resolvers, Faults> {
        let schema = contribution::parse(&with_definitions(&self.sdl))?;
        let mut faults = Faults(Vec::new());
        let mut catalog = Catalog {
            implementers: schema.implementers_map(),
            schema,
            functions: HashMap::default(),
            directives: HashMap::default(),
            declared: Declared::default(),
            requirements: Requirements::default(),
        };
        for (name, function) in self.functions {
            catalog.add_function(&name, function, &mut faults);
        }
        for (name, function) in self.directives {
            catalog.add_directive(&name, function, &mut faults);
        }
        check::check(&catalog, &mut faults);
        let applies = |name: &Name| catalog.directives.contains_key(name);
        catalog.declared = contribution::declared_directives(&catalog.schema, applies);
        catalog.requirements =
            Requirements::of(&catalog.schema, |name| catalog.directives.contains_key(name));
        if faults.0.is_empty() {
            Ok(Resolvers::new(catalog, self.settings, self.making))
        } else {
            Err(faults)
        }
    }
}

impl<C> fmt::Debug for Schema<C> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Schema").field("functions", &self.functions.len()).finish_non_exhaustive()
    }
}
