// Kernels over the columns of a square of scores: one workgroup per block (x: queries, y: keys), one
// invocation per query.

@group(0) @binding(1) var<storage, read_write> s: array<f32>;
// Numbers per block and query: four rows of them, [row][block of keys][query].
@group(0) @binding(2) var<storage, read_write> part: array<u32>;
// State of every query: largest score, second largest, key of the largest, sum; [row][query].
@group(0) @binding(3) var<storage, read_write> state: array<u32>;
// Factor f_j: the score of query j is f_j <y_i, y_j>. Then its lower and upper edge, for the step.
@group(0) @binding(4) var<storage, read> query: array<f32>;
// Factor by which the output so far must be multiplied.
@group(0) @binding(5) var<storage, read_write> factor: array<f32>;
// Flags of the blocks with a weight that is not 0.
@group(0) @binding(6) var<storage, read_write> marked: array<u32>;
// Doubtful decisions: their number, then pairs of key and query as far as there is room. Then the columns
// that have one.
@group(0) @binding(7) var<storage, read_write> doubt: array<atomic<u32>>;
@group(0) @binding(8) var<storage, read_write> open: array<atomic<u32>>;

struct Column {
    j: u32,       // the query
    first: u32,   // first key of the block
    seen: u32,    // how many keys of the block it sees
    at: u32,      // its first score
    slot: u32,    // its place in `part`
    f: f32,
}

fn column(wid: vec3u, lane: u32) -> Column {
    var c: Column;
    c.j = p.col0 + wid.x * 128u + lane;
    c.first = p.row0 + wid.y * 128u;
    c.seen = min(128u, p.tokens - c.first);
    if ((p.flags & CAUSAL) != 0u) {
        c.seen = min(c.seen, max(c.j + 1u, c.first) - c.first);
    }
    c.at = p.a + (wid.y * p.side + wid.x) * 16384u + lane;
    c.slot = wid.y * p.side * 128u + wid.x * 128u + lane;
    c.f = query[c.j];
    return c;
}

// e^x for x <= 0, exactly 0 below -86.
fn decay(x: f32) -> f32 {
    return select(power2(x * LOG2_E), 0.0, x < -86.0);
}

fn rows_of_part() -> u32 {
    return p.side * p.side * 128u;
}

// Largest and second largest score, the key of the largest, and the sum of e^(s - largest).
@compute @workgroup_size(128)
fn stats(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let c = column(wid, lane);
    var largest = LOWEST;
    var second = LOWEST;
    var key = c.first;
    for (var r = 0u; r < c.seen; r++) {
        let score = c.f * s[c.at + r * 128u];
        if (score > largest) {
            second = largest;
            largest = score;
            key = c.first + r;
        } else if (score > second) {
            second = score;
        }
    }
    var sum = 0.0;
    for (var start = 0u; start < c.seen; start += 16u) {
        var some = 0.0;
        for (var r = start; r < min(start + 16u, c.seen); r++) {
            some += decay(c.f * s[c.at + r * 128u] - largest);
        }
        sum += some;
    }
    let row = rows_of_part();
    part[c.slot] = bitcast<u32>(largest);
    part[c.slot + row] = bitcast<u32>(second);
    part[c.slot + 2u * row] = key;
    part[c.slot + 3u * row] = bitcast<u32>(sum);
}

// Joins the results of the blocks of keys of a column to its state.
@compute @workgroup_size(128)
fn merge(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let j = p.col0 + wid.x * 128u + lane;
    let row = rows_of_part();
    let old = bitcast<f32>(state[j]);
    var largest = old;
    var second = bitcast<f32>(state[p.padded + j]);
    var key = state[2u * p.padded + j];
    for (var y = 0u; y < p.rows; y++) {
        let slot = y * p.side * 128u + wid.x * 128u + lane;
        let top = bitcast<f32>(part[slot]);
        if (top > largest) {
            second = max(largest, bitcast<f32>(part[slot + row]));
            largest = top;
            key = part[slot + 2u * row];
        } else {
            second = max(second, top);
        }
    }
    let kept = decay(old - largest);
    var sum = 0.0;
    for (var y = 0u; y < p.rows; y++) {
        let slot = y * p.side * 128u + wid.x * 128u + lane;
        sum += bitcast<f32>(part[slot + 3u * row]) * decay(bitcast<f32>(part[slot]) - largest);
    }
    state[j] = bitcast<u32>(largest);
    state[p.padded + j] = bitcast<u32>(second);
    state[2u * p.padded + j] = key;
    state[3u * p.padded + j] = bitcast<u32>(bitcast<f32>(state[3u * p.padded + j]) * kept + sum);
    factor[j] = kept;
}

// Replaces the scores by e^(s - largest so far).
@compute @workgroup_size(128)
fn soften(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let c = column(wid, lane);
    let largest = bitcast<f32>(state[c.j]);
    for (var r = 0u; r < 128u; r++) {
        let at = c.at + r * 128u;
        s[at] = select(0.0, decay(c.f * s[at] - largest), r < c.seen);
    }
}

// Adds the sums of the blocks of keys.
@compute @workgroup_size(128)
fn total(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let j = p.col0 + wid.x * 128u + lane;
    var sum = 0.0;
    for (var y = 0u; y < p.rows; y++) {
        let slot = y * p.side * 128u + wid.x * 128u + lane;
        sum += bitcast<f32>(part[slot + 3u * rows_of_part()]);
    }
    state[3u * p.padded + j] = bitcast<u32>(bitcast<f32>(state[3u * p.padded + j]) + sum);
}

var<workgroup> some_above: atomic<u32>;

// Writes the value where the score is above the upper edge and 0 elsewhere. Entries between the edges are
// put on the list of doubtful decisions.
@compute @workgroup_size(128)
fn cut(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    if (lane == 0u) { atomicStore(&some_above, 0u); }
    workgroupBarrier();
    let c = column(wid, lane);
    let low = query[p.padded + c.j];
    let high = query[2u * p.padded + c.j];
    var found = 0u;
    for (var r = 0u; r < 128u; r++) {
        let at = c.at + r * 128u;
        let score = c.f * s[at];
        let seen = r < c.seen && c.j < p.tokens;
        let above = seen && score > high;
        s[at] = select(0.0, p.value, above);
        found |= u32(above);
        if (seen && score > low && score <= high) {
            atomicStore(&open[c.j], 1u);
            let place = 1u + 2u * atomicAdd(&doubt[0], 1u);
            if (place + 1u < arrayLength(&doubt)) {
                atomicStore(&doubt[place], c.first + r);
                atomicStore(&doubt[place + 1u], c.j);
            }
        }
    }
    atomicOr(&some_above, found);
    workgroupBarrier();
    if (lane == 0u) { marked[wid.y * p.side + wid.x] = atomicLoad(&some_above); }
}
