// Measures: brings the measured plane in, counts its luma codes, and sums the luma of each chunk.
//
// A workgroup takes some of the rows in a row of chunks, whole, so that it asks for memory in long runs. It counts what
// of them lies in the window in tables in workgroup memory and in the end adds their sum to the frame's totals. What it
// saw of a column of chunks it adds to the totals too. Further workgroups bring the other planes in: a dispatch of their
// own takes the GPU longer.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var<storage, read_write> texels: array<vec4<u32>>;
// The counts of codes, then the chunks' sums, then their counts; zeros before.
@group(0) @binding(2) var<storage, read_write> totals: array<atomic<u32>>;

// How luma lies in a unit: four samples (0), two samples two apart (1), R, G and B of one pixel (2),
// R, G and B of four pixels in three words (3); of samples of 16 bits, in two words, four (4), R, G and B of one
// pixel (5).
override sort: u32 = 0u;
// Which sample of the unit is the first luma (sort 1), or red, green, blue and alpha (4: none).
override luma: u32 = 0u;
override red: u32 = 0u;
override green: u32 = 1u;
override blue: u32 = 2u;
override alpha: u32 = 4u;
// Where the upper ten bits of a code begin in a sample of 16 bits.
override bin: u32 = 0u;
// Invocations along a row, a power of two.
override across: u32 = 32u;
// Rows, or quads, that an invocation asks for before it does anything with the first: 1 or 2.
override ahead: u32 = 1u;

// Tables lie in each other, a code's counts side by side, and so do the sums of columns: neighbouring invocations add to
// different ones, which lie in different banks.
const SUM_COPIES = 8u;
// Most columns of chunks.
const COLUMNS = 32u;

var<workgroup> tables: array<atomic<u32>, CODES * COPIES>;
var<workgroup> sums: array<atomic<u32>, COLUMNS * SUM_COPIES>;
var<workgroup> counts: array<atomic<u32>, COLUMNS * SUM_COPIES>;

// The table of this invocation.
var<private> own: u32;

fn edge(index: u32) -> u32 {
    return stream.edges[index / 4u][index % 4u];
}

fn sample(word: u32, index: u32) -> u32 {
    return (word >> (8u * index)) & 255u;
}

// The same of samples of 16 bits.
fn wide(word: u32, index: u32) -> u32 {
    return (word >> (16u * index)) & 0xffffu;
}

// Counts a code if it is `inside` the window, and gives it back. Adding a literal one is faster than adding a number.
fn vote(code: u32, inside: bool) -> u32 {
    if inside {
        atomicAdd(&tables[code * COPIES + own], 1u);
    }
    return code;
}

// The luma code of R, G and B.
fn weigh(r: u32, g: u32, b: u32) -> u32 {
    return (stream.weights.x * r + stream.weights.y * g + stream.weights.z * b + 32768u) >> 16u;
}

fn weigh_packed(pixel: u32) -> u32 {
    return weigh(sample(pixel, red), sample(pixel, green), sample(pixel, blue));
}

// A sample of 16 bits of a pixel of two words.
fn wide_of(a: u32, b: u32, index: u32) -> u32 {
    return wide(select(a, b, index > 1u), index & 1u);
}

// Pixels of a unit.
fn unit_pixels() -> u32 {
    if sort == 1u {
        return 2u;
    }
    return select(4u, 1u, sort == 2u || sort == 5u);
}

// Counts four pixels side by side, or those of them that are `left` in the row. Gives their sum.
fn vote_four(codes: vec4<u32>, left: u32, inside: bool) -> u32 {
    var sum = vote(codes.x, inside);
    if left > 1u { sum += vote(codes.y, inside); }
    if left > 2u { sum += vote(codes.z, inside); }
    if left > 3u { sum += vote(codes.w, inside); }
    return sum;
}

