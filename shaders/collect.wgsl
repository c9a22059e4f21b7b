// Hands a frame's totals to the processor, and clears them for the next frame in the same slot.

@group(0) @binding(0) var<storage, read_write> totals: array<u32>;
@group(0) @binding(1) var<storage, read_write> statistics: array<u32>;

override threads: u32 = 256u;

@compute @workgroup_size(threads)
fn collect(@builtin(global_invocation_id) invocation: vec3<u32>) {
    let index = invocation.x;
    if index < arrayLength(&totals) {
        statistics[index] = totals[index];
        totals[index] = 0u;
    }
}
