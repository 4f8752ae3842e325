//! The rooms of this repository.

use attnlab_lab::catalogue::Catalogue;

/// Declares each room once, as a module of [`papers`] and as an entry of the [`catalogue`].
macro_rules! rooms {
    ($($(#[doc = $doc:literal])* $name:ident = $package:ident),* $(,)?) => {
        /// One room per paper.
        pub mod papers {
            $($(#[doc = $doc])* pub use $package as $name;)*
        }

        /// Returns the catalogue of every room of this repository. Another package adds its room with
        /// [`Catalogue::with`].
        pub fn catalogue() -> Catalogue {
            Catalogue::new()$(.with($package::room()))*
        }
    };
}

rooms! {
    aot = attnlab_aot,
    cluster = attnlab_cluster,
    denoising = attnlab_denoising,
    joma = attnlab_joma,
    lsa = attnlab_lsa,
    memory = attnlab_memory,
}
