// Measures: brings the measured plane in, counts its luma codes, and sums the luma of each chunk.
//
// A workgroup takes a run of chunks that lie side by side. It counts in its own tables in workgroup memory and
// stores their sum in its own slot, so that nobody waits for anybody.

@group(0) @binding(0) var<uniform> stream: Stream;
@group(0) @binding(1) var texels: texture_storage_2d<rgba8uint, write>;
// 256 counts for each workgroup.
@group(0) @binding(2) var<storage, read_write> slots: array<u32>;
// 256 counts (the reduction's), then the chunks' sums, then their counts.
@group(0) @binding(3) var<storage, read_write> statistics: array<u32>;
@group(1) @binding(0) var<uniform> memory: Memory;
@group(1) @binding(1) var<storage, read> words: array<u32>;

// How luma lies in a unit: four samples (0), two samples two apart (1), R, G and B of one pixel (2),
// R, G and B of four pixels in three texels (3).
override sort: u32 = 0u;
// Which sample of the unit is the first luma (sort 1), or red, green, blue and alpha (4: none).
override luma: u32 = 0u;
override red: u32 = 0u;
override green: u32 = 1u;
override blue: u32 = 2u;
override alpha: u32 = 4u;

const CODES = 256u;
// Neighbouring invocations count in different tables; the odd length keeps equal codes in different banks.
const COPIES = 4u;
const TABLE = 257u;
const LONGEST_RUN = 8u;

var<workgroup> tables: array<atomic<u32>, COPIES * TABLE>;
var<workgroup> sums: array<atomic<u32>, LONGEST_RUN>;
var<workgroup> counts: array<atomic<u32>, LONGEST_RUN>;

// Of this invocation: the start of its table, and what it saw of the chunk at hand.
var<private> table: u32;
var<private> sum: u32;
var<private> votes: u32;

fn edge(index: u32) -> u32 {
    return stream.edges[index / 4u][index % 4u];
}

fn sample(word: u32, index: u32) -> u32 {
    return (word >> (8u * index)) & 255u;
}

fn vote(code: u32, pixels: u32) {
    atomicAdd(&tables[table + code], pixels);
    sum += code * pixels;
    votes += pixels;
}

// The luma code of R, G and B.
fn weigh(r: u32, g: u32, b: u32) -> u32 {
    return (stream.weights.x * r + stream.weights.y * g + stream.weights.z * b + 32768u) >> 16u;
}

// Reads one word of the plane and stores it as a texel.
fn bring(x: u32, y: u32) -> u32 {
    var word = 0u;
    if x < stream.planes[0].words {
        let place = memory.places[0];
        word = words[place.x + y * place.y + x];
        textureStore(texels, vec2(x, y), vec4(word, word >> 8u, word >> 16u, word >> 24u) & vec4(255u));
    }
    return word;
}

fn measure_unit(x: u32, y: u32) {
    if sort == 0u {
        let word = bring(x, y);
        let left = stream.planes[0].samples - 4u * x;
        if left >= 4u && word == (word & 255u) * 0x01010101u {
            vote(word & 255u, 4u);
        } else {
            vote(sample(word, 0u), 1u);
            if left > 1u { vote(sample(word, 1u), 1u); }
            if left > 2u { vote(sample(word, 2u), 1u); }
            if left > 3u { vote(sample(word, 3u), 1u); }
        }
    } else if sort == 1u {
        let word = bring(x, y);
        let first = sample(word, luma);
        let second = sample(word, luma + 2u);
        let both = 2u * x + 1u < stream.width;
        if both && first == second {
            vote(first, 2u);
        } else {
            vote(first, 1u);
            if both { vote(second, 1u); }
        }
    } else if sort == 2u {
        let word = bring(x, y);
        if alpha > 3u || sample(word, alpha & 3u) != 0u {
            vote(weigh(sample(word, red), sample(word, green), sample(word, blue)), 1u);
        }
    } else {
        // The middle sample of a pixel is green; red and blue are on its sides.
        let a = bring(3u * x, y);
        let b = bring(3u * x + 1u, y);
        let c = bring(3u * x + 2u, y);
        let pixels = vec4(a & 0xffffffu, (a >> 24u) | ((b & 0xffffu) << 8u), (b >> 16u) | ((c & 255u) << 16u), c >> 8u);
        let left = stream.width - 4u * x;
        let codes = vec4(weigh_packed(pixels.x), weigh_packed(pixels.y), weigh_packed(pixels.z), weigh_packed(pixels.w));
        if left >= 4u && all(codes == codes.xxxx) {
            vote(codes.x, 4u);
        } else {
            vote(codes.x, 1u);
            if left > 1u { vote(codes.y, 1u); }
            if left > 2u { vote(codes.z, 1u); }
            if left > 3u { vote(codes.w, 1u); }
        }
    }
}

fn weigh_packed(pixel: u32) -> u32 {
    return weigh(sample(pixel, red), sample(pixel, green), sample(pixel, blue));
}

@compute @workgroup_size(ACROSS, thread_rows)
fn histogram(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let threads = ACROSS * thread_rows;
    for (var i = index; i < COPIES * TABLE; i += threads) {
        atomicStore(&tables[i], 0u);
    }
    if index < LONGEST_RUN {
        atomicStore(&sums[index], 0u);
        atomicStore(&counts[index], 0u);
    }
    workgroupBarrier();

    let first = group.x * stream.run;
    let last = min(first + stream.run, stream.across);
    let end = edge(last);
    let top = edge(33u + group.y);
    let bottom = edge(34u + group.y);
    table = (index % COPIES) * TABLE;
    for (var x = edge(first) + local.x; x < end; x += ACROSS) {
        var column = first;
        while column + 1u < last && x >= edge(column + 1u) {
            column++;
        }
        sum = 0u;
        votes = 0u;
        for (var y = top + local.y; y < bottom; y += thread_rows) {
            measure_unit(x, y);
        }
        if votes > 0u {
            atomicAdd(&sums[column - first], sum);
            atomicAdd(&counts[column - first], votes);
        }
    }
    workgroupBarrier();

    let runs = (stream.across + stream.run - 1u) / stream.run;
    let slot = (group.y * runs + group.x) * CODES;
    for (var code = index; code < CODES; code += threads) {
        var total = 0u;
        for (var copy = 0u; copy < COPIES; copy++) {
            total += atomicLoad(&tables[copy * TABLE + code]);
        }
        slots[slot + code] = total;
    }
    if index < last - first {
        let chunk = group.y * stream.across + first + index;
        statistics[CODES + chunk] = atomicLoad(&sums[index]);
        statistics[CODES + stream.chunks + chunk] = atomicLoad(&counts[index]);
    }
}
