// Applies as apply.wgsl does, but leaves what is kept as it came, and blends patches in. How samples lie in words is in
// overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
// The three curves, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

// What becomes of the sample `x` of a row.
fn changed(lane: u32, code: u32, x: u32, y: u32) -> u32 {
    return look_up_at(lane, code, x, y);
}

@compute @workgroup_size(8, 4)
fn overlay(@builtin(global_invocation_id) id: vec3<u32>) {
    overlay_at(id);
}
