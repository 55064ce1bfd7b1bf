//! QuickJS's questions for modules: names resolved, text compiled at its first use anywhere and read as bytes after.

#![expect(unsafe_code, reason = "QuickJS asks for modules by C functions")]

use super::builtin::{Builtins, NATIVE_PREFIX};
use super::modules::Script;
use super::raw::owned;
use crate::host::host_of;
use crate::modules::log::{Level, Log};
use rquickjs::{Ctx, Exception, JsLifetime, Object, Persistent, Promise, qjs};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, CString};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};

/// In the name of a module that has what another one has, and names that this lacks: `k6/http?lacks=pick,choose`.
const LACKS: &str = "?lacks=";

/// What the loader of one thread's runtime knows.
pub(super) struct Loader {
    script: Arc<Script>,
    /// The context that natives are made in.
    base: NonNull<qjs::JSContext>,
    /// Objects of natives by name, freed by [`Loader::clear`].
    natives: RefCell<HashMap<String, qjs::JSValue>>,
    /// By importer and specifier: the module in the place of a built-in one.
    substitutes: RefCell<HashMap<String, HashMap<String, String>>>,
}

/// Names that scripts import and built-in modules lack, as far as they were told of.
#[derive(Default)]
pub(crate) struct ToldLacks(Mutex<BTreeSet<String>>);

impl ToldLacks {
    /// What was told when options were read is not told again.
    pub(crate) fn add(&self, earlier: &Self) {
        let earlier = earlier.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(earlier);
    }
}

/// How natives reach the loader of their runtime.
struct Reach(NonNull<Loader>);

// SAFETY: it holds no value with the lifetime of a context.
unsafe impl JsLifetime<'_> for Reach {
    type Changed<'to> = Reach;
}

/// Modules that natives have loaded for a user, with their exports.
#[derive(Default)]
struct Loaded(Vec<(&'static str, Persistent<Object<'static>>)>);

/// The exports of a built-in module in the user's own copy, which is made at the first call.
pub(crate) fn load<'js>(ctx: &Ctx<'js>, name: &'static str) -> rquickjs::Result<Object<'js>> {
    let host = host_of(ctx);
    let known = {
        let mut user = host.user();
        let loaded = user.data.get::<Loaded>();
        loaded.0.iter().find(|(known, _)| *known == name).map(|(_, exports)| exports.clone())
    };
    if let Some(exports) = known {
        return exports.restore(ctx);
    }
    let reach = ctx.userdata::<Reach>().expect("the loader is stored before natives run").0;
    // SAFETY: the loader lives as long as its runtime's JavaScript runs, which calls this.
    let (_, exports) = unsafe { evaluate(ctx, reach.as_ref(), name)? };
    host.user().data.get::<Loaded>().0.push((name, Persistent::save(ctx, exports.clone())));
    Ok(exports)
}

/// Evaluates a module and what it imports. The promise is that of its evaluation; the object holds its exports.
///
/// # Safety
/// The context is alive and has the loader; JavaScript may run.
pub(super) unsafe fn evaluate<'js>(
    ctx: &Ctx<'js>,
    loader: &Loader,
    name: &str,
) -> rquickjs::Result<(Promise<'js>, Object<'js>)> {
    let raw = ctx.as_raw().as_ptr();
    // SAFETY: the module belongs to its context, which is alive; values are freed where they are not handed out.
    unsafe {
        let module = loader.module(raw, name);
        if module.is_null() {
            return Err(rquickjs::Error::Exception);
        }
        let value = qjs::JS_DupValue(raw, qjs::JS_MKPTR(qjs::JS_TAG_MODULE, module.cast()));
        if qjs::JS_ResolveModule(raw, value) < 0 {
            qjs::JS_FreeValue(raw, value);
            return Err(rquickjs::Error::Exception);
        }
        let evaluated = qjs::JS_EvalFunction(raw, value);
        if qjs::JS_IsException(evaluated) {
            return Err(rquickjs::Error::Exception);
        }
        let promise = owned(ctx, evaluated);
        let exports = qjs::JS_GetModuleNamespace(raw, module);
        if qjs::JS_IsException(exports) {
            return Err(rquickjs::Error::Exception);
        }
        Ok((promise.get()?, owned(ctx, exports).get()?))
    }
}

