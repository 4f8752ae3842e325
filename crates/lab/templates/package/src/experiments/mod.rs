//! The experiments: a folder each, with its code and `settings.toml`.

attnlab::experiments! {
    gap_over_sigma::GapOverSigma,
}
