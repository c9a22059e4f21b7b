// Counts luma, R, G and B of every site, when R, G and B are to have levels of their own; or, compiled with `sums`, sums R,
// G and B up at each luma. For both at once there is not room everywhere.
//
// There are few workgroups; each counts in its own tables in workgroup memory and stores them in its own slot.

@group(0) @binding(0) var<uniform> stream: Stream;
// For each workgroup four tables of counts.
@group(0) @binding(2) var<storage, read_write> counts: array<u32>;

// Pixels of a unit, in which the window is given.
override unit: u32 = 1u;
// Whether the lanes are R, G and B, and which sample of a pixel is alpha (4: none).
override rgb: u32 = 0u;
override alpha: u32 = 4u;
// Codes of a bin, as their binary logarithm.
override bin: u32 = 0u;
override sums: u32 = 0u;
// From one row of sites that is counted to the next.
override counted: u32 = 1u;

const ALL = 4u * CODES;

var<workgroup> tables: array<atomic<u32>, ALL>;

fn count(luma: u32, channels: vec3<u32>) {
    if sums != 0u {
        for (var i = 0u; i < 3u; i++) {
            atomicAdd(&tables[(i + 1u) * CODES + (luma >> bin)], channels[i] >> bin);
        }
        return;
    }
    atomicAdd(&tables[luma >> bin], 1u);
    atomicAdd(&tables[CODES + (channels.x >> bin)], 1u);
    atomicAdd(&tables[2u * CODES + (channels.y >> bin)], 1u);
    atomicAdd(&tables[3u * CODES + (channels.z >> bin)], 1u);
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
        count(luma, vec3<u32>(clamp(channels_of(luma, chroma_at(site)), vec3(0), vec3(most))));
    }
}

// The sites of some pixels of a row or a column of so many, from the first to the one after the last: those that lie
// in them whole, or, where none does, those that they touch.
fn within(first: u32, end: u32, length: u32, shift: u32) -> vec2<u32> {
    let rest = (1u << shift) - 1u;
    let whole = vec2((first + rest) >> shift, select(end, length + rest, end == length) >> shift);
    return select(vec2(first >> shift, (end + rest) >> shift), whole, whole.x < whole.y);
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

    let edges = min(stream.window.xy * unit, vec2(stream.width));
    let across = within(edges.x, edges.y, stream.width, shift_x);
    let down = within(stream.window.z, stream.window.w, stream.planes[0].rows, shift_y);
    // Whole rows to a workgroup.
    for (var y = down.x + group.x * counted; y < down.y; y += groups.x * counted) {
        for (var x = across.x + index; x < across.y; x += threads) {
            count_site(vec2(x, y));
        }
    }
    workgroupBarrier();

    for (var i = index; i < ALL; i += threads) {
        counts[group.x * ALL + i] = atomicLoad(&tables[i]);
    }
}