// Counts a unit, of one to three words, of whose pixels the row has `left`. Gives their sum, and how many there are if
// some of them may be transparent.
fn measure_unit(left: u32, inside: bool, a: u32, b: u32, c: u32) -> vec2<u32> {
    if left == 0u {
        return vec2(0u);
    }
    if sort == 0u {
        return vec2(vote_four(vec4(sample(a, 0u), sample(a, 1u), sample(a, 2u), sample(a, 3u)), left, inside), 0u);
    } else if sort == 1u {
        var sum = vote(sample(a, luma), inside);
        if left > 1u { sum += vote(sample(a, luma + 2u), inside); }
        return vec2(sum, 0u);
    } else if sort == 2u {
        if alpha > 3u || sample(a, alpha & 3u) != 0u {
            return vec2(vote(weigh_packed(a), inside), 1u);
        }
        return vec2(0u);
    } else if sort == 3u {
        // The middle sample of a pixel is green; red and blue are on its sides.
        let pixels = vec4(a & 0xffffffu, (a >> 24u) | ((b & 0xffffu) << 8u), (b >> 16u) | ((c & 255u) << 16u), c >> 8u);
        let codes = vec4(weigh_packed(pixels.x), weigh_packed(pixels.y), weigh_packed(pixels.z), weigh_packed(pixels.w));
        return vec2(vote_four(codes, left, inside), 0u);
    } else if sort == 4u {
        let samples = vec4(wide(a, 0u), wide(a, 1u), wide(b, 0u), wide(b, 1u));
        let codes = (samples >> vec4(bin)) & vec4(CODES - 1u);
        return vec2(vote_four(codes, left, inside), 0u);
    }
    if alpha > 3u || wide_of(a, b, alpha & 3u) != 0u {
        return vec2(vote(weigh(wide_of(a, b, red), wide_of(a, b, green), wide_of(a, b, blue)) >> bin, inside), 1u);
    }
    return vec2(0u);
}

// Four units: one to three quads.
struct Units {
    a: vec4<u32>,
    b: vec4<u32>,
    c: vec4<u32>,
}

// Quads that four units are.
fn quads_of_units() -> u32 {
    if sort == 3u {
        return 3u;
    }
    return select(1u, 2u, sort >= 4u);
}

// Reads a quad of the plane, if its row has it; a `whole` piece is one of which it has all.
fn read_one(x: u32, y: u32, whole: bool) -> vec4<u32> {
    if whole || x < quads(0u) {
        return read_quad(0u, x, y);
    }
    return vec4(0u);
}

fn store_one(x: u32, y: u32, whole: bool, quad: vec4<u32>) {
    if whole || x < quads(0u) {
        texels[y * quads(0u) + x] = quad;
    }
}

// Reads the four units from `4 * x` on.
fn read_units(x: u32, y: u32, whole: bool) -> Units {
    let each = quads_of_units();
    var units = Units(read_one(each * x, y, whole), vec4(0u), vec4(0u));
    if each > 1u { units.b = read_one(each * x + 1u, y, whole); }
    if each > 2u { units.c = read_one(each * x + 2u, y, whole); }
    return units;
}

// Stores them as texels.
fn store_units(x: u32, y: u32, whole: bool, units: Units) {
    let each = quads_of_units();
    store_one(each * x, y, whole, units.a);
    if each > 1u { store_one(each * x + 1u, y, whole, units.b); }
    if each > 2u { store_one(each * x + 2u, y, whole, units.c); }
}

// Sums and counts of four units.
struct Seen {
    sums: vec4<u32>,
    counts: vec4<u32>,
}

