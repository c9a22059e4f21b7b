// Brings the planes in that are not measured: from the frame's memory into their textures.
//
// There are no more workgroups than run at a time, so that those of the other passes run beside them.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var second: texture_storage_2d<rgba32uint, write>;
@group(0) @binding(2) var third: texture_storage_2d<rgba32uint, write>;

@compute @workgroup_size(threads)
fn load(@builtin(global_invocation_id) invocation: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let step = groups.x * threads;
    for (var quad = stream.planes[1].first + invocation.x; quad < stream.end; quad += step) {
        let plane = plane_of(quad);
        let at = position(plane, quad);
        let texel = read_quad(plane, at.x, at.y);
        if plane == 1u {
            textureStore(second, at, texel);
        } else {
            textureStore(third, at, texel);
        }
    }
}
