use super::*;

fn bound(tokens: usize, dim: usize) -> f64 {
    ((tokens as f64).ln() / dim as f64).sqrt() / 8.0
}

#[test]
fn print() {
    let t = std::time::Instant::now();
    for (n, k, p, c, tau) in [
        (2000, 2, 900, 1.0, 0.55),
        (200, 2, 900, 1.0, 0.55),
        (2000, 8, 900, 1.0, 0.55),
        (2000, 2, 30, 1.0, 0.55),
        (1000, 2, 300, 1.0, 0.9),
        (1000, 2, 300, 1.0, 0.99),
        (200_000, 2, 1300, 1.0, 0.55),
    ] {
        let law = Horizon::new(n, k, p, c * bound(n, p), tau).unwrap();
        let q = |x| law.theta(x).unwrap();
        let theta = q(0.5);
        println!(
            "{n} {k} {p} {tau}: {:.4} {theta:.4} {:.4} lambda {:.4} L1 {:.4} L0 {:.4} {:?} {:?}",
            q(0.1),
            q(0.9),
            law.lambda(theta),
            law.lambda_moments(theta),
            law.lambda_annealed(theta),
            law.other_breaks(theta),
            t.elapsed()
        );
    }
}