// Sums four units up, of whose pixels the row has `left`; of those `inside` the window, also counts the codes.
fn measure(seen: Seen, units: Units, left: vec4<u32>, inside: vec4<bool>) -> Seen {
    let a = units.a;
    let b = units.b;
    let c = units.c;
    var p: vec2<u32>;
    var q: vec2<u32>;
    var r: vec2<u32>;
    var s: vec2<u32>;
    if sort == 3u {
        p = measure_unit(left.x, inside.x, a.x, a.y, a.z);
        q = measure_unit(left.y, inside.y, a.w, b.x, b.y);
        r = measure_unit(left.z, inside.z, b.z, b.w, c.x);
        s = measure_unit(left.w, inside.w, c.y, c.z, c.w);
    } else if sort >= 4u {
        p = measure_unit(left.x, inside.x, a.x, a.y, 0u);
        q = measure_unit(left.y, inside.y, a.z, a.w, 0u);
        r = measure_unit(left.z, inside.z, b.x, b.y, 0u);
        s = measure_unit(left.w, inside.w, b.z, b.w, 0u);
    } else {
        p = measure_unit(left.x, inside.x, a.x, 0u, 0u);
        q = measure_unit(left.y, inside.y, a.y, 0u, 0u);
        r = measure_unit(left.z, inside.z, a.z, 0u, 0u);
        s = measure_unit(left.w, inside.w, a.w, 0u, 0u);
    }
    return Seen(seen.sums + vec4(p.x, q.x, r.x, s.x), seen.counts + vec4(p.y, q.y, r.y, s.y));
}

// Brings the rows from `first` on in that are `step` apart, the four units from `4 * x` on of each. A piece that is
// `whole` is complete in its row and inside the window in every row: nothing is asked about its pixels.
fn bring_whole(x: u32, first: u32, bottom: u32, step: u32) -> Seen {
    var seen = Seen(vec4(0u), vec4(0u));
    var y = first;
    if ahead > 1u {
        for (; y + step < bottom; y += 2u * step) {
            let one = read_units(x, y, true);
            let other = read_units(x, y + step, true);
            store_units(x, y, true, one);
            store_units(x, y + step, true, other);
            seen = measure(seen, one, vec4(4u), vec4(true));
            seen = measure(seen, other, vec4(4u), vec4(true));
        }
    }
    for (; y < bottom; y += step) {
        let units = read_units(x, y, true);
        store_units(x, y, true, units);
        seen = measure(seen, units, vec4(4u), vec4(true));
    }
    return seen;
}

// The same for other pieces.
fn bring_part(x: u32, first: u32, bottom: u32, step: u32, left: vec4<u32>, columns: vec4<bool>) -> Seen {
    var seen = Seen(vec4(0u), vec4(0u));
    for (var y = first; y < bottom; y += step) {
        let units = read_units(x, y, false);
        store_units(x, y, false, units);
        seen = measure(seen, units, left, columns & vec4(y >= stream.window.z && y < stream.window.w));
    }
    return seen;
}

fn add_up(column: u32, copy: u32, sum: u32, count: u32) {
    let at = column * SUM_COPIES + copy % SUM_COPIES;
    atomicAdd(&sums[at], sum);
    if count > 0u {
        atomicAdd(&counts[at], count);
    }
}

// What all copies have of a column. A loop, each turn of which wgpu checks, would take longer than the sum.
fn sum_up(column: u32) -> u32 {
    let at = column * SUM_COPIES;
    return atomicLoad(&sums[at]) + atomicLoad(&sums[at + 1u]) + atomicLoad(&sums[at + 2u]) + atomicLoad(&sums[at + 3u])
        + atomicLoad(&sums[at + 4u]) + atomicLoad(&sums[at + 5u]) + atomicLoad(&sums[at + 6u]) + atomicLoad(&sums[at + 7u]);
}

fn sum_up_counts(column: u32) -> u32 {
    let at = column * SUM_COPIES;
    return atomicLoad(&counts[at]) + atomicLoad(&counts[at + 1u]) + atomicLoad(&counts[at + 2u])
        + atomicLoad(&counts[at + 3u]) + atomicLoad(&counts[at + 4u]) + atomicLoad(&counts[at + 5u])
        + atomicLoad(&counts[at + 6u]) + atomicLoad(&counts[at + 7u]);
}

// The pixels of a row of chunks that lie in a column.
fn pixels_of(column: u32) -> u32 {
    let pixels = unit_pixels();
    return min(edge(column + 1u) * pixels, stream.width) - edge(column) * pixels;
}

fn read_other(quad: u32) -> vec4<u32> {
    let plane = plane_of(quad);
    let at = position(plane, quad);
    return read_quad(plane, at.x, at.y);
}

