// Counts luma, R, G and B of every site, when R, G and B are to have levels of their own.
//
// There are few workgroups; each counts in its own tables in workgroup memory and stores them in its own slot.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var first: texture_2d<u32>;
@group(0) @binding(2) var second: texture_2d<u32>;
@group(0) @binding(3) var third: texture_2d<u32>;
// For each workgroup four tables of 256 counts.
@group(0) @binding(4) var<storage, read_write> counts: array<u32>;

// Whether the lanes are R, G and B, and which sample of a pixel is alpha (4: none).
override rgb: u32 = 0u;
override alpha: u32 = 4u;

const CODES = 256u;
const ALL = 4u * CODES;

var<workgroup> tables: array<atomic<u32>, ALL>;

fn count(luma: u32, channels: vec3<u32>) {
    atomicAdd(&tables[luma], 1u);
    atomicAdd(&tables[CODES + channels.x], 1u);
    atomicAdd(&tables[2u * CODES + channels.y], 1u);
    atomicAdd(&tables[3u * CODES + channels.z], 1u);
}

fn count_site(site: vec2<u32>) {
    if rgb != 0u {
        if alpha < 4u && sample(0u, site.x * step0 + alpha, site.y) == 0u {
            return;
        }
        let channels = vec3(luma_at(site.x, site.y), chroma_at(site));
        count((dot(stream.weights.xyz, channels) + 32768u) >> 16u, channels);
    } else {
        let luma = mean_at(site);
        count(luma, vec3<u32>(clamp(channels_of(luma, chroma_at(site)), vec3(0), vec3(255))));
    }
}

@compute @workgroup_size(threads)
fn channels(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    for (var i = index; i < ALL; i += threads) {
        atomicStore(&tables[i], 0u);
    }
    workgroupBarrier();

    let across = (stream.width + (1u << shift_x) - 1u) >> shift_x;
    let down = (stream.planes[0].rows + (1u << shift_y) - 1u) >> shift_y;
    // Whole rows to a workgroup.
    for (var y = group.x; y < down; y += groups.x) {
        for (var x = index; x < across; x += threads) {
            count_site(vec2(x, y));
        }
    }
    workgroupBarrier();

    for (var i = index; i < ALL; i += threads) {
        counts[group.x * ALL + i] = atomicLoad(&tables[i]);
    }
}
