//! Globals that are made for a user at its first look at one of them: most users of most scripts never look, and each
//! would have its own.
//!
//! Until then the global object has accessors in their places, which all users of a thread share.

#![expect(unsafe_code, reason = "contexts are reached by pointers that QuickJS gives back")]

use crate::vm::context::{Intrinsic, add_intrinsic, define_accessor, has_accessor};
use crate::vm::loader::{Loader, evaluate};
use rquickjs::object::Property;
use rquickjs::{Ctx, Function, Object, Persistent, Value};
use std::cell::RefCell;
use std::ptr::NonNull;

/// What the language has, in one piece: no part of it is there without the others.
const TYPED_ARRAYS: &[&str] = &[
    "ArrayBuffer",
    "SharedArrayBuffer",
    "Uint8ClampedArray",
    "Int8Array",
    "Uint8Array",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "BigInt64Array",
    "BigUint64Array",
    "Float16Array",
    "Float32Array",
    "Float64Array",
    "DataView",
    "Atomics",
];

const INTRINSICS: [GlobalGroup; 4] = [
    GlobalGroup { names: TYPED_ARRAYS, from: GlobalSource::Language(Intrinsic::TypedArrays) },
    GlobalGroup { names: &["Date"], from: GlobalSource::Language(Intrinsic::Date) },
    GlobalGroup {
        names: &["Map", "Set", "WeakMap", "WeakSet"],
        from: GlobalSource::Language(Intrinsic::MapSet),
    },
    GlobalGroup {
        names: &["WeakRef", "FinalizationRegistry"],
        from: GlobalSource::Language(Intrinsic::WeakRef),
    },
];

/// Names that are made together.
#[derive(Debug, Clone, Copy)]
struct GlobalGroup {
    names: &'static [&'static str],
    from: GlobalSource,
}

#[derive(Debug, Clone, Copy)]
enum GlobalSource {
    /// They are exports of this module.
    Module(&'static str),
    Language(Intrinsic),
}

/// The accessors of one thread.
#[derive(Default)]
pub(crate) struct Globals(RefCell<Vec<Accessor>>);

struct Accessor {
    name: &'static str,
    getter: Persistent<Function<'static>>,
    setter: Persistent<Function<'static>>,
}

impl Globals {
    /// Makes the accessors, in the context of natives.
    ///
    /// # Safety
    /// The loader is alive while JavaScript runs.
    pub(crate) unsafe fn make(&self, ctx: &Ctx<'_>, loader: NonNull<Loader>) -> rquickjs::Result<()> {
        // SAFETY: as promised.
        let builtins = unsafe { loader.as_ref() }.builtins();
        let modules = builtins
            .globals
            .iter()
            .map(|&(names, module)| GlobalGroup { names, from: GlobalSource::Module(module) });
        for group in modules.chain(INTRINSICS) {
            for &name in group.names {
                let accessor = Accessor::new(ctx, loader, group, name)?;
                self.0.borrow_mut().push(accessor);
            }
        }
        Ok(())
    }

    /// Puts the accessors into a user's context.
    pub(crate) fn set(&self, ctx: &Ctx<'_>) -> rquickjs::Result<()> {
        for accessor in &*self.0.borrow() {
            let (getter, setter) =
                (accessor.getter.clone().restore(ctx)?, accessor.setter.clone().restore(ctx)?);
            define_accessor(&ctx.globals(), accessor.name, &getter, &setter)?;
        }
        Ok(())
    }

    /// Frees what is held of the runtime.
    pub(crate) fn clear(&self) {
        self.0.borrow_mut().clear();
    }
}

impl Accessor {
    fn new<'js>(
        ctx: &Ctx<'js>,
        loader: NonNull<Loader>,
        group: GlobalGroup,
        name: &'static str,
    ) -> rquickjs::Result<Self> {
        // SAFETY: as `Globals::make` says.
        let install = move |ctx: &Ctx<'js>| group.install(ctx, unsafe { loader.as_ref() });
        let get = move |ctx: Ctx<'js>| {
            install(&ctx)?;
            ctx.globals().get::<_, Value<'js>>(name)
        };
        let set = move |ctx: Ctx<'js>, value: Value<'js>| {
            install(&ctx)?;
            define(&ctx.globals(), name, value)
        };
        let (get, set) = (Function::new(ctx.clone(), get)?, Function::new(ctx.clone(), set)?);
        Ok(Self { name, getter: Persistent::save(ctx, get), setter: Persistent::save(ctx, set) })
    }
}

impl GlobalGroup {
    /// Puts values in the places of the accessors that are still there.
    fn install(self, ctx: &Ctx<'_>, loader: &Loader) -> rquickjs::Result<()> {
        let module = match self.from {
            GlobalSource::Module(module) => module,
            GlobalSource::Language(intrinsic) => return self.install_intrinsic(ctx, intrinsic),
        };
        // SAFETY: JavaScript runs, and looks at a global.
        let (_, exports) = unsafe { evaluate(ctx, loader, module)? };
        let globals = ctx.globals();
        for &name in self.names {
            if has_accessor(&globals, name) {
                define(&globals, name, exports.get(name)?)?;
            }
        }
        Ok(())
    }

    /// QuickJS ends the process where one of the names is taken, so none may be; what scripts put there is put back.
    fn install_intrinsic(self, ctx: &Ctx<'_>, intrinsic: Intrinsic) -> rquickjs::Result<()> {
        let globals = ctx.globals();
        let mut kept = Vec::new();
        for &name in self.names {
            if !has_accessor(&globals, name) && globals.contains_key(name)? {
                kept.push((name, globals.get(name)?));
            }
            globals.remove(name)?;
        }
        add_intrinsic(ctx, intrinsic)?;
        kept.into_iter().try_for_each(|(name, value)| define(&globals, name, value))
    }
}

/// As what the language has is defined.
fn define<'js>(globals: &Object<'js>, name: &str, value: Value<'js>) -> rquickjs::Result<()> {
    globals.prop(name, Property::from(value).writable().configurable())
}

/// Gives a context the classes of buffers, for natives that make one without a look at a global.
pub(crate) fn need_buffers(ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    ctx.globals().get::<_, Value<'_>>("ArrayBuffer").map(drop)
}
