//! The pages over HTTP, for one machine's browsers.

use std::{convert::Infallible, io, net::TcpListener, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};

use crate::{Page, page};

/// Beside the site's own files nothing is asked for. The first lines of each page choose dark or light before it is drawn, so scripts
/// may be inline.
const POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";
/// Where a path leads to no page.
const MISSING: &str = "/404.html";
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// After a connection could not be taken, for want of descriptors.
const REST: Duration = Duration::from_millis(100);

/// Serves the pages until the process ends.
pub fn serve(pages: &'static [Page], listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                tokio::time::sleep(REST).await;
                continue;
            };
            let service =
                service_fn(move |request| async move { Ok::<_, Infallible>(respond(pages, &request)) });
            tokio::spawn(
                http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(HEADER_TIMEOUT)
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    })
}

fn respond(pages: &'static [Page], request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let accepted = request.headers().get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok());
    answer(pages, request.method(), request.uri().path(), accepted.unwrap_or_default())
}

fn answer(pages: &'static [Page], method: &Method, path: &str, accepted: &str) -> Response<Full<Bytes>> {
    if method != Method::GET && method != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "pages are read with GET");
    }
    let (status, page) = match page(pages, path) {
        Some(page) => (StatusCode::OK, page),
        None => match page(pages, MISSING) {
            Some(page) => (StatusCode::NOT_FOUND, page),
            None => return plain(StatusCode::NOT_FOUND, "there is no such page"),
        },
    };
    let takes_gzip = accepted.split(',').any(|coding| coding.trim().split(';').next() == Some("gzip"));
    let body = if takes_gzip { Ok(Bytes::from_static(page.gzip)) } else { page.content().map(Bytes::from) };
    let Ok(body) = body else { return plain(StatusCode::INTERNAL_SERVER_ERROR, "the page is damaged") };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, write::GzEncoder};
    use hyper::body::Body as _;

    use super::*;

    fn pages() -> &'static [Page] {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(b"<p>").unwrap();
        let gzip = encoder.finish().unwrap().leak();
        let one = |path| Page { path, content_type: "text/html", gzip };
        Box::leak(Box::new([one("/index.html"), one(MISSING)]))
    }

    #[test]
    fn what_is_missing_is_said_and_what_changes_something_refused() {
        let status = |method: &Method, path: &str| answer(pages(), method, path, "gzip").status();
        assert_eq!(status(&Method::GET, "/"), StatusCode::OK);
        assert_eq!(status(&Method::HEAD, "/index.html"), StatusCode::OK);
        assert_eq!(status(&Method::GET, "/docs/none"), StatusCode::NOT_FOUND);
        assert_eq!(status(&Method::GET, "/../../etc/passwd"), StatusCode::NOT_FOUND);
        assert_eq!(status(&Method::POST, "/"), StatusCode::METHOD_NOT_ALLOWED);
    }

    #[test]
    fn only_those_who_take_it_get_it_compressed() {
        let size = |accepted: &str| {
            let response = answer(pages(), &Method::GET, "/", accepted);
            (response.headers().contains_key(header::CONTENT_ENCODING), response.body().size_hint().exact())
        };
        let whole = (false, Some(b"<p>".len() as u64));
        assert_eq!(size("br, gzip;q=0.5"), (true, Some(pages()[0].gzip.len() as u64)));
        assert_eq!(size("identity, gzipped"), whole);
        assert_eq!(size(""), whole);
    }
}
