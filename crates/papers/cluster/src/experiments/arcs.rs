//! Groups of tokens on the circle.

use std::f64::consts::TAU;

/// A group of neighbouring tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arc {
    /// Number of tokens.
    pub size: usize,
    /// Angle of the first token (radian).
    pub start: f64,
    /// Angle from the first token to the last one (radian).
    pub width: f64,
}

impl Arc {
    /// Angle of the middle.
    pub fn centre(&self) -> f64 {
        self.start + 0.5 * self.width
    }
}

/// Groups angles that gaps of more than `link` separate, counterclockwise; without such a gap one arc goes all around.
pub fn arcs(angles: impl IntoIterator<Item = f64>, link: f64) -> Vec<Arc> {
    let mut angles: Vec<f64> = angles.into_iter().map(|angle| angle.rem_euclid(TAU)).collect();
    angles.sort_by(f64::total_cmp);
    let n = angles.len();
    let gap = |i: usize| angles.get(i + 1).copied().unwrap_or(angles[0] + TAU) - angles[i];
    let Some(cut) = (0..n).find(|i| gap(*i) > link) else {
        return angles.first().map(|start| Arc { size: n, start: *start, width: TAU }).into_iter().collect();
    };
    let mut arcs: Vec<Arc> = vec![];
    for step in 0..n {
        let before = gap((cut + step) % n);
        match arcs.last_mut() {
            Some(arc) if before <= link => {
                arc.size += 1;
                arc.width += before;
            }
            _ => arcs.push(Arc { size: 1, start: angles[(cut + step + 1) % n], width: 0.0 }),
        }
    }
    arcs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arcs_go_around() {
        let arcs = arcs([0.1, 6.2 - TAU, 3.0, 3.05, 3.1], 0.3);
        let [middle, around] = arcs[..] else { panic!("{arcs:?}") };
        assert!(middle.size == 3 && (middle.width - 0.1).abs() < 1e-12 && (middle.centre() - 3.05).abs() < 1e-12);
        assert!(around.size == 2 && (around.width - (TAU - 6.1)).abs() < 1e-12 && around.start == 6.2);
    }

    #[test]
    fn without_a_gap_there_is_one_arc() {
        assert_eq!(arcs([2.0, 0.0, 4.0], 3.0), [Arc { size: 3, start: 0.0, width: TAU }]);
        assert_eq!(arcs([1.0], 0.5), [Arc { size: 1, start: 1.0, width: 0.0 }]);
        assert_eq!(arcs([], 0.5), []);
    }
}
