// Declarations that all kernels share. Tokens come in blocks of 128; "keys" are rows and "queries" are
// columns of the scores. A square of up to side x side blocks of scores is in memory at a time.

struct Params {
    a: u32,       // first operand: offset of its first block
    b: u32,       // second operand
    c: u32,       // result
    d: u32,       // second result
    depth: u32,   // p, padded to a multiple of 16
    rows: u32,    // blocks of keys
    side: u32,    // blocks per row of the square in memory
    row0: u32,    // first key
    col0: u32,    // first query
    tokens: u32,  // N
    padded: u32,  // N, padded to a multiple of 128
    own0: u32,    // the tokens of C_k: own0 <= j < own1
    own1: u32,
    flags: u32,   // see the constants below
    value: f32,
}

const SYMMETRIC: u32 = 1u; // scores: the mirror image of each block is wanted too
const DIAGONAL: u32 = 2u;  // scores: keys and queries are the same, the mirror image completes them
const CAUSAL: u32 = 4u;    // columns: query j sees keys i <= j only

@group(0) @binding(0) var<uniform> p: Params;

// Substitute for minus infinity, which WGSL cannot write.
const LOWEST: f32 = -3.4e38;
const LOG2_E: f32 = 1.4426950408889634;

// 2^x for x in [-125, 127], clamped outside; relative error below 4e-7 for every rounding mode of the
// device.
// The minimax polynomial of 2^f on [-1/2, 1/2], as in the kernels of the CPU.
fn power2(x: f32) -> f32 {
    let y = clamp(x, -125.0, 127.0);
    let n = round(y);
    let f = y - n;
    var q = 1.3276468e-3;
    q = fma(q, f, 9.675541e-3);
    q = fma(q, f, 5.5507133e-2);
    q = fma(q, f, 0.2402212);
    q = fma(q, f, 0.69314697);
    q = fma(q, f, 1.0);
    return bitcast<f32>(bitcast<i32>(q) + (i32(n) << 23u));
}
