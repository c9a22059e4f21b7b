// Applies: looks every sample of every plane up in its lane's curve and writes the output. What is done to a word is
// in apply_bytes.wgsl and apply_words.wgsl, one of which belongs to this.
//
// There are no more workgroups than run at a time, so that those of the other passes run beside them.

@group(0) @binding(0) var<uniform> stream: Stream;
// The three curves, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

var<workgroup> tables: array<u32, TABLES>;

@compute @workgroup_size(threads)
fn apply(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    for (var i = index; i < TABLES; i += threads) {
        tables[i] = table_word(i);
    }
    workgroupBarrier();

    let step = groups.x * threads;
    for (var quad = invocation.x; quad < stream.end; quad += step) {
        let plane = plane_of(quad);
        let at = position(plane, quad);
        let texel = texel_at(plane, at);
        let x = 4u * at.x;
        write_quad(plane, at.x, at.y, vec4(
            apply_word(plane, x, at.y, texel.x),
            apply_word(plane, x + 1u, at.y, texel.y),
            apply_word(plane, x + 2u, at.y, texel.z),
            apply_word(plane, x + 3u, at.y, texel.w),
        ));
    }
}
