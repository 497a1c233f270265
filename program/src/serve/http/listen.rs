//! The connections of a server: accepts them, limits them, and lets them end.
//!
//! `axum::serve` has no limit on the time of a request's head, so a client that sends one byte a minute would keep a
//! connection for ever. The loop here gives hyper a clock and a limit, and gives the system one for answers that nobody reads.
//!
//! # Layer
//! Layer 9, part of serve.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
#[cfg(target_os = "linux")]
use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::pin;
use tokio::time::{sleep, timeout};

use super::places::{Place, Places};

/// How long a client may take for the head of a request, and how long a connection may be idle.
const HEAD_TIME_MAX: Duration = Duration::from_secs(10);
/// How long a client may leave an answer unread. After it, the system ends the connection, so that clients that never read do
/// not keep all connections.
#[cfg(target_os = "linux")]
const UNREAD_TIME_MAX: Duration = Duration::from_secs(20);
/// The most headers of a request.
const HEADERS_MAX: usize = 64;
/// The most bytes of the head of a request, and of a buffer.
const BUFFER_BYTES_MAX: usize = 32 << 10;
/// How long the requests that are read may take once the server stops.
const END_TIME_MAX: Duration = Duration::from_secs(20);
/// The pause after the system had no resources for a connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers the requests of connections until `stopped`. Then it accepts no more, and waits for the requests that are read,
/// while `end` ends the streams.
pub(super) async fn until(
    listener: TcpListener,
    router: Router,
    stopped: impl Future<Output = ()>,
    end: impl Future<Output = ()>,
) {
    let places = Arc::default();
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME_MAX)
        .max_headers(HEADERS_MAX)
        .max_buf_size(BUFFER_BYTES_MAX);
    pin!(stopped);
    loop {
        let (place, stream) = tokio::select! {
            accepted = accept(&listener, &places) => accepted,
            () = &mut stopped => break,
        };
        // Without it, an answer waits for the acknowledgement of the one before.
        drop(stream.set_nodelay(true));
        #[cfg(target_os = "linux")]
        drop(SockRef::from(&stream).set_tcp_user_timeout(Some(UNREAD_TIME_MAX)));
        let (inner, own) = (TowerToHyperService::new(router.clone()), Arc::clone(&place));
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Arc::clone(&own));
            inner.call(request)
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(stream), service));
        tokio::spawn(async move {
            tokio::select! {
                // The client sees an error itself.
                ended = connection => drop(ended),
                () = place.left() => {}
            }
        });
    }
    drop(listener);
    let ended = async { tokio::join!(graceful.shutdown(), end) };
    drop(timeout(END_TIME_MAX, ended).await);
}

/// Waits for a connection, and for a place for it.
async fn accept(listener: &TcpListener, places: &Arc<Places>) -> (Arc<Place>, TcpStream) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => return (Places::take(places, peer.ip()).await, stream),
            // The client has gone, or the system lacks resources for now.
            Err(_) => sleep(ACCEPT_PAUSE).await,
        }
    }
}
