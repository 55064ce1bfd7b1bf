//! The `stack` of errors as scripts read it, as in k6: what the error says, and the author's places. What QuickJS keeps of
//! an error stays there under another name.

use crate::host::host_of;
use crate::vm::context::{accessor_of, define_accessor};
use crate::vm::error::thrown::{self, KEPT_STACK};
use rquickjs::function::This;
use rquickjs::{Ctx, Function, Object, Persistent, Value};
use std::cell::RefCell;

/// The getter that all users of a thread share.
#[derive(Default)]
pub(crate) struct ErrorStacks(RefCell<Option<Persistent<Function<'static>>>>);

impl ErrorStacks {
    /// Makes the getter, in the context of natives, whose errors have it too.
    pub(crate) fn make(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let getter = Function::new(ctx.clone(), stack_of)?;
        *self.0.borrow_mut() = Some(Persistent::save(ctx, getter));
        self.set(ctx)
    }

    /// Gives it to the errors of a context.
    pub(crate) fn set(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        let Some(getter) = self.0.borrow().clone() else { return Ok(()) };
        let constructor: Object<'_> = ctx.globals().get("Error")?;
        let prototype: Object<'_> = constructor.get("prototype")?;
        let Some([kept, setter]) = accessor_of(&prototype, "stack") else { return Ok(()) };
        let no_setter = Value::new_undefined(ctx.clone());
        define_accessor(&prototype, KEPT_STACK, &kept, &no_setter)?;
        let getter = getter.restore(ctx)?;
        define_accessor(&prototype, "stack", &getter, &setter)
    }

    /// Frees what is held of the runtime.
    pub(crate) fn clear(&self) {
        *self.0.borrow_mut() = None;
    }
}

/// Undefined for what is no error.
#[expect(clippy::needless_pass_by_value, reason = "functions of JavaScript own their arguments")]
fn stack_of<'js>(ctx: Ctx<'js>, this: This<Value<'js>>) -> rquickjs::Result<Value<'js>> {
    match this.0.as_object() {
        Some(error) => thrown::written_stack(&host_of(&ctx), error),
        None => Ok(Value::new_undefined(ctx)),
    }
}
