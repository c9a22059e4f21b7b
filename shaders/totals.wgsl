// Adds up what the workgroups of channels.wgsl counted. An invocation takes one code of one table.

@group(0) @binding(0) var<storage, read> counts: array<u32>;
@group(0) @binding(1) var<storage, read_write> sums: array<u32>;

const ALL = 4u * CODES;

@compute @workgroup_size(32)
fn totals(@builtin(global_invocation_id) invocation: vec3<u32>) {
    var total = 0u;
    for (var i = invocation.x; i < arrayLength(&counts); i += ALL) {
        total += counts[i];
    }
    sums[invocation.x] = total;
}
