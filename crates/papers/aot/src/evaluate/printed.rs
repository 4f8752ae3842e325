//! Numbers that the papers print: AoT 2024, Tables 1 and 3; AoT ICML 2025, Table 3.

use super::Task;

/// Zero-shot results of one network: AoT ICML 2025, Table 3, and AoT 2024, Table 1.
#[derive(Clone, Copy, Debug)]
pub struct ZeroShot {
    /// The network with its number of parameters.
    pub network: &'static str,
    /// Table that prints it.
    pub table: &'static str,
    /// Losses on LAMBADA, PTB and WikiText (nats; per token or per word is not printed), accuracies on LAMBADA,
    /// CBT's common nouns and named entities.
    pub values: [f64; 6],
}

/// Names of [`ZeroShot::values`].
pub const BENCHMARKS: [&str; 6] =
    ["LAMBADA loss", "PTB loss", "WikiText loss", "LAMBADA accuracy", "CBT-CN accuracy", "CBT-NE accuracy"];

const fn row(network: &'static str, table: &'static str, values: [f64; 6]) -> ZeroShot {
    ZeroShot { network, table, values }
}

const BOTH: &str = "2024 Table 1, ICML Table 3";

/// Zero-shot results in print. The two tables agree where both have a network; AoT-MSSA is "AoT" in 2024.
pub const ZERO_SHOT: [ZeroShot; 7] = [
    row("AoT-MSSA Base 102M", BOTH, [4.70, 6.03, 4.65, 0.25, 0.80, 0.74]),
    row("AoT-MSSA Medium 182M", BOTH, [4.47, 5.08, 4.22, 0.29, 0.84, 0.77]),
    row("AoT-MSSA Large 326M", "2024 Table 1", [4.26, 4.77, 3.99, 0.34, 0.86, 0.81]),
    row("AoT-MHSA Base 122M", "ICML Table 3", [4.42, 5.52, 4.19, 0.38, 0.86, 0.82]),
    row("Hybrid 81M", "2024 Table 1", [4.84, 5.83, 4.56, 0.25, 0.79, 0.73]),
    row("Full MLP 109M", "2024 Table 1", [4.73, 6.95, 4.70, 0.30, 0.83, 0.77]),
    row("GPT-2 Base 124M", BOTH, [4.32, 5.75, 4.13, 0.40, 0.87, 0.84]),
];

/// Cost of a forward pass of 16 sequences of 1024 tokens: AoT 2024, Table 3.
#[derive(Clone, Copy, Debug)]
pub struct PrintedCost {
    /// The network with its number of parameters.
    pub network: &'static str,
    /// 10⁹ operations.
    pub gflop: f64,
    /// Memory of the GPU (MiB).
    pub memory: f64,
    /// Time (ms).
    pub time: f64,
}

/// Costs in print.
pub const COSTS: [PrintedCost; 5] = [
    cost("AoT Base 102M", [1651.0, 21_482.0, 43.0]),
    cost("AoT Medium 182M", [3868.0, 36_198.0, 78.0]),
    cost("AoT Large 326M", [8056.0, 57_896.0, 225.0]),
    cost("GPT-2 Base 124M", [2785.0, 23_300.0, 27.0]),
    cost("GPT-2 Medium 335M", [9898.0, 51_578.0, 158.0]),
];

const fn cost(network: &'static str, [gflop, memory, time]: [f64; 3]) -> PrintedCost {
    PrintedCost { network, gflop, memory, time }
}

/// Returns the benchmarks in print that a reading is to be compared with, as indices of [`BENCHMARKS`].
pub fn comparable(task: Task, reading: &str) -> &'static [usize] {
    match (task, reading) {
        (Task::Lambada, r) if r.starts_with("loss") => &[0],
        (Task::Lambada, _) => &[3],
        (Task::Cbt, _) => &[4, 5],
        (Task::Text, r) if r != "loss per byte" => &[1, 2],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of the papers' text as it was extracted.
    #[test]
    fn the_tables_are_those_of_the_papers() {
        let line = |z: &ZeroShot| z.values.map(|x| format!("{x:.2}")).join(" ");
        assert_eq!(line(&ZERO_SHOT[0]), "4.70 6.03 4.65 0.25 0.80 0.74");
        assert_eq!(line(&ZERO_SHOT[3]), "4.42 5.52 4.19 0.38 0.86 0.82");
        assert_eq!(line(&ZERO_SHOT[6]), "4.32 5.75 4.13 0.40 0.87 0.84");
        assert_eq!(comparable(Task::Lambada, "last word"), [3]);
        assert!(comparable(Task::Text, "loss per byte").is_empty());
    }
}
