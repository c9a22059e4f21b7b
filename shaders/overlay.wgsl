// Applies as apply.wgsl does, but leaves what is kept as it came, and blends patches in. How samples lie in words is in
// overlay_bytes.wgsl and overlay_words.wgsl, one of which belongs to this.

@group(0) @binding(0) var<uniform> stream: Stream;
// The three curves, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

// The output of the texel `x` of row `y`, given as four codes.
fn overlay_texel(plane: u32, x: u32, y: u32, codes: vec4<u32>) -> vec4<u32> {
    var texel = codes;
    if !is_kept(plane, x) {
        let unit = stream.lanes[plane];
        let lanes = unpack(unit[x % unit.w]);
        for (var i = 0u; i < 4u; i++) {
            // The fourth curve copies.
            if lanes[i] < 3u {
                texel[i] = look_up_at(lanes[i], texel[i], 4u * x + i, y);
            }
        }
    }
    return drawn(plane, x, y, texel);
}

@compute @workgroup_size(8, 4)
fn overlay(@builtin(global_invocation_id) id: vec3<u32>) {
    let plane = id.z;
    if id.x >= quads(plane) || id.y >= stream.planes[plane].rows {
        return;
    }
    let quad = texel_at(plane, id.xy);
    write_quad(plane, id.x, id.y, overlay_quad(plane, id.x, id.y, quad));
}