// Brings the planes in that are not measured: every so many quads of them, from the `number`th on.
fn load(number: u32, step: u32) {
    var quad = stream.planes[1].first + number;
    if ahead > 1u {
        for (; quad + step < stream.end; quad += 2u * step) {
            let one = read_other(quad);
            let other = read_other(quad + step);
            texels[quad] = one;
            texels[quad + step] = other;
        }
    }
    for (; quad < stream.end; quad += step) {
        texels[quad] = read_other(quad);
    }
}

@compute @workgroup_size(threads)
fn histogram(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    if group.y >= stream.down {
        let number = (group.y - stream.down) * groups.x + group.x;
        load(number * threads + index, (groups.y - stream.down) * groups.x * threads);
        return;
    }
    for (var i = index; i < CODES * COPIES; i += threads) {
        atomicStore(&tables[i], 0u);
    }
    for (var i = index; i < COLUMNS * SUM_COPIES; i += threads) {
        atomicStore(&sums[i], 0u);
        if alpha <= 3u { atomicStore(&counts[i], 0u); }
    }
    workgroupBarrier();

    own = index % COPIES;
    let units = edge(stream.across);
    let above = edge(33u + group.y);
    let bottom = edge(34u + group.y);
    let rows = threads / across;
    let step = stream.bands * rows;
    for (var x = index % across; 4u * x < units; x += across) {
        let unit = 4u * x + vec4(0u, 1u, 2u, 3u);
        let columns = (unit >= stream.window.xxxx) & (unit < stream.window.yyyy);
        // Pixels that the row has from each unit on.
        let left = vec4(stream.width) - min(vec4(stream.width), unit * unit_pixels());
        let first = above + group.x * rows + index / across;
        var seen: Seen;
        if all(columns) && left.w >= unit_pixels() && above >= stream.window.z && bottom <= stream.window.w {
            seen = bring_whole(x, first, bottom, step);
        } else {
            seen = bring_part(x, first, bottom, step, left, columns);
        }
        if alpha > 3u {
            // All pixels count, and how many there are is known.
            seen.counts = vec4(0u);
        }
        // Columns begin at i * units / columns, rounded down, so a unit lies in column ((unit + 1) * columns - 1) / units.
        let place = (unit.x + 1u) * stream.across - 1u;
        let column = place / units;
        let past = place - column * units;
        if past + 3u * stream.across < units {
            let sums = seen.sums.x + seen.sums.y + seen.sums.z + seen.sums.w;
            add_up(column, index, sums, seen.counts.x + seen.counts.y + seen.counts.z + seen.counts.w);
        } else {
            // Past the end of the row all of it is zeros, for any column.
            let others = min(vec3(column) + (vec3(past) + vec3(1u, 2u, 3u) * stream.across) / units, vec3(COLUMNS - 1u));
            add_up(column, index, seen.sums.x, seen.counts.x);
            add_up(others.x, index, seen.sums.y, seen.counts.y);
            add_up(others.y, index, seen.sums.z, seen.counts.z);
            add_up(others.z, index, seen.sums.w, seen.counts.w);
        }
    }
    workgroupBarrier();

    for (var code = index; code < CODES; code += threads) {
        // The two tables. Invocations side by side begin with different ones, which lie in different banks.
        let total = atomicLoad(&tables[code * COPIES + code % COPIES])
            + atomicLoad(&tables[code * COPIES + (code + 1u) % COPIES]);
        if total > 0u {
            atomicAdd(&totals[code], total);
        }
    }
    if index < stream.across {
        let chunk = group.y * stream.across + index;
        var count = 0u;
        if alpha <= 3u { count = sum_up_counts(index); }
        if alpha > 3u && group.x == 0u {
            count = pixels_of(index) * (bottom - above);
        }
        atomicAdd(&totals[CODES + chunk], sum_up(index));
        if count > 0u { atomicAdd(&totals[CODES + stream.chunks + chunk], count); }
    }
}
