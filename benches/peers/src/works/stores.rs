//! Treering and its peers in one folder.

use std::path::Path;

use treering::Id;

use crate::peers::{Peer, Store, Treering};
use crate::table::Role;

/// Treering and one store of each peer.
pub struct Stores {
    pub treering: Box<Treering>,
    pub peers: Vec<(Peer, Box<dyn Store>)>,
}

impl Stores {
    pub fn create(folder: &Path, peers: &[Peer]) -> Self {
        let peers = peers.iter().map(|peer| (*peer, peer.create(folder))).collect();
        Self {
            treering: Box::new(Treering::create(folder)),
            peers,
        }
    }

    pub fn open(folder: &Path, peers: &[Peer]) -> Self {
        let peers = peers.iter().map(|peer| (*peer, peer.open(folder))).collect();
        Self {
            treering: Box::new(Treering::open(folder)),
            peers,
        }
    }

    /// Iterates the stores with their names and roles.
    pub fn all(&self) -> impl Iterator<Item = (&'static str, Role, &dyn Store)> {
        let treering: &dyn Store = &*self.treering;
        let peers = self
            .peers
            .iter()
            .map(|(peer, store)| (peer.name, Role::Peer, &**store));
        std::iter::once(("Treering", Role::Treering, treering)).chain(peers)
    }

    /// Iterates the stores with their names and roles, for changing them.
    pub fn all_mut(&mut self) -> impl Iterator<Item = (&'static str, Role, &mut dyn Store)> {
        let treering: &mut dyn Store = &mut *self.treering;
        let peers = self
            .peers
            .iter_mut()
            .map(|(peer, store)| (peer.name, Role::Peer, &mut **store as &mut dyn Store));
        std::iter::once(("Treering", Role::Treering, treering)).chain(peers)
    }

    /// Checks that all stores have the same versions of these ids.
    pub fn check_equal(&self, ids: &[Id]) {
        let expected = self.treering.read(ids);
        for (name, _, store) in self.all() {
            assert_eq!(store.read(ids), expected, "the objects of {name}");
        }
    }

    /// Takes the stores apart, for closing them.
    pub fn into_all(self) -> impl Iterator<Item = (&'static str, Role, Box<dyn Store>)> {
        let treering: Box<dyn Store> = self.treering;
        let peers = self
            .peers
            .into_iter()
            .map(|(peer, store)| (peer.name, Role::Peer, store));
        std::iter::once(("Treering", Role::Treering, treering)).chain(peers)
    }
}
