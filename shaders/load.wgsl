// Brings the planes in that are not measured: from the frame's memory into their textures.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var second: texture_storage_2d<rgba8uint, write>;
@group(0) @binding(2) var third: texture_storage_2d<rgba8uint, write>;
@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read> words: array<u32>;

@compute @workgroup_size(ACROSS, thread_rows)
fn load(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    let block = stream.planes[1].first_block + group.y;
    let plane = plane_of(block);
    let shape = stream.planes[plane];
    let place = memory.places[plane];
    let x = group.x * ACROSS + local.x;
    let top = (block - shape.first_block) * ROWS_EACH * thread_rows + local.y;
    for (var i = 0u; i < ROWS_EACH; i++) {
        let y = top + i * thread_rows;
        if x < shape.words && y < shape.rows {
            let word = words[place.x + y * place.y + x];
            let texel = vec4(word, word >> 8u, word >> 16u, word >> 24u) & vec4(255u);
            if plane == 1u {
                textureStore(second, vec2(x, y), texel);
            } else {
                textureStore(third, vec2(x, y), texel);
            }
        }
    }
}
