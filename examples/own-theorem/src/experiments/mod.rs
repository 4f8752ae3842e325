//! The experiments: a folder each, with its code and `settings.toml`.

attnlab::experiments! {
    support_over_tokens::SupportOverTokens,
}
