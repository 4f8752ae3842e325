//! Refusals of the command for linear self-attention: the message names what is wrong with a covariance or a
//! parameter.

use crate::common;

#[test]
fn a_covariance_that_is_none_is_refused_with_what_is_wrong() {
    for (covariance, message) in [
        ("[[1,2],[0,1]]", "covariance[0][1] = 2: must be a symmetric matrix: [1][0] is 0"),
        ("[[1,2],[2,1]]", "covariance = an eigenvalue -1: must be a symmetric matrix with eigenvalues > 0"),
        ("[[1,1],[1,1]]", "covariance = an eigenvalue 0: must be a symmetric matrix with eigenvalues > 0"),
        ("[[1,2]]", "covariance has shape (1, 2), expected a square matrix"),
        (
            "[[1,null],[2,1]]",
            "covariance = [[1,null],[2,1]]: must be rows of equal length such as [[1, 0], \
             [0, 1]], each entry a finite number",
        ),
        ("[[1]]", "task has shape 2, expected 1 entries, as the covariance has rows"),
    ] {
        let set = format!("covariance={covariance}");
        let rest = ["--set", "N=3", "--set", "M=4", "--set", "task=[1,2]"];
        common::refused(&[&["eval", "lsa.risk", "--set", &set][..], &rest].concat(), message);
    }
    for (set, message) in [
        ("condition=0.5", "condition = 0.5: must be a finite number >= 1"),
        ("dim=1", "condition = 1000: must be 1 when dim = 1"),
        ("N=0", "N = 0: must be a whole number from 1 to 9007199254740992"),
        ("scale=-1", "scale = -1: must be a finite number > 0"),
    ] {
        common::refused(&["check", "lsa.limit", "--set", set], message);
    }
    // A flow on so many prompts.
    let flow = ["check", "lsa.invariant", "--set", "dim=100", "--set", "prompts=1000000"];
    common::refused(
        &flow,
        "a check of 10 trials of about 24 days would take 236 days on one core: write smaller parameters, or \
         fewer trials",
    );
    let minimum = ["check", "lsa.local_minimum", "--set", "dim=200"];
    common::refused(&minimum, "dim = 200: must be at most 25; the second derivative has (1 + 2 dim + dim²)² entries");
}
