//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

mod arcs;
mod shape;

attnlab_lab::experiments! {
    trajectories::Trajectories,
    pair::ClosestPair,
    long_contexts::LongContexts,
    first::FirstClusters,
    collapse::Collapse,
    network::OfNetwork,
}
