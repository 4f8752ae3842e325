//! The experiments of this room: a folder each, with code, pictures and `settings.toml`.

attnlab_lab::experiments! {
    slack::MemorySlack,
}
