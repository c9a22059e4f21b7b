// The rungs: ways to count the luma codes of a picture, the simplest first.

override across: u32 = 256u;
override down: u32 = 1u;

@group(0) @binding(0) var picture: texture_2d<u32>;
// 256 counts, or 4 × 256 (R, G, B and luma).
@group(0) @binding(1) var<storage, read_write> bins: array<atomic<u32>>;
// The same without atomics.
@group(0) @binding(2) var<storage, read_write> plain: array<u32>;
// 256 counts for each workgroup.
@group(0) @binding(3) var<storage, read_write> chunks: array<u32>;
// How many chunks there are, and how far apart are those that are added up.
@group(0) @binding(4) var<uniform> pairs: vec4<u32>;

fn luma(pixel: vec4<u32>) -> u32 {
    return (13933u * pixel.r + 46871u * pixel.g + 4732u * pixel.b + 32768u) >> 16u;
}

fn code_at(x: u32, y: u32) -> u32 {
    return luma(textureLoad(picture, vec2(x, y), 0));
}

@compute @workgroup_size(1)
fn one_invocation() {
    let size = textureDimensions(picture);
    for (var y = 0u; y < size.y; y++) {
        for (var x = 0u; x < size.x; x++) {
            plain[code_at(x, y)] += 1u;
        }
    }
}

@compute @workgroup_size(across, down)
fn race(@builtin(global_invocation_id) at: vec3<u32>) {
    if all(at.xy < textureDimensions(picture)) {
        plain[code_at(at.x, at.y)] += 1u;
    }
}

@compute @workgroup_size(across, down)
fn atomics(@builtin(global_invocation_id) at: vec3<u32>) {
    if all(at.xy < textureDimensions(picture)) {
        atomicAdd(&bins[code_at(at.x, at.y)], 1u);
    }
}

// As `atomics`, but neighbouring invocations take pixels below each other.
@compute @workgroup_size(across, down)
fn atomics_by_columns(@builtin(global_invocation_id) at: vec3<u32>) {
    if all(at.yx < textureDimensions(picture)) {
        atomicAdd(&bins[code_at(at.y, at.x)], 1u);
    }
}

var<workgroup> table: array<atomic<u32>, 256>;

fn clear(index: u32) {
    for (var i = index; i < 256u; i += across * down) {
        atomicStore(&table[i], 0u);
    }
    workgroupBarrier();
}

@compute @workgroup_size(across, down)
fn chunk(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    clear(index);
    if all(at.xy < textureDimensions(picture)) {
        atomicAdd(&table[code_at(at.x, at.y)], 1u);
    }
    workgroupBarrier();
    for (var i = index; i < 256u; i += across * down) {
        chunks[(group.y * groups.x + group.x) * 256u + i] = atomicLoad(&table[i]);
    }
}

// As `chunk`, but neighbouring invocations take pixels below each other.
@compute @workgroup_size(across, down)
fn chunk_by_columns(
    @builtin(global_invocation_id) at: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    clear(index);
    if all(at.yx < textureDimensions(picture)) {
        atomicAdd(&table[code_at(at.y, at.x)], 1u);
    }
    workgroupBarrier();
    for (var i = index; i < 256u; i += across * down) {
        chunks[(group.y * groups.x + group.x) * 256u + i] = atomicLoad(&table[i]);
    }
}

// One workgroup adds all chunks up, an invocation for each code.
@compute @workgroup_size(256)
fn sum(@builtin(local_invocation_index) code: u32) {
    var total = 0u;
    for (var i = 0u; i < pairs.x; i++) {
        total += chunks[i * 256u + code];
    }
    atomicStore(&bins[code], total);
}

// Each chunk whose number is a multiple of two strides takes the one a stride on, if there is one.
@compute @workgroup_size(256)
fn add_pairs(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) code: u32) {
    let first = group.x * 2u * pairs.y;
    let second = first + pairs.y;
    if second < pairs.x {
        chunks[first * 256u + code] += chunks[second * 256u + code];
    }
}

@compute @workgroup_size(256)
fn take_first(@builtin(local_invocation_index) code: u32) {
    atomicStore(&bins[code], chunks[code]);
}

var<workgroup> four: array<atomic<u32>, 1024>;

// R, G, B and luma at once, by workgroups that go on to other rows.
@compute @workgroup_size(across, down)
fn four_channels(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    for (var i = index; i < 1024u; i += across * down) {
        atomicStore(&four[i], 0u);
    }
    workgroupBarrier();
    let size = textureDimensions(picture);
    for (var y = group.x * down + local.y; y < size.y; y += groups.x * down) {
        for (var x = local.x; x < size.x; x += across) {
            let pixel = textureLoad(picture, vec2(x, y), 0);
            atomicAdd(&four[pixel.r], 1u);
            atomicAdd(&four[256u + pixel.g], 1u);
            atomicAdd(&four[512u + pixel.b], 1u);
            atomicAdd(&four[768u + luma(pixel)], 1u);
        }
    }
    workgroupBarrier();
    for (var i = index; i < 1024u; i += across * down) {
        let count = atomicLoad(&four[i]);
        if count > 0u {
            atomicAdd(&bins[i], count);
        }
    }
}

// Workgroups that go on to other rows, with one table each.
@compute @workgroup_size(across, down)
fn lasting(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    clear(index);
    let size = textureDimensions(picture);
    for (var y = group.x * down + local.y; y < size.y; y += groups.x * down) {
        for (var x = local.x; x < size.x; x += across) {
            vote(code_at(x, y));
        }
    }
    workgroupBarrier();
    for (var i = index; i < 256u; i += across * down) {
        let count = atomicLoad(&table[i]);
        if count > 0u {
            atomicAdd(&bins[i], count);
        }
    }
}

fn vote(code: u32) {
    atomicAdd(&table[code], 1u);
}
