//! The page's own thread: takes connections, draws what the run hands over, and ends with the run.

use crate::Order;
use crate::drawing::draw;
use crate::events::{Reader, SLOW};
use crate::respond::respond;
use crate::state::{Drawn, Shared};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::cell::RefCell;
use std::convert::Infallible;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::LocalSet;

const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// More are closed at once.
const CONNECTIONS_MAX: usize = 32;
/// After a connection could not be taken, for want of descriptors.
const REST: Duration = Duration::from_millis(100);
/// Those who look have the last page within this time, or not at all.
const FAREWELL: Duration = Duration::from_secs(3);
/// Between two looks at whether they have it.
const LOOK: Duration = Duration::from_millis(5);

pub(crate) fn run(listener: TcpListener, shared: Arc<Shared>, orders: mpsc::Receiver<Order>) {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
    LocalSet::new().block_on(&runtime, serve(listener, shared, orders));
}

async fn serve(listener: TcpListener, shared: Arc<Shared>, mut orders: mpsc::Receiver<Order>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    let connections = Rc::new(());
    loop {
        tokio::select! {
            order = orders.recv() => match order {
                Some(Order::Draw(standing)) => draw(&shared, *standing),
                Some(Order::End(page)) => {
                    shared.drawn.send_replace(Drawn::of(*page, true));
                    return farewell(&shared).await;
                }
                None => return,
            },
            taken = listener.accept() => match taken {
                Ok((stream, _)) if Rc::strong_count(&connections) <= CONNECTIONS_MAX => {
                    let (shared, guard) = (Arc::clone(&shared), Rc::clone(&connections));
                    tokio::task::spawn_local(async move {
                        connection(stream, shared).await;
                        drop(guard);
                    });
                }
                Ok(_) => {}
                Err(_) => tokio::time::sleep(REST).await,
            },
        }
    }
}

/// Until nobody reads any more, or for so long.
async fn farewell(shared: &Shared) {
    let began = Instant::now();
    while shared.readers.load(Ordering::Relaxed) > 0 && began.elapsed() < FAREWELL {
        tokio::time::sleep(LOOK).await;
    }
}

async fn connection(stream: TcpStream, shared: Arc<Shared>) {
    let reader: Rc<RefCell<Option<Rc<Reader>>>> = Rc::default();
    let kept = Rc::clone(&reader);
    let service = service_fn(move |request| {
        let response = respond(&shared, &request, &kept);
        async move { Ok::<_, Infallible>(response) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let mut served = std::pin::pin!(served);
    loop {
        tokio::select! {
            _ = &mut served => return,
            () = tokio::time::sleep(SLOW) => {
                // Dropping the connection closes it.
                if reader.borrow().as_ref().is_some_and(|reader| reader.is_slow()) {
                    return;
                }
            }
        }
    }
}
