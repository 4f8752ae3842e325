//! Table 1 as printed.

/// One row: C, N_ch, (N_0, N_1), and mean and standard deviation of NCorr over 5 seeds for s = 0 and s = 1.
pub struct Printed {
    pub classes: usize,
    pub children: usize,
    pub latents: [usize; 2],
    pub score: [(f64, f64); 2],
}

const fn row(classes: usize, children: usize, latents: [usize; 2], score: [(f64, f64); 2]) -> Printed {
    Printed { classes, children, latents, score }
}

/// The rows.
pub const TABLE: [Printed; 12] = [
    row(20, 2, [10, 20], [(0.99, 0.01), (0.81, 0.05)]),
    row(20, 2, [20, 30], [(0.97, 0.02), (0.80, 0.05)]),
    row(20, 3, [10, 20], [(1.00, 0.00), (0.69, 0.05)]),
    row(20, 3, [20, 30], [(0.96, 0.02), (0.68, 0.04)]),
    row(30, 2, [10, 20], [(0.99, 0.01), (0.73, 0.08)]),
    row(30, 2, [20, 30], [(0.94, 0.04), (0.74, 0.03)]),
    row(30, 3, [10, 20], [(0.99, 0.01), (0.72, 0.04)]),
    row(30, 3, [20, 30], [(0.95, 0.03), (0.66, 0.02)]),
    row(50, 2, [10, 20], [(0.99, 0.01), (0.58, 0.02)]),
    row(50, 2, [20, 30], [(0.95, 0.03), (0.55, 0.01)]),
    row(50, 3, [10, 20], [(0.99, 0.01), (0.64, 0.02)]),
    row(50, 3, [20, 30], [(0.95, 0.03), (0.61, 0.04)]),
];
