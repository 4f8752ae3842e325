//! Shards: the parts of a run that several processes compute.

/// Part of a run that one process computes: shard `index` of `count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index, counted from 0.
    pub index: u64,
    /// Number of shards, at least 1.
    pub count: u64,
}

impl Shard {
    /// The whole run in one process.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Returns `true` if the shard is the whole run.
    pub fn is_whole(&self) -> bool {
        self.count == 1
    }

    /// Returns `true` if piece `number` of the run, counted from 0, is this shard's.
    pub fn owns(&self, number: u64) -> bool {
        number % self.count == self.index
    }

    /// Counts the shard's pieces among the first `pieces` of the run.
    pub fn before(&self, pieces: u64) -> u64 {
        (pieces + self.count - 1 - self.index) / self.count
    }

    /// Returns the number of the shard's first piece at or after `number`.
    pub fn next(&self, number: u64) -> u64 {
        self.before(number) * self.count + self.index
    }

    /// Returns the name of the file of its rows.
    pub fn file(&self) -> String {
        self.file_of("rows", "jsonl")
    }

    /// Returns the name of its file of a kind: `made-by.json` for the whole run, `made-by-0-of-4.json` for a shard.
    pub fn file_of(&self, kind: &str, extension: &str) -> String {
        match self.count {
            1 => format!("{kind}.{extension}"),
            n => format!("{kind}-{}-of-{n}.{extension}", self.index),
        }
    }
}

impl Default for Shard {
    fn default() -> Self {
        Shard::WHOLE
    }
}

impl std::fmt::Display for Shard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// Parses `i/n`, counted from 0: `0/4` is the first of four shards.
impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // More shards than a cluster has machines; a mistyped number must not make a million empty files.
        const MOST: u64 = 100_000;
        let number = |t: &str| t.trim().parse::<u64>().ok();
        match text.split_once('/').and_then(|(i, n)| Some((number(i)?, number(n)?))) {
            Some((index, count)) if index < count && count <= MOST => Ok(Shard { index, count }),
            Some((_, count)) if (1..=MOST).contains(&count) => {
                Err(format!("must be from 0/{count} to {}/{count}; shards are counted from 0", count - 1))
            }
            _ => Err("must be i/n, such as 0/4 to 3/4 for the four parts of a run".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Origin;
    use proptest::prelude::*;

    #[test]
    fn files_are_named_by_kind_and_shard() {
        assert_eq!(Shard::WHOLE.file(), "rows.jsonl");
        assert_eq!(Shard::WHOLE.file_of("made-by", "json"), Origin::FILE);
        assert_eq!(Shard { index: 2, count: 8 }.file_of("inputs", "json"), "inputs-2-of-8.json");
    }

    proptest! {
        #[test]
        fn pieces_are_counted_as_one_by_one(count in 1..9_u64, index in 0..9_u64, pieces in 0..60_u64) {
            let shard = Shard { index: index % count, count };
            let own: Vec<u64> = (0..pieces).filter(|i| shard.owns(*i)).collect();
            prop_assert_eq!(shard.before(pieces), own.len() as u64);
            prop_assert_eq!(Some(shard.next(pieces)), (pieces..).find(|i| shard.owns(*i)));
        }
    }
}
