//! Words of messages.

/// Writes a number of things, such as `1 claim` and `2 claims`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}
