//! Shared code of tests, fuzz targets and benches. Never part of a normal build.
//!
//! # Layer
//! Above all other layers: may use any of them. Only tests use it.

/// The parts of the crate that are not exported, each under its own name.
mod parts {
    pub mod codec {
        //! Strict reading and writing of bytes.
        pub use crate::codec::*;
    }
    pub mod digest {
        //! Digests and the functions that compute them.
        pub use crate::digest::*;
    }
    pub mod disk {
        //! The contract of a disk, and disks.
        pub use crate::disk::*;
    }
    pub mod engine {
        //! The engine.
        pub use crate::engine::*;
    }
    pub mod log {
        //! The log.
        pub use crate::log::*;
    }
    pub mod object {
        //! Objects and their encoding.
        pub use crate::object::*;
    }
    #[cfg(feature = "agent")]
    pub mod recall {
        //! The index of recall.
        pub use treering_text::recall::*;
    }
    pub mod trie {
        //! The Merkle trie.
        pub use crate::trie::*;
    }
}

pub use parts::*;

#[cfg(feature = "remote")]
pub mod bucket_contract;
pub mod campaign;
pub mod damages;
#[cfg(feature = "remote")]
pub mod fleet;
pub mod generators;
pub mod model;
pub mod opening;
pub mod random;
#[cfg(feature = "remote")]
pub mod sim_bucket;
pub mod sim_disk;

#[cfg(test)]
#[cfg(feature = "ingest")]
mod model_test;

/// Whether the tests check every case, as before a release, and not a part of them: `TREERING_THOROUGH=1`.
#[cfg(test)]
pub(crate) fn is_thorough() -> bool {
    std::env::var_os("TREERING_THOROUGH").is_some()
}
