// Pass of the depth horizon: the state of every token in `attention::streaming::horizon`. One workgroup
// per block of scores (x: queries, y: keys), one invocation per query.

@group(0) @binding(1) var<storage, read> s: array<f32>;
// Fifteen numbers per block and query: [number][block of keys][query].
@group(0) @binding(2) var<storage, read_write> part: array<f32>;
// State of every token: largest score with C_k, largest with the others, sum of e^s over the others, and
// twelve sums over C_k.
@group(0) @binding(3) var<storage, read_write> state: array<f32>;
// Scale and shift of every noise column.
@group(0) @binding(4) var<storage, read> grid: array<f32>;

@compute @workgroup_size(128)
fn columns(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let j = p.col0 + wid.x * 128u + lane;
    let first = p.row0 + wid.y * 128u;
    let last = min(first + 128u, p.tokens);
    // Keys of C_k: start .. to, counted within the block; the other keys lie before and after.
    let start = clamp(p.own0, first, last) - first;
    let to = clamp(p.own1, first, last) - first;
    let end = last - first;
    let at = p.a + (wid.y * p.side + wid.x) * 16384u + lane;

    var top = LOWEST;
    var other = LOWEST;
    var fixed = 0.0;
    var low = vec4f();
    var middle = vec4f();
    var high = vec4f();
    if (j >= p.own0 && j < p.own1) {
        for (var r = 0u; r < end; r++) {
            let score = s[at + r * 128u];
            let signal = r >= start && r < to;
            // A token is not among the keys of its own maximum.
            if (signal && first + r != j) { top = max(top, score); }
            if (!signal) { other = max(other, score); }
        }
    } else {
        for (var r = 0u; r < end; ) {
            if (r == start && start < to) { r = to; continue; }
            // Blocks of 16 are summed first, which needs fewer roundings.
            let stop = min(r + 16u, select(end, start, r < start));
            var some = 0.0;
            for (; r < stop; r++) {
                let score = s[at + r * 128u];
                other = max(other, score);
                some += power2(score * LOG2_E);
            }
            fixed += some;
        }
        let scale = grid[j];
        let shift = grid[p.padded + j];
        for (var r = start; r < to; ) {
            let stop = min(r + 16u, to);
            var some_low = vec4f();
            var some_middle = vec4f();
            var some_high = vec4f();
            for (; r < stop; r++) {
                let score = s[at + r * 128u];
                top = max(top, score);
                let x = power2(fma(score, scale, shift));
                let x2 = x * x;
                let x4 = x2 * x2;
                let powers = vec4f(x, x2, x2 * x, x4);
                let powers_5_8 = powers * x4;
                some_low += powers;
                some_middle += powers_5_8;
                some_high += powers_5_8 * x4;
            }
            low += some_low;
            middle += some_middle;
            high += some_high;
        }
    }
    let row = p.side * p.side * 128u;
    let slot = wid.y * p.side * 128u + wid.x * 128u + lane;
    part[slot] = top;
    part[slot + row] = other;
    part[slot + 2u * row] = fixed;
    for (var g = 0u; g < 4u; g++) {
        part[slot + (3u + g) * row] = low[g];
        part[slot + (7u + g) * row] = middle[g];
        part[slot + (11u + g) * row] = high[g];
    }
}

// Joins the results of the blocks of keys of a column to its state; workgroup y is the number.
@compute @workgroup_size(128)
fn merge(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let j = p.col0 + wid.x * 128u + lane;
    let row = p.side * p.side * 128u;
    let slot = wid.y * row + wid.x * 128u + lane;
    let kept = state[wid.y * p.padded + j];
    if (wid.y < 2u) {
        var largest = kept;
        for (var y = 0u; y < p.rows; y++) {
            largest = max(largest, part[slot + y * p.side * 128u]);
        }
        state[wid.y * p.padded + j] = largest;
    } else {
        var sum = 0.0;
        for (var y = 0u; y < p.rows; y++) {
            sum += part[slot + y * p.side * 128u];
        }
        state[wid.y * p.padded + j] = kept + sum;
    }
}
