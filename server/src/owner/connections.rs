//! The connections of an owner, by the place that their session has.

use ruvio_core::engine::session::ClientId;

use super::connection::Connection;

#[derive(Default)]
pub struct Connections {
    places: Vec<Option<Box<Connection>>>,
    live: usize,
}

impl Connections {
    pub fn insert(&mut self, connection: Connection) -> u32 {
        let index = connection.client.index();
        if self.places.len() <= index {
            self.places.resize_with(index + 1, || None);
        }
        debug_assert!(self.places[index].is_none(), "a session's place is taken twice");
        self.places[index] = Some(Box::new(connection));
        self.live += 1;
        index as u32
    }

    #[inline]
    pub fn get(&self, index: u32) -> Option<&Connection> {
        self.places.get(index as usize)?.as_deref()
    }

    #[inline]
    pub fn get_mut(&mut self, index: u32) -> Option<&mut Connection> {
        self.places.get_mut(index as usize)?.as_deref_mut()
    }

    /// The connection of a client, if it is still there.
    #[inline]
    pub fn of(&mut self, client: ClientId) -> Option<&mut Connection> {
        self.get_mut(client.index() as u32)
            .filter(|connection| connection.client == client)
    }

    pub fn remove(&mut self, index: u32) -> Option<Box<Connection>> {
        let removed = self.places.get_mut(index as usize)?.take();
        self.live -= usize::from(removed.is_some());
        removed
    }

    pub fn len(&self) -> usize {
        self.live
    }

    /// Places there are, taken or not.
    pub fn span(&self) -> usize {
        self.places.len()
    }

    /// The places that are taken.
    pub fn places(&self) -> Vec<u32> {
        (0..self.places.len() as u32)
            .filter(|i| self.get(*i).is_some())
            .collect()
    }
}
