//! The two matrix products as WGSL source, with every register named: an array with a running index would
//! be in memory on some drivers.
//!
//! A workgroup of 16 x 16 invocations computes a tile of `rows` x 128 of the result in steps of 16 along
//! the inner dimension. Slices of both operands pass through workgroup memory; each invocation holds 8 x
//! 8 (or 4 x 8) sums in registers and loads the next slice while it works on the current one. Per step
//! and invocation that is 1024 multiply-adds for 64 vector reads of workgroup memory.

use std::fmt::Write;

/// Number of tokens per block, and side of a tile.
pub(super) const BLOCK: usize = 128;

/// Number of steps along the inner dimension at a time: 16 x 128 of each operand fill the 16 KiB of
/// workgroup memory that every adapter has.
pub(super) const STEP: usize = 16;

/// Number of invocations in a workgroup of a product.
const THREADS: usize = 256;

/// Returns the kernel of the scores of blocks of keys (workgroup y) and queries (workgroup x): S =
/// Y_IᵀY_J.
///
/// Operand blocks hold token t's coefficient m at `m * 128 + t`; blocks of scores hold the score of
/// key r and query c at `r * 128 + c`.
pub(super) fn scores() -> String {
    let mut text = String::from(
        "@group(0) @binding(1) var<storage, read> y_a: array<vec4f>;
@group(0) @binding(2) var<storage, read> y_b: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> s: array<vec4f>;
",
    );
    text += &shared(BLOCK);
    text += "@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) tid: u32) {
    // The lower half of the diagonal square is the mirror image of the upper half.
    if ((p.flags & DIAGONAL) != 0u && wid.y > wid.x) { return; }
    let ty = tid / 16u;
    let tx = tid % 16u;
    let block = p.depth * 32u;
    let a0 = p.a + wid.y * block + tid;
    let b0 = p.b + wid.x * block + tid;
";
    text += &sums(2);
    // Each invocation loads two vectors of either operand; slices are contiguous in memory.
    let load = "n0 = y_a[a0 + k * 32u];
n1 = y_a[a0 + k * 32u + 256u];
n2 = y_b[b0 + k * 32u];
n3 = y_b[b0 + k * 32u + 256u];
";
    let store = "left[tid] = n0;
left[tid + 256u] = n1;
right[tid] = n2;
right[tid + 256u] = n3;
";
    text += &walk("p.depth", "", load, store, 2);
    text += "    let plain = p.c + (wid.y * p.side + wid.x) * 4096u;
";
    for row in 0..8 {
        let place = row_of(row);
        let _ = writeln!(text, "    s[plain + ({place}) * 32u + tx] = c{row}0;");
        let _ = writeln!(text, "    s[plain + ({place}) * 32u + 16u + tx] = c{row}1;");
    }
    text += "    if ((p.flags & SYMMETRIC) == 0u || ((p.flags & DIAGONAL) != 0u && wid.x == wid.y)) { return; }
    let mirror = p.d + (wid.x * p.side + wid.y) * 4096u;
";
    for half in 0..2 {
        for (lane, name) in ["x", "y", "z", "w"].iter().enumerate() {
            for group in 0..2 {
                let rows: Vec<_> = (0..4).map(|r| format!("c{}{half}.{name}", 4 * group + r)).collect();
                let _ = writeln!(
                    text,
                    "    s[mirror + ({}u + tx * 4u + {lane}u) * 32u + {}u + ty] = vec4f({});",
                    64 * half,
                    16 * group,
                    rows.join(", ")
                );
            }
        }
    }
    text + "}\n"
}

