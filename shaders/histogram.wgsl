// Measures: brings the measured plane in, counts its luma codes, and sums the luma of each chunk.
//
// A workgroup takes some of the rows in a row of chunks, whole, so that it asks for memory in long runs. It counts what
// of them lies in the window in its own tables in workgroup memory and stores their sum in its own slot, so that nobody
// waits for anybody.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var texels: texture_storage_2d<rgba32uint, write>;
@group(0) @binding(2) var<storage, read_write> slots: array<u32>;

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

// Neighbouring invocations count in different tables; the odd length keeps equal codes in different banks.
const TABLE = CODES + 1u;

var<workgroup> tables: array<atomic<u32>, COPIES * TABLE>;
var<workgroup> sums: array<atomic<u32>, COLUMNS>;
var<workgroup> counts: array<atomic<u32>, COLUMNS>;

// Of this invocation: the start of its table, how many units in the window are as the one it looks at, and what it saw
// of the unit.
var<private> table: u32;
var<private> alike: u32;
var<private> sum: u32;
var<private> votes: u32;

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

fn vote(code: u32, pixels: u32) {
    atomicAdd(&tables[table + code], pixels * alike);
    sum += code * pixels;
    votes += pixels;
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

// Counts four pixels side by side, or those of them that are `left` in the row.
fn vote_four(codes: vec4<u32>, left: u32) {
    if left >= 4u && all(codes == codes.xxxx) {
        vote(codes.x, 4u);
    } else {
        vote(codes.x, 1u);
        if left > 1u { vote(codes.y, 1u); }
        if left > 2u { vote(codes.z, 1u); }
        if left > 3u { vote(codes.w, 1u); }
    }
}

// Reads a quad of the plane and stores it as a texel.
fn bring(x: u32, y: u32) -> vec4<u32> {
    var quad = vec4(0u);
    if x < quads(0u) {
        quad = read_quad(0u, x, y);
        textureStore(texels, vec2(x, y), quad);
    }
    return quad;
}

// Counts the unit at `x`, of one to three words, if the row of `units` has it. Gives its sum and count.
fn measure_unit(x: u32, units: u32, a: u32, b: u32, c: u32) -> vec2<u32> {
    if x >= units {
        return vec2(0u);
    }
    sum = 0u;
    votes = 0u;
    if sort == 0u {
        let left = stream.planes[0].samples - 4u * x;
        if left >= 4u && a == (a & 255u) * 0x01010101u {
            vote(a & 255u, 4u);
        } else {
            vote(sample(a, 0u), 1u);
            if left > 1u { vote(sample(a, 1u), 1u); }
            if left > 2u { vote(sample(a, 2u), 1u); }
            if left > 3u { vote(sample(a, 3u), 1u); }
        }
    } else if sort == 1u {
        let first = sample(a, luma);
        let second = sample(a, luma + 2u);
        let both = 2u * x + 1u < stream.width;
        if both && first == second {
            vote(first, 2u);
        } else {
            vote(first, 1u);
            if both { vote(second, 1u); }
        }
    } else if sort == 2u {
        if alpha > 3u || sample(a, alpha & 3u) != 0u {
            vote(weigh_packed(a), 1u);
        }
    } else if sort == 3u {
        // The middle sample of a pixel is green; red and blue are on its sides.
        let pixels = vec4(a & 0xffffffu, (a >> 24u) | ((b & 0xffffu) << 8u), (b >> 16u) | ((c & 255u) << 16u), c >> 8u);
        let codes = vec4(weigh_packed(pixels.x), weigh_packed(pixels.y), weigh_packed(pixels.z), weigh_packed(pixels.w));
        vote_four(codes, stream.width - 4u * x);
    } else if sort == 4u {
        let samples = vec4(wide(a, 0u), wide(a, 1u), wide(b, 0u), wide(b, 1u));
        vote_four((samples >> vec4(bin)) & vec4(CODES - 1u), stream.planes[0].samples - 4u * x);
    } else {
        if alpha > 3u || wide_of(a, b, alpha & 3u) != 0u {
            vote(weigh(wide_of(a, b, red), wide_of(a, b, green), wide_of(a, b, blue)) >> bin, 1u);
        }
    }
    return vec2(sum, votes);
}

// Sums and counts of four units side by side.
struct Seen {
    sums: vec4<u32>,
    counts: vec4<u32>,
}

// Brings the four units from `4 * x` on in and counts them, those that are `inside` (1, else 0) in the histogram too.
fn measure(x: u32, y: u32, units: u32, inside: vec4<u32>) -> Seen {
    let unit = 4u * x;
    var p: vec2<u32>;
    var q: vec2<u32>;
    var r: vec2<u32>;
    var s: vec2<u32>;
    if sort == 3u {
        let a = bring(3u * x, y);
        let b = bring(3u * x + 1u, y);
        let c = bring(3u * x + 2u, y);
        alike = inside.x;
        p = measure_unit(unit, units, a.x, a.y, a.z);
        alike = inside.y;
        q = measure_unit(unit + 1u, units, a.w, b.x, b.y);
        alike = inside.z;
        r = measure_unit(unit + 2u, units, b.z, b.w, c.x);
        alike = inside.w;
        s = measure_unit(unit + 3u, units, c.y, c.z, c.w);
    } else if sort >= 4u {
        let a = bring(2u * x, y);
        let b = bring(2u * x + 1u, y);
        if unit + 4u < units && all(a == a.xyxy) && all(b == a.xyxy) {
            alike = inside.x + inside.y + inside.z + inside.w;
            p = measure_unit(unit, units, a.x, a.y, 0u);
            return Seen(vec4(p.x), vec4(p.y));
        }
        alike = inside.x;
        p = measure_unit(unit, units, a.x, a.y, 0u);
        alike = inside.y;
        q = measure_unit(unit + 1u, units, a.z, a.w, 0u);
        alike = inside.z;
        r = measure_unit(unit + 2u, units, b.x, b.y, 0u);
        alike = inside.w;
        s = measure_unit(unit + 3u, units, b.z, b.w, 0u);
    } else {
        let quad = bring(x, y);
        // A run of equal units counts at once, unless the last one may be cut off by the end of the row.
        if unit + 4u < units && all(quad == quad.xxxx) {
            alike = inside.x + inside.y + inside.z + inside.w;
            p = measure_unit(unit, units, quad.x, 0u, 0u);
            return Seen(vec4(p.x), vec4(p.y));
        }
        alike = inside.x;
        p = measure_unit(unit, units, quad.x, 0u, 0u);
        alike = inside.y;
        q = measure_unit(unit + 1u, units, quad.y, 0u, 0u);
        alike = inside.z;
        r = measure_unit(unit + 2u, units, quad.z, 0u, 0u);
        alike = inside.w;
        s = measure_unit(unit + 3u, units, quad.w, 0u, 0u);
    }
    return Seen(vec4(p.x, q.x, r.x, s.x), vec4(p.y, q.y, r.y, s.y));
}

// The column of chunks in which a unit lies.
fn column_of(unit: u32, units: u32) -> u32 {
    var column = unit * stream.across / units;
    while column + 1u < stream.across && unit >= edge(column + 1u) {
        column++;
    }
    return column;
}

fn add_up(column: u32, sum: u32, count: u32) {
    if count > 0u {
        atomicAdd(&sums[column], sum);
        atomicAdd(&counts[column], count);
    }
}

@compute @workgroup_size(threads)
fn histogram(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    for (var i = index; i < COPIES * TABLE; i += threads) {
        atomicStore(&tables[i], 0u);
    }
    if index < COLUMNS {
        atomicStore(&sums[index], 0u);
        atomicStore(&counts[index], 0u);
    }
    workgroupBarrier();

    let units = edge(stream.across);
    let bottom = edge(34u + group.y);
    let rows = threads / across;
    let top = edge(33u + group.y) + group.x * rows + index / across;
    table = (index % COPIES) * TABLE;
    for (var x = index % across; 4u * x < units; x += across) {
        let unit = 4u * x + vec4(0u, 1u, 2u, 3u);
        let columns = vec4<u32>(unit >= stream.window.xxxx) * vec4<u32>(unit < stream.window.yyyy);
        var seen = Seen(vec4(0u), vec4(0u));
        for (var y = top; y < bottom; y += stream.bands * rows) {
            let row = u32(y >= stream.window.z && y < stream.window.w);
            let more = measure(x, y, units, row * columns);
            seen.sums += more.sums;
            seen.counts += more.counts;
        }
        let column = column_of(4u * x, units);
        if column == column_of(min(4u * x + 3u, units - 1u), units) {
            let sums = seen.sums.x + seen.sums.y + seen.sums.z + seen.sums.w;
            add_up(column, sums, seen.counts.x + seen.counts.y + seen.counts.z + seen.counts.w);
        } else {
            add_up(column, seen.sums.x, seen.counts.x);
            add_up(column_of(4u * x + 1u, units), seen.sums.y, seen.counts.y);
            add_up(column_of(4u * x + 2u, units), seen.sums.z, seen.counts.z);
            add_up(column_of(4u * x + 3u, units), seen.sums.w, seen.counts.w);
        }
    }
    workgroupBarrier();

    let slot = (group.y * stream.bands + group.x) * SLOT;
    for (var code = index; code < CODES; code += threads) {
        var total = 0u;
        for (var copy = 0u; copy < COPIES; copy++) {
            total += atomicLoad(&tables[copy * TABLE + code]);
        }
        slots[slot + code] = total;
    }
    if index < COLUMNS {
        slots[slot + SUMS + index] = atomicLoad(&sums[index]);
        slots[slot + COUNTS + index] = atomicLoad(&counts[index]);
    }
}
