//! Certificates of storage, on patterns whose fixed points are known by hand.

use attnlab_memory::theory::stored::{Storage, storage};
use ndarray::array;

#[test]
fn few_patterns_by_hand() {
    let apart = array![[2.0, -2.0], [0.0, 0.0]];
    // β M² = 4β: below 1/4 a contraction; the fixed points ± exist for β > 1/4 and are far apart at 1.
    assert!(matches!(storage(apart.view(), 0.2).unwrap(), Storage::NotAll(_)));
    assert_eq!(storage(apart.view(), 1.0).unwrap(), Storage::All);
    // Two close patterns share their mean, and a far one changes nothing.
    let (sin, cos) = 0.15_f64.sin_cos();
    let close = array![[2.0, 2.0 * cos, -2.0], [0.0, 2.0 * sin, 0.0]];
    assert_eq!(storage(close.view(), 1.0).unwrap(), Storage::NotAll("two patterns have one fixed point"));
    assert_eq!(storage(close.view(), 400.0).unwrap(), Storage::All);
    assert_eq!(storage(array![[3.0]].view(), 1e-3).unwrap(), Storage::All);
}