/// Returns the kernel of O_J <- O_J diag(factor) + Y_I W for all blocks of keys I of the square and one
/// block of queries J (workgroup y), `rows` coefficients at a time (workgroup x). With `sparse`, blocks
/// of W that are wholly 0 are marked and skipped.
pub(super) fn update(rows: usize, sparse: bool) -> String {
    let groups = rows / 64;
    let mut text = String::from(
        "@group(0) @binding(1) var<storage, read> y: array<vec4f>;
@group(0) @binding(2) var<storage, read> w: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> o: array<vec4f>;
@group(0) @binding(4) var<storage, read> factor: array<vec4f>;
@group(0) @binding(5) var<storage, read> marked: array<u32>;
",
    );
    text += &shared(rows);
    let _ = write!(
        text,
        "@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) tid: u32) {{
    let ty = tid / 16u;
    let tx = tid % 16u;
    let m0 = wid.x * {rows}u;
    // The first invocations load 4 x 4 coefficients each, the last 128 load weights.
    let brings_keys = tid < {rows}u && m0 + (tid / 4u) * 4u < p.depth;
"
    );
    text += &sums(groups);
    // Y is needed by key and stored by coefficient, so blocks of 4 x 4 are transposed in registers.
    let load = "let keys = k / 128u;
let inside = k % 128u;
if (brings_keys) {
    let at = p.a + keys * p.depth * 32u + (m0 + (tid / 4u) * 4u) * 32u + inside / 4u + tid % 4u;
    n0 = y[at];
    n1 = y[at + 32u];
    n2 = y[at + 64u];
    n3 = y[at + 96u];
} else if (tid >= 128u) {
    let at = p.b + (keys * p.side + wid.y) * 4096u + inside * 32u + tid - 128u;
    n0 = w[at];
    n1 = w[at + 128u];
    n2 = w[at + 256u];
    n3 = w[at + 384u];
}
";
    let stride = rows / 4;
    let store = format!(
        "if (tid < {rows}u) {{
    let to = (tid % 4u) * {}u + tid / 4u;
    left[to] = vec4f(n0.x, n1.x, n2.x, n3.x);
    left[to + {stride}u] = vec4f(n0.y, n1.y, n2.y, n3.y);
    left[to + {}u] = vec4f(n0.z, n1.z, n2.z, n3.z);
    left[to + {}u] = vec4f(n0.w, n1.w, n2.w, n3.w);
}} else if (tid >= 128u) {{
    right[tid - 128u] = n0;
    right[tid] = n1;
    right[tid + 128u] = n2;
    right[tid + 256u] = n3;
}}
",
        4 * stride,
        2 * stride,
        3 * stride
    );
    let skip = if sparse { "if (marked[(k / 128u) * p.side + wid.y] == 0u) { k += 128u; continue; }\n" } else { "" };
    if sparse {
        // A slice loaded ahead may belong to a skipped block, so each slice is loaded where it is used.
        text += &walk_plain("p.rows * 128u", skip, load, &store, groups);
    } else {
        text += &walk("p.rows * 128u", skip, load, &store, groups);
    }
    text += "    let f0 = factor[p.d + wid.y * 32u + tx];
    let f1 = factor[p.d + wid.y * 32u + 16u + tx];
    let out = p.c + wid.y * p.depth * 32u;
";
    for row in 0..4 * groups {
        let place = row_of(row);
        let _ = write!(
            text,
            "    if (m0 + {place} < p.depth) {{
        let at = out + (m0 + {place}) * 32u + tx;
        o[at] = fma(o[at], f0, c{row}0);
        o[at + 16u] = fma(o[at + 16u], f1, c{row}1);
    }}
"
        );
    }
    text + "}\n"
}

/// Returns the position in the tile of an invocation's row number `row`: four rows from each group of 64.
fn row_of(row: usize) -> String {
    format!("{}u + ty * 4u + {}u", 64 * (row / 4), row % 4)
}

fn shared(rows: usize) -> String {
    format!(
        "var<workgroup> left: array<vec4f, {}>;
var<workgroup> right: array<vec4f, {}>;
",
        STEP * rows / 4,
        STEP * BLOCK / 4
    )
}

/// Declares the registers: sums, and the next slice.
fn sums(groups: usize) -> String {
    let mut text = String::new();
    for row in 0..4 * groups {
        let _ = writeln!(text, "    var c{row}0 = vec4f();\n    var c{row}1 = vec4f();");
    }
    for n in 0..THREADS / 64 {
        let _ = writeln!(text, "    var n{n} = vec4f();");
    }
    text
}

/// Writes the loop over the inner dimension, which loads the next slice ahead.
fn walk(depth: &str, skip: &str, load: &str, store: &str, groups: usize) -> String {
    format!(
        "    {{ let k = 0u; {load} }}
    var k = 0u;
    loop {{
        if (k >= {depth}) {{ break; }}
        {skip}
        workgroupBarrier();
        {store}
        workgroupBarrier();
        k += {STEP}u;
        if (k < {depth}) {{ {load} }}
        {}
    }}
",
        multiply(groups)
    )
}

/// Writes the same loop, with each slice loaded where it is used.
fn walk_plain(depth: &str, skip: &str, load: &str, store: &str, groups: usize) -> String {
    format!(
        "    var k = 0u;
    loop {{
        if (k >= {depth}) {{ break; }}
        {skip}
        {{ {load} }}
        workgroupBarrier();
        {store}
        workgroupBarrier();
        k += {STEP}u;
        {}
    }}
",
        multiply(groups)
    )
}

/// Writes the multiply-adds of one slice.
fn multiply(groups: usize) -> String {
    /// Number of steps written out; the rest of the slice is a loop.
    const UNROLLED: usize = 4;
    let stride = 16 * groups;
    let mut text = format!("for (var i = 0u; i < {STEP}u; i += {UNROLLED}u) {{\n");
    for step in 0..UNROLLED {
        text += "{\n";
        for group in 0..groups {
            let _ = writeln!(text, "let a{group} = left[(i + {step}u) * {stride}u + {}u + ty];", 16 * group);
        }
        for half in 0..2 {
            let _ = writeln!(text, "let b{half} = right[(i + {step}u) * 32u + {}u + tx];", 16 * half);
        }
        for row in 0..4 * groups {
            let (group, lane) = (row / 4, ["x", "y", "z", "w"][row % 4]);
            for half in 0..2 {
                let _ = writeln!(text, "c{row}{half} = fma(vec4f(a{group}.{lane}), b{half}, c{row}{half});");
            }
        }
        text += "}\n";
    }
    text + "}\n"
}
