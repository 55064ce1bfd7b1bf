//! `wrk.lookup` and `wrk.connect`, and the addresses that they take and return.

use mlua::{FromLua, Lua, MetaMethod, UserData, UserDataMethods, Value};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

/// Services that scripts ask for by name; others are given as a number.
const SERVICES: [(&str, u16); 2] = [("http", 80), ("https", 443)];

/// An address as scripts hold it; printed as `127.0.0.1:8080`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Address(pub SocketAddr);

impl UserData for Address {
    fn add_methods<M: UserDataMethods<Self>>(methods: &mut M) {
        methods.add_meta_method(MetaMethod::ToString, |_, address, ()| Ok(address.0.to_string()));
    }
}

impl FromLua for Address {
    fn from_lua(value: Value, _lua: &Lua) -> mlua::Result<Self> {
        let kind = value.type_name();
        let address = match value {
            Value::UserData(data) => data.borrow::<Self>().ok().map(|address| *address),
            _ => None,
        };
        address.ok_or_else(|| {
            mlua::Error::runtime(format!("an address from wrk.lookup is needed here, not a {kind}"))
        })
    }
}

/// All addresses of a host, in the system's order.
pub(super) fn lookup(host: &str, service: Option<&str>) -> mlua::Result<Vec<Address>> {
    let service = service.unwrap_or("http");
    let port = SERVICES.iter().find(|(name, _)| *name == service).map(|(_, port)| *port);
    let Some(port) = port.or_else(|| service.parse().ok()) else {
        return Err(mlua::Error::runtime(format!(
            "wrk.lookup: `{service}` is no service that is known; give `http`, `https` or a port"
        )));
    };
    let found = (host, port)
        .to_socket_addrs()
        .map_err(|cause| mlua::Error::runtime(format!("wrk.lookup: cannot resolve `{host}`: {cause}")))?;
    Ok(found.map(Address).collect())
}

pub(super) fn connects(address: Address, timeout: Duration) -> bool {
    TcpStream::connect_timeout(&address.0, timeout).is_ok()
}