impl Loader {
    /// # Safety
    /// The context and its runtime outlive the value, and [`Loader::clear`] is called before they go.
    #[expect(clippy::unnecessary_box_returns, reason = "the runtime holds a pointer to it")]
    pub(super) unsafe fn install(script: Arc<Script>, base: NonNull<qjs::JSContext>) -> Box<Self> {
        let loader =
            Box::new(Self { script, base, natives: RefCell::default(), substitutes: RefCell::default() });
        let opaque = ptr::from_ref(&*loader).cast_mut().cast();
        // SAFETY: the box does not move, and the runtime asks only while it lives.
        unsafe {
            let runtime = qjs::JS_GetRuntime(base.as_ptr());
            qjs::JS_SetModuleLoaderFunc(runtime, Some(normalize), Some(load_module), opaque);
            let stored = Ctx::from_raw(base).store_userdata(Reach(NonNull::from(&*loader))).is_ok();
            assert!(stored, "nothing reads a runtime's data before it is used");
        }
        loader
    }

    pub(super) fn builtins(&self) -> &Builtins {
        &self.script.builtins
    }

    /// Frees what the loader holds of the runtime.
    ///
    /// # Safety
    /// The runtime is alive.
    pub(super) unsafe fn clear(&self) {
        for (_, value) in self.natives.borrow_mut().drain() {
            // SAFETY: the value is the loader's own.
            unsafe { qjs::JS_FreeValue(self.base.as_ptr(), value) };
        }
    }

    fn resolve(&self, from: &str, specifier: &str) -> Result<String, String> {
        let builtins = &self.script.builtins;
        if builtins.module(specifier).is_some() {
            return Ok(self.substitute(from, specifier).into_owned());
        }
        if builtins.native(specifier).is_some() && builtins.module(from).is_some() {
            return Ok(specifier.to_owned());
        }
        self.script.modules.resolve(from, specifier)
    }

