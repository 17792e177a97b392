//! `Places`: the open connections, of which there are at most so many.

use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use tarflume_formats::IgnorePoison;

use super::client::{Client, Connection, Limits};

/// The open connections, the oldest one first.
#[derive(Debug, Default)]
pub(super) struct Places {
    open: Mutex<Vec<Arc<Connection>>>,
    left: Condvar,
}

impl Places {
    /// Returns true if there are fewer than `most` connections. Otherwise closes the oldest one that waits for its
    /// client, so that slow clients keep no other out, and waits at most `pause` for a connection to end.
    pub(super) fn make_room(&self, most: usize, pause: Duration) -> bool {
        let open = self.open.lock().ignore_poison();
        if open.len() < most {
            return true;
        }
        if let Some(oldest) = open.iter().find(|connection| connection.waits()) {
            oldest.close();
        }
        self.until_fewer(open, most, pause)
    }

    /// Closes all connections, and waits at most `pause` for their threads. Returns true if all have ended.
    pub(super) fn close(&self, pause: Duration) -> bool {
        let open = self.open.lock().ignore_poison();
        open.iter().for_each(|connection| connection.close());
        self.until_fewer(open, 1, pause)
    }

    fn until_fewer(
        &self,
        open: std::sync::MutexGuard<'_, Vec<Arc<Connection>>>,
        most: usize,
        pause: Duration,
    ) -> bool {
        let waited = self.left.wait_timeout_while(open, pause, |open| open.len() >= most);
        waited.ignore_poison().0.len() < most
    }

    /// Adds a connection.
    pub(super) fn enter(self: &Arc<Places>, stream: TcpStream) -> Place {
        let connection = Arc::new(Connection::new(stream));
        self.open.lock().ignore_poison().push(Arc::clone(&connection));
        Place { places: Arc::clone(self), connection }
    }
}

/// The place of one connection. Dropping it frees the place and closes the connection.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Places>,
    connection: Arc<Connection>,
}

impl Place {
    /// Returns the client at the other end.
    pub(super) fn client(&self, limits: Limits) -> Client<'_> {
        Client::new(&self.connection, limits)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.places.open.lock().ignore_poison();
        open.retain(|connection| !Arc::ptr_eq(connection, &self.connection));
        self.places.left.notify_all();
    }
}
