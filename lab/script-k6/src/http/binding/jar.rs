//! `prony:http`: the functions of cookie jars.

#![expect(clippy::needless_pass_by_value, reason = "native functions are given their arguments")]

use crate::host::host_of;
use crate::http::binding::arguments::{integer_of, text_of, text_or_nothing, thrown};
use crate::http::binding::handle::Handle;
use crate::http::binding::{require_user, url_of};
use crate::http::call::now_ms;
use crate::http::call::state::HttpUser;
use crate::modules::binding::is_nullish;
use prony_http_session::date::parse_http_date;
use prony_http_session::exchange::SharedJar;
use prony_http_session::set_cookie::SetCookie;
use rquickjs::function::{Opt, This};
use rquickjs::{Array, Coerced, Ctx, Exception, Function, Object, Value};

pub(crate) fn install<'js>(ctx: &Ctx<'js>, exports: &Object<'js>) -> rquickjs::Result<()> {
    exports.set("newJar", Function::new(ctx.clone(), new_jar)?)?;
    exports.set("userJar", Function::new(ctx.clone(), user_jar)?)?;
    let jar = Object::new(ctx.clone())?;
    jar.set("cookiesForURL", Function::new(ctx.clone(), cookies_for_url)?.with_name("cookiesForURL")?)?;
    jar.set("set", Function::new(ctx.clone(), set_cookie)?.with_name("set")?)?;
    jar.set("clear", Function::new(ctx.clone(), clear_cookies)?.with_name("clear")?)?;
    jar.set("delete", Function::new(ctx.clone(), delete_cookie)?.with_name("delete")?)?;
    exports.set("jar", jar)
}

fn new_jar(prototype: Object<'_>) -> rquickjs::Result<Object<'_>> {
    Handle::Jar(SharedJar::default()).into_object(prototype)
}

fn user_jar<'js>(ctx: Ctx<'js>, prototype: Object<'js>) -> rquickjs::Result<Object<'js>> {
    let host = host_of(&ctx);
    require_user(&ctx, &host, "Making cookie jars")?;
    let jar = host.user().data.get::<HttpUser>().jar();
    Handle::Jar(jar).into_object(prototype)
}

fn jar_of(ctx: &Ctx<'_>, this: &Value<'_>) -> rquickjs::Result<SharedJar> {
    match Handle::of(this) {
        Some(Handle::Jar(jar)) => Ok(jar),
        _ => Err(Exception::throw_type(ctx, "this is no cookie jar")),
    }
}

fn cookies_for_url<'js>(
    ctx: Ctx<'js>,
    this: This<Value<'js>>,
    url: Value<'js>,
) -> rquickjs::Result<Object<'js>> {
    let (jar, url) = (jar_of(&ctx, &this.0)?, url_of(&ctx, &url)?);
    let cookies = jar.borrow_mut().cookies_for(&url, now_ms());
    let object = Object::new(ctx.clone())?;
    for (name, value) in cookies {
        let list: Option<Array<'js>> = object.get(name.as_str())?;
        let list = match list {
            Some(list) => list,
            None => Array::new(ctx.clone())?,
        };
        list.set(list.len(), value)?;
        object.set(name, list)?;
    }
    Ok(object)
}

fn set_cookie<'js>(
    ctx: Ctx<'js>,
    this: This<Value<'js>>,
    url: Value<'js>,
    name: Value<'js>,
    value: Value<'js>,
    options: Opt<Value<'js>>,
) -> rquickjs::Result<bool> {
    let (jar, url) = (jar_of(&ctx, &this.0)?, url_of(&ctx, &url)?);
    let (name, value) = (text_of(&name)?, text_or_nothing(&value)?);
    let mut cookie = SetCookie { name, value, ..SetCookie::default() };
    if let Some(options) = options.0.as_ref().and_then(Value::as_object) {
        for property in options.props::<String, Value<'_>>() {
            let (name, value) = property?;
            apply_option(&ctx, &mut cookie, &name, &value)?;
        }
    }
    jar.borrow_mut().set(&url, &cookie, now_ms());
    Ok(true)
}

fn apply_option(
    ctx: &Ctx<'_>,
    cookie: &mut SetCookie,
    name: &str,
    value: &Value<'_>,
) -> rquickjs::Result<()> {
    match name.to_ascii_lowercase().as_str() {
        "path" => cookie.path = text_of(value)?,
        "domain" => cookie.domain = text_of(value)?,
        "max_age" => cookie.max_age_s = integer_of(value)?,
        "secure" => cookie.is_secure = value.get::<Coerced<bool>>()?.0,
        "http_only" => cookie.is_http_only = value.get::<Coerced<bool>>()?.0,
        "expires" => {
            let text = text_of(value)?;
            let expires = parse_http_date(&text);
            if expires.is_none() && !text.is_empty() {
                let message = format!("unable to parse \"expires\" date string \"{text}\"");
                return Err(thrown(ctx, &message));
            }
            cookie.expires_ms = expires;
        }
        _ => {}
    }
    Ok(())
}

fn clear_cookies<'js>(ctx: Ctx<'js>, this: This<Value<'js>>, url: Value<'js>) -> rquickjs::Result<()> {
    let (jar, url) = (jar_of(&ctx, &this.0)?, url_of(&ctx, &url)?);
    jar.borrow_mut().clear(&url, now_ms());
    Ok(())
}

fn delete_cookie<'js>(
    ctx: Ctx<'js>,
    this: This<Value<'js>>,
    url: Value<'js>,
    name: Value<'js>,
) -> rquickjs::Result<()> {
    let (jar, url) = (jar_of(&ctx, &this.0)?, url_of(&ctx, &url)?);
    let name = if is_nullish(&name) { String::new() } else { text_of(&name)? };
    if name.is_empty() {
        return Err(thrown(&ctx, "cookie: is null"));
    }
    jar.borrow_mut().delete(&url, &name, now_ms());
    Ok(())
}