    /// What a module gets for a built-in one: that itself, the fuller one where it mentions something of it, and one with names that
    /// neither has where it imports such.
    fn substitute<'s>(&self, from: &str, specifier: &'s str) -> Cow<'s, str> {
        if self.script.builtins.module(from).is_some() {
            return Cow::Borrowed(specifier);
        }
        if let Some(known) = self.substitutes.borrow().get(from).and_then(|known| known.get(specifier)) {
            return Cow::Owned(known.clone());
        }
        let found = self.completed(from, specifier);
        let mut substitutes = self.substitutes.borrow_mut();
        substitutes.entry(from.to_owned()).or_default().insert(specifier.to_owned(), found.clone());
        Cow::Owned(found)
    }

    fn completed(&self, from: &str, specifier: &str) -> String {
        let (builtins, modules) = (&self.script.builtins, &self.script.modules);
        let found = modules.text(from).ok().and_then(|text| {
            let mentions = |word: &str| memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some();
            builtins.fuller(specifier, mentions)
        });
        let found = found.unwrap_or(specifier);
        let texts = [found, specifier].map(|name| builtins.module(name).map_or("", |module| module.text));
        // Libraries are files in k6, whose absent exports are errors.
        let is_of_k6 = specifier == "k6" || specifier.starts_with("k6/");
        let lacking = if is_of_k6 { modules.lacking(from, specifier, &texts) } else { Vec::new() };
        if lacking.is_empty() {
            return found.to_owned();
        }
        self.tell_of_lacks(from, specifier, &lacking);
        format!("{found}{LACKS}{}", lacking.join(","))
    }

    /// Once a script.
    fn tell_of_lacks(&self, from: &str, specifier: &str, names: &[String]) {
        let told = self.script.shared::<ToldLacks>();
        let mut told = told.0.lock().unwrap_or_else(PoisonError::into_inner);
        for name in names {
            let message =
                format!("{specifier} has no `{name}`, which {from} imports: it is undefined, as in k6");
            if told.insert(message.clone()) {
                self.script.shared::<Log>().write(Level::Warning, &message, &[]);
            }
        }
    }

    fn text(&self, name: &str) -> Result<Arc<str>, String> {
        let builtins = &self.script.builtins;
        if let Some(module) = builtins.module(name) {
            return Ok(module.text.into());
        }
        match name.split_once(LACKS) {
            Some((found, names)) if builtins.module(found).is_some() => Ok(format!(
                "export * from \"{found}\"; export {{ default }} from \"{found}\"; export const {} = undefined;",
                names.replace(',', " = undefined, ")
            )
            .into()),
            _ => self.script.modules.text(name),
        }
    }

    /// The object of a native, made at its first use.
    fn native(&self, name: &str) -> rquickjs::Result<qjs::JSValue> {
        if let Some(value) = self.natives.borrow().get(name) {
            return Ok(*value);
        }
        // SAFETY: the base context is alive, and this thread's.
        let ctx = unsafe { Ctx::from_raw(self.base) };
        let object = Object::new(ctx.clone())?;
        let native = self.script.builtins.native(name).expect("only known natives are loaded");
        (native.install)(&ctx, &object)?;
        // SAFETY: the reference that is handed out is kept in the table.
        let value = unsafe { qjs::JS_DupValue(self.base.as_ptr(), object.as_value().as_raw()) };
        self.natives.borrow_mut().insert(name.to_owned(), value);
        Ok(value)
    }

    /// The object of a native in another context of the runtime.
    pub(super) fn native_object<'js>(&self, ctx: &Ctx<'js>, name: &str) -> rquickjs::Result<Object<'js>> {
        let value = self.native(name)?;
        // SAFETY: the reference made is the new value's.
        unsafe { owned(ctx, qjs::JS_DupValue(ctx.as_raw().as_ptr(), value)) }.get()
    }

    /// The module with this full name in a context that has none such yet; an exception is pending where it is null.
    ///
    /// # Safety
    /// The context is alive, this thread's, and JavaScript may run.
    pub(super) unsafe fn module(&self, ctx: *mut qjs::JSContext, name: &str) -> *mut qjs::JSModuleDef {
        if name.starts_with(NATIVE_PREFIX) {
            // SAFETY: as promised.
            return unsafe { self.native_module(ctx, name) };
        }
        let value = match self.script.compiled(name) {
            // SAFETY: the bytes come from `compile`.
            Some(bytes) => unsafe {
                let flags = qjs::JS_READ_OBJ_BYTECODE.cast_signed();
                qjs::JS_ReadObject(ctx, bytes.as_ptr(), bytes.len() as _, flags)
            },
            // SAFETY: as promised.
            None => unsafe { self.compile(ctx, name) },
        };
        // SAFETY: a module value holds a pointer to a module, which its context holds too.
        unsafe {
            if qjs::JS_IsException(value) {
                return ptr::null_mut();
            }
            let module = qjs::JS_VALUE_GET_PTR(value);
            qjs::JS_FreeValue(ctx, value);
            module.cast()
        }
    }

    unsafe fn compile(&self, ctx: *mut qjs::JSContext, name: &str) -> qjs::JSValue {
        let text = match self.text(name) {
            Ok(text) => text,
            // SAFETY: the context is alive.
            Err(message) => return unsafe { throw(ctx, &message) },
        };
        // QuickJS reads one byte beyond the end.
        let mut bytes = Vec::with_capacity(text.len() + 1);
        bytes.extend_from_slice(text.as_bytes());
        bytes.push(0);
        let Ok(file) = CString::new(name) else {
            // SAFETY: as above.
            return unsafe { throw(ctx, "the name of a module holds a zero byte") };
        };
        let flags = (qjs::JS_EVAL_TYPE_MODULE | qjs::JS_EVAL_FLAG_COMPILE_ONLY).cast_signed();
        // SAFETY: the text ends with a zero byte that is not counted; both live during the call.
        let value =
            unsafe { qjs::JS_Eval(ctx, bytes.as_ptr().cast(), text.len() as _, file.as_ptr(), flags) };
        // SAFETY: the value was just made.
        if !unsafe { qjs::JS_IsException(value) } {
            // SAFETY: as above; it has not been evaluated yet.
            unsafe { self.keep(ctx, name, value) };
        }
        value
    }

    /// Keeps the bytes of a compiled module; where there is no memory for them, others compile it again.
    unsafe fn keep(&self, ctx: *mut qjs::JSContext, name: &str, value: qjs::JSValue) {
        let mut length = 0;
        let flags = (qjs::JS_WRITE_OBJ_BYTECODE | qjs::JS_WRITE_OBJ_STRIP_SOURCE).cast_signed();
        // SAFETY: the bytes are QuickJS's until they are given back.
        unsafe {
            let bytes = qjs::JS_WriteObject(ctx, &raw mut length, value, flags);
            if bytes.is_null() {
                qjs::JS_FreeValue(ctx, qjs::JS_GetException(ctx));
                return;
            }
            self.script.keep_compiled(name, std::slice::from_raw_parts(bytes, length as usize));
            qjs::js_free(ctx, bytes.cast());
        }
    }

    unsafe fn native_module(&self, ctx: *mut qjs::JSContext, name: &str) -> *mut qjs::JSModuleDef {
        let native = self.native(name);
        let name = CString::new(name).expect("names of natives hold no zero byte");
        // SAFETY: the context is alive; QuickJS copies the names.
        unsafe {
            let Ok(native) = native else { return ptr::null_mut() };
            let module = qjs::JS_NewCModule(ctx, name.as_ptr(), Some(fill_native));
            if !module.is_null() {
                qjs::JS_AddModuleExport(ctx, module, c"default".as_ptr());
                qjs::JS_SetModulePrivateValue(ctx, module, qjs::JS_DupValue(ctx, native));
            }
            module
        }
    }
}

