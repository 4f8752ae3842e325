// Weights that each depend on one score only, by the function `weight` of the nonlinearity. This text
// follows columns.wgsl.

// Replaces the scores by their weights, 0 where they are masked.
@compute @workgroup_size(128)
fn weigh(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let c = column(wid, lane);
    for (var r = 0u; r < 128u; r++) {
        let at = c.at + r * 128u;
        s[at] = select(0.0, weight(c.f * s[at]), r < c.seen);
    }
}

// Replaces the scores by their weights and adds up the weights.
@compute @workgroup_size(128)
fn weigh_and_sum(@builtin(workgroup_id) wid: vec3u, @builtin(local_invocation_index) lane: u32) {
    let c = column(wid, lane);
    var sum = 0.0;
    for (var start = 0u; start < 128u; start += 16u) {
        var some = 0.0;
        for (var r = start; r < start + 16u; r++) {
            let at = c.at + r * 128u;
            let own = select(0.0, weight(c.f * s[at]), r < c.seen);
            s[at] = own;
            some += own;
        }
        sum += some;
    }
    part[c.slot + 3u * rows_of_part()] = bitcast<u32>(sum);
}
