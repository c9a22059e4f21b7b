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

// Counts four pixels side by side, or those of them that are `left` in the row. Gives their sum.
fn vote_four(codes: vec4<u32>, left: u32, inside: bool) -> u32 {
    var sum = vote(codes.x, inside);
    if left > 1u { sum += vote(codes.y, inside); }
    if left > 2u { sum += vote(codes.z, inside); }
    if left > 3u { sum += vote(codes.w, inside); }
    return sum;
}

// Counts the unit at `x`, of one to three words, if the row of `units` has it. Gives the sum of its pixels, and how many
// there are if some of them may be transparent.
fn measure_unit(x: u32, units: u32, inside: bool, a: u32, b: u32, c: u32) -> vec2<u32> {
    if x >= units {
        return vec2(0u);
    }
    if sort == 0u {
        let left = stream.planes[0].samples - 4u * x;
        return vec2(vote_four(vec4(sample(a, 0u), sample(a, 1u), sample(a, 2u), sample(a, 3u)), left, inside), 0u);
    } else if sort == 1u {
        var sum = vote(sample(a, luma), inside);
        if 2u * x + 1u < stream.width { sum += vote(sample(a, luma + 2u), inside); }
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
        return vec2(vote_four(codes, stream.width - 4u * x, inside), 0u);
    } else if sort == 4u {
        let samples = vec4(wide(a, 0u), wide(a, 1u), wide(b, 0u), wide(b, 1u));
        let codes = (samples >> vec4(bin)) & vec4(CODES - 1u);
        return vec2(vote_four(codes, stream.planes[0].samples - 4u * x, inside), 0u);
    }
    if alpha > 3u || wide_of(a, b, alpha & 3u) != 0u {
        return vec2(vote(weigh(wide_of(a, b, red), wide_of(a, b, green), wide_of(a, b, blue)) >> bin, inside), 1u);
    }
    return vec2(0u);
}

// Sums and counts of four units.
struct Seen {
    sums: vec4<u32>,
    counts: vec4<u32>,
}

// Reads a quad of the plane, if its row has it, and stores it as a texel.
fn bring(x: u32, y: u32) -> vec4<u32> {
    var quad = vec4(0u);
    if x < quads(0u) {
        quad = read_quad(0u, x, y);
        texels[y * quads(0u) + x] = quad;
    }
    return quad;
}

// Brings the four units from `4 * x` on in and sums them up; of those in the window's `columns`, also counts the codes.
fn measure(x: u32, y: u32, units: u32, columns: vec4<bool>) -> Seen {
    let inside = columns & vec4(y >= stream.window.z && y < stream.window.w);
    let unit = 4u * x;
    var p: vec2<u32>;
    var q: vec2<u32>;
    var r: vec2<u32>;
    var s: vec2<u32>;
    if sort == 3u {
        let a = bring(3u * x, y);
        let b = bring(3u * x + 1u, y);
        let c = bring(3u * x + 2u, y);
        p = measure_unit(unit, units, inside.x, a.x, a.y, a.z);
        q = measure_unit(unit + 1u, units, inside.y, a.w, b.x, b.y);
        r = measure_unit(unit + 2u, units, inside.z, b.z, b.w, c.x);
        s = measure_unit(unit + 3u, units, inside.w, c.y, c.z, c.w);
    } else if sort >= 4u {
        let a = bring(2u * x, y);
        let b = bring(2u * x + 1u, y);
        p = measure_unit(unit, units, inside.x, a.x, a.y, 0u);
        q = measure_unit(unit + 1u, units, inside.y, a.z, a.w, 0u);
        r = measure_unit(unit + 2u, units, inside.z, b.x, b.y, 0u);
        s = measure_unit(unit + 3u, units, inside.w, b.z, b.w, 0u);
    } else {
        let a = bring(x, y);
        p = measure_unit(unit, units, inside.x, a.x, 0u, 0u);
        q = measure_unit(unit + 1u, units, inside.y, a.y, 0u, 0u);
        r = measure_unit(unit + 2u, units, inside.z, a.z, 0u, 0u);
        s = measure_unit(unit + 3u, units, inside.w, a.w, 0u, 0u);
    }
    return Seen(vec4(p.x, q.x, r.x, s.x), vec4(p.y, q.y, r.y, s.y));
}

fn add_up(column: u32, copy: u32, sum: u32, count: u32) {
    let at = column * SUM_COPIES + copy % SUM_COPIES;
    atomicAdd(&sums[at], sum);
    if count > 0u {
        atomicAdd(&counts[at], count);
    }
}

// The pixels of a row of chunks that lie in a column.
fn pixels_of(column: u32) -> u32 {
    var pixels = 4u;
    if sort == 1u {
        pixels = 2u;
    } else if sort == 2u || sort == 5u {
        pixels = 1u;
    }
    return min(edge(column + 1u) * pixels, stream.width) - edge(column) * pixels;
}

// Brings the planes in that are not measured: every so many quads of them, from the `number`th on.
fn load(number: u32, step: u32) {
    for (var quad = stream.planes[1].first + number; quad < stream.end; quad += step) {
        let plane = plane_of(quad);
        let at = position(plane, quad);
        texels[quad] = read_quad(plane, at.x, at.y);
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
        atomicStore(&counts[i], 0u);
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
        var seen = Seen(vec4(0u), vec4(0u));
        for (var y = above + group.x * rows + index / across; y < bottom; y += step) {
            let more = measure(x, y, units, columns);
            seen.sums += more.sums;
            seen.counts += more.counts;
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
        var total = 0u;
        for (var copy = 0u; copy < COPIES; copy++) {
            // Invocations side by side begin with different tables, which lie in different banks.
            total += atomicLoad(&tables[code * COPIES + (copy + code) % COPIES]);
        }
        if total > 0u {
            atomicAdd(&totals[code], total);
        }
    }
    if index < stream.across {
        let chunk = group.y * stream.across + index;
        var sum = 0u;
        var count = 0u;
        for (var copy = 0u; copy < SUM_COPIES; copy++) {
            sum += atomicLoad(&sums[index * SUM_COPIES + copy]);
            count += atomicLoad(&counts[index * SUM_COPIES + copy]);
        }
        if alpha > 3u && group.x == 0u {
            count = pixels_of(index) * (bottom - above);
        }
        atomicAdd(&totals[CODES + chunk], sum);
        atomicAdd(&totals[CODES + stream.chunks + chunk], count);
    }
}