impl std::fmt::Debug for Loader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loader").finish_non_exhaustive()
    }
}

unsafe fn throw(ctx: *mut qjs::JSContext, message: &str) -> qjs::JSValue {
    let ctx = NonNull::new(ctx).expect("QuickJS passes a context");
    // SAFETY: the context is alive and this thread's.
    let ctx = unsafe { Ctx::from_raw(ctx) };
    if let Ok(error) = Exception::from_message(ctx.clone(), message) {
        ctx.throw(error.into_value());
    }
    qjs::JS_EXCEPTION
}

unsafe fn text_of<'a>(text: *const qjs::c_char) -> Cow<'a, str> {
    // SAFETY: QuickJS passes texts that end with a zero byte and live during the call.
    unsafe { CStr::from_ptr(text) }.to_string_lossy()
}

unsafe extern "C" fn normalize(
    ctx: *mut qjs::JSContext,
    from: *const qjs::c_char,
    specifier: *const qjs::c_char,
    opaque: *mut qjs::c_void,
) -> *mut qjs::c_char {
    // SAFETY: `install` set the pointer.
    let loader = unsafe { &*opaque.cast::<Loader>() };
    // SAFETY: QuickJS passes texts.
    let (from, specifier) = unsafe { (text_of(from), text_of(specifier)) };
    match loader.resolve(&from, &specifier) {
        // SAFETY: QuickJS takes the copy, which `js_strndup` ends with a zero byte.
        Ok(name) => unsafe { qjs::js_strndup(ctx, name.as_ptr().cast(), name.len() as _) },
        Err(message) => {
            // SAFETY: the context is alive.
            unsafe { throw(ctx, &message) };
            ptr::null_mut()
        }
    }
}

unsafe extern "C" fn load_module(
    ctx: *mut qjs::JSContext,
    name: *const qjs::c_char,
    opaque: *mut qjs::c_void,
) -> *mut qjs::JSModuleDef {
    // SAFETY: `install` set the pointer; QuickJS passes a text.
    unsafe { (*opaque.cast::<Loader>()).module(ctx, &text_of(name)) }
}

/// Sets the export of a native's module.
unsafe extern "C" fn fill_native(ctx: *mut qjs::JSContext, module: *mut qjs::JSModuleDef) -> qjs::c_int {
    // SAFETY: QuickJS passes a module that `native_module` made, whose private value is the export.
    unsafe {
        let value = qjs::JS_GetModulePrivateValue(ctx, module);
        qjs::JS_SetModuleExport(ctx, module, c"default".as_ptr(), value)
    }
}
