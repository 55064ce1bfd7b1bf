//! All requests of a client by their ids. A WebSocket whose owner reads its frames stays open for long and needs little of what
//! its opening did: it keeps its request's place and id, and not its memory.

use crate::event::Failure;
use crate::ids::{Arena, ConnectionId, RequestId};
use crate::request::Request;

/// Of further ones the memory is given back.
const SPARE_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Requests<C> {
    places: Arena<RequestId, RequestPlace<C>>,
    /// Of requests that have become WebSockets.
    spare: Vec<Box<Request<C>>>,
}

#[derive(Debug)]
enum RequestPlace<C> {
    Request(Box<Request<C>>),
    Frames(Frames<C>),
}

/// A WebSocket whose owner reads and writes its frames.
#[derive(Debug)]
pub(crate) struct Frames<C> {
    pub(crate) context: Option<C>,
    pub(crate) connection: Option<ConnectionId>,
    /// Since they were last taken.
    pub(crate) received_bytes: u64,
    /// It is gone; its owner has not been told.
    pub(crate) failure: Option<Box<Failure>>,
}

impl<C> Default for RequestPlace<C> {
    fn default() -> Self {
        Self::Request(Box::default())
    }
}

impl<C> Default for Requests<C> {
    fn default() -> Self {
        Self { places: Arena::default(), spare: Vec::new() }
    }
}

impl<C> Requests<C> {
    /// A place for a new request, which holds what its last tenant left in it.
    pub(crate) fn take(&mut self) -> (RequestId, &mut Request<C>) {
        let (id, entry) = self.places.take_place();
        if let RequestPlace::Frames(_) = entry {
            *entry = RequestPlace::Request(self.spare.pop().unwrap_or_default());
        }
        let RequestPlace::Request(request) = entry else { unreachable!("it was made one above") };
        (id, request)
    }

    pub(crate) fn get(&self, id: RequestId) -> Option<&Request<C>> {
        match self.places.get(id)? {
            RequestPlace::Request(request) => Some(request),
            RequestPlace::Frames(_) => None,
        }
    }

    pub(crate) fn get_mut(&mut self, id: RequestId) -> Option<&mut Request<C>> {
        match self.places.get_mut(id)? {
            RequestPlace::Request(request) => Some(request),
            RequestPlace::Frames(_) => None,
        }
    }

    pub(crate) fn frames(&self, id: RequestId) -> Option<&Frames<C>> {
        match self.places.get(id)? {
            RequestPlace::Frames(frames) => Some(frames),
            RequestPlace::Request(_) => None,
        }
    }

    pub(crate) fn frames_mut(&mut self, id: RequestId) -> Option<&mut Frames<C>> {
        match self.places.get_mut(id)? {
            RequestPlace::Frames(frames) => Some(frames),
            RequestPlace::Request(_) => None,
        }
    }

    /// The request at a place, and its id, unless it is over.
    pub(crate) fn at(&mut self, index: u32) -> Option<(Option<RequestId>, &mut Request<C>)> {
        match self.places.at(index) {
            (id, RequestPlace::Request(request)) => Some((id, request)),
            (_, RequestPlace::Frames(_)) => None,
        }
    }

    /// Ends a request or a WebSocket; what is left of a request is handed to the next tenant of its place.
    pub(crate) fn release(&mut self, id: RequestId) -> Option<&mut Request<C>> {
        match self.places.release(id)? {
            RequestPlace::Request(request) => Some(request),
            RequestPlace::Frames(frames) => {
                frames.context = None;
                None
            }
        }
    }

    /// The request has become a WebSocket, of which the owner reads the frames.
    pub(crate) fn turn_to_frames(&mut self, id: RequestId) {
        let Some(entry @ RequestPlace::Request(_)) = self.places.get_mut(id) else { return };
        let RequestPlace::Request(mut request) = std::mem::take(entry) else { return };
        let frames = Frames {
            context: request.context.take(),
            connection: request.connection,
            received_bytes: request.bytes.received,
            failure: None,
        };
        *entry = RequestPlace::Frames(frames);
        if self.spare.len() < SPARE_MAX {
            request.end();
            self.spare.push(request);
        }
    }
}
