//! `horizon` of one draw.

use crate::common::json_lines;
use serde_json::Value;

#[test]
fn horizon_of_one_draw() {
    let args = |threads| ["horizon", "--tokens", "1000", "--dim", "200", "--json", "--seed", "3", "--threads", threads];
    let mut one = json_lines(&args("1")).remove(0);
    let mut two = json_lines(&args("2")).remove(0);
    for report in [&mut one, &mut two] {
        report["wall_s"] = Value::Null;
        report["gflops"] = Value::Null;
    }
    assert_eq!(one, two);
    // N = 1000, K = 2, p = 200, delta at the end of (11): the pattern lasts to theta of about 5.
    let theta = one["theta_crit"].as_f64().unwrap();
    assert!((3.5..7.0).contains(&theta), "{theta}");
    let law = one["predicted"]["theta"].as_array().unwrap();
    assert!(law[0].as_f64() < law[1].as_f64() && law[1].as_f64() < law[2].as_f64());
    assert_eq!(one["witness"]["layer"].as_u64(), Some(one["exact_updates"].as_u64().unwrap()));
    assert!(one["witness"]["weight"].as_f64().unwrap() > 0.55);
}
