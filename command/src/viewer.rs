//! The server of `pack view`: pages through all samples of a data set, with exact filters.
//!
//! Each connection has one request and one thread. [`Limits`] bound their number and the time of slow clients. A request
//! names a sample by its ordinal and a part by its extension, never a path. Nothing can be changed through it.

mod answer;
mod client;
mod filter;
mod http;
mod places;
mod room;
mod routes;
mod site;
#[cfg(test)]
mod tests;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tarflume_base::{Failure, Stop};

use self::answer::Answer;
use self::client::Limits;
use self::http::Request;
use self::places::{Place, Places};
pub(crate) use self::site::Site;

/// Time between looks at the stop.
const PAUSE: Duration = Duration::from_millis(200);
/// Time until the operating system may have another thread or descriptor.
const SHORTAGE: Duration = Duration::from_millis(50);

/// Makes the reply to a request.
type Route = dyn Fn(&Request) -> Answer + Send + Sync;

/// Answers requests until `stop` is requested.
///
/// # Errors
/// Returns an error if the operating system does not accept connections.
pub(crate) fn serve(listener: &TcpListener, site: Site, stop: &Stop) -> Result<(), Failure> {
    let site = Arc::new(site);
    let route = Arc::new(move |request: &Request| routes::route(&site, request));
    serve_by(listener, route, Limits::default(), stop)
}

/// Answers requests by `route`. Replies that are not finished at the end are cut; a thread that waits for a store or a
/// disk is left to the end of the process.
fn serve_by(
    listener: &TcpListener,
    route: Arc<Route>,
    limits: Limits,
    stop: &Stop,
) -> Result<(), Failure> {
    listener.set_nonblocking(true).map_err(not_accepted)?;
    let places = Arc::new(Places::default());
    while !stop.requested() {
        if !is_asked(listener) || !places.make_room(limits.connections, PAUSE) {
            continue;
        }
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false).map_err(not_accepted)?;
                start(places.enter(stream), Arc::clone(&route), limits);
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) if is_passing(&e) => thread::sleep(SHORTAGE),
            Err(e) => return Err(not_accepted(e)),
        }
    }
    places.close(limits.end);
    Ok(())
}

fn not_accepted(e: io::Error) -> Failure {
    Failure::try_again(format!("cannot accept connections: {e}"))
}

/// A client that left, a signal, or too few descriptors for the moment.
fn is_passing(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(error.kind(), K::ConnectionAborted | K::ConnectionReset | K::Interrupted)
        || matches!(error.raw_os_error(), Some(23 | 24))
}

/// Waits a while for a connection.
fn is_asked(listener: &TcpListener) -> bool {
    let mut waits = [PollFd::new(listener, PollFlags::IN)];
    let pause = Timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 };
    poll(&mut waits, Some(&pause)).is_ok_and(|ready| ready > 0) // a signal ends it early, as it should
}

/// Answers one request in a thread. Without a thread the connection is closed.
fn start(place: Place, route: Arc<Route>, limits: Limits) {
    let started = thread::Builder::new().name("pack view".into()).spawn(move || {
        // A client that left is no trouble of the server.
        let _ = http::answer(&mut place.client(limits), &*route);
    });
    if started.is_err() {
        thread::sleep(SHORTAGE);
    }
}
