// Applies: looks every sample of every plane up in its lane's curve and writes the output. What is done to a quad is
// in apply_bytes.wgsl and apply_words.wgsl, one of which belongs to this.
//
// There are no more workgroups than run at a time, so that those of the other passes run beside them.

@group(0) @binding(0) var<uniform> stream: Stream;
// The three curves, their entries as wide as samples.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

// The curves of each plane's samples, those of four a byte each, unless three words make a unit: then `Stream` has them.
override lanes0: u32 = 0u;
override lanes1: u32 = 0u;
override lanes2: u32 = 0u;
override words_of_unit: u32 = 1u;
// Quads that an invocation asks for before it does anything with the first: 1 or 2.
override ahead: u32 = 1u;

fn lanes_of(plane: u32) -> u32 {
    switch plane {
        case 0u: { return lanes0; }
        case 1u: { return lanes1; }
        default: { return lanes2; }
    }
}

// Where the quad lies that is so far right and down of another. To divide for each takes longer.
fn beyond(at: vec2<u32>, step: vec2<u32>, across: u32) -> vec2<u32> {
    let to = at + step;
    return select(to, vec2(to.x - across, to.y + 1u), to.x >= across);
}

fn apply_at(plane: u32, at: vec2<u32>, quad: vec4<u32>) {
    write_quad(plane, at.x, at.y, apply_quad(plane, at.x, at.y, quad));
}

// Goes through those quads of a plane, from one on, that are `step` apart, up to `end`. Gives the one after that.
fn apply_plane(plane: u32, first: u32, end: u32, step: u32) -> u32 {
    if first >= end {
        return first;
    }
    let across = quads(plane);
    let right_down = vec2(step % across, step / across);
    var at = position(plane, first);
    var quad = first;
    if ahead > 1u {
        for (; quad + step < end; quad += 2u * step) {
            let there = beyond(at, right_down, across);
            let one = texels[quad];
            let other = texels[quad + step];
            apply_at(plane, at, one);
            apply_at(plane, there, other);
            at = beyond(there, right_down, across);
        }
    }
    for (; quad < end; quad += step) {
        apply_at(plane, at, texels[quad]);
        at = beyond(at, right_down, across);
    }
    return quad;
}

@compute @workgroup_size(threads)
fn apply(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    prepare(index);
    workgroupBarrier();

    let step = groups.x * threads;
    // Each plane has its own loop, in which its curves are known when it is compiled.
    let second = apply_plane(0u, invocation.x, min(stream.planes[1].first, stream.end), step);
    let third = apply_plane(1u, second, min(stream.planes[2].first, stream.end), step);
    apply_plane(2u, third, stream.end, step);
}
