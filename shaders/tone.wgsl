// Applies a curve of luma that bends, whose colours gain as much as each level of it says, and blends patches in. As in
// src/cpu/tone.rs and src/colour.rs. What is special of samples of 8 bits is in overlay_bytes.wgsl and tone_bytes.wgsl, and
// of 16 bits in overlay_words.wgsl and tone_words.wgsl.

@group(0) @binding(0) var<uniform> stream: Stream;
// The curves, their entries as wide as samples: luma's, that of the straight line within it, and, from CHANNELS on, those of
// R, G and B that come before, perhaps. Behind them the gains, that of the line, and whether there are curves before.
@group(0) @binding(2) var<storage, read> curves: array<u32>;

// Whether the lanes are R, G and B.
override rgb: u32 = 0u;
// The codes of black and white.
override black: i32 = 0;
override white: i32 = 255;
// Parts of a code in which R, G and B are worked on, as their binary logarithm.
override fine: u32 = 0u;

const LUMA = 0u;
const PLAIN = 1u;
const CHANNELS = 3u;
// The most that colours gain, in 1/256.
const MOST_GAIN = 8192;
// Parts of a whole that a share is given in, as their binary logarithm.
const PARTS = 10u;

// What is between two values, at a level that lies between their codes.
fn between(level: u32, here: i32, next: i32) -> i32 {
    return i32(level & ((1u << fine) - 1u)) * (next - here);
}

fn next_code(code: u32) -> u32 {
    return min(code + 1u, u32(most));
}

// Where a curve takes luma of a level, both as fine.
fn curve_at(curve: u32, level: u32) -> i32 {
    let code = level >> fine;
    let here = i32(look_up(curve, code));
    return (here << fine) + between(level, here, i32(look_up(curve, next_code(code))));
}

// The gain of an entry, in 1/256.
fn stored_gain(entry: u32) -> i32 {
    return min(i32((curves[GAINS + entry / 2u] >> (16u * (entry % 2u))) & 0xffffu), MOST_GAIN);
}

// The gain of colours that come with luma of a level.
fn gain_at(level: u32) -> i32 {
    let code = level >> fine;
    let here = stored_gain(entry_of(code));
    return ((here << fine) + between(level, here, stored_gain(entry_of(next_code(code))))) >> fine;
}

// What a channel has more than luma, or a sample of chroma more than neutral, with a gain.
fn gained(more: i32, gain: i32) -> i32 {
    return (more * gain + 128) >> 8u;
}

// What lies a share of the way from one number to another.
fn back(from_here: i32, to: i32, share: u32) -> i32 {
    return from_here - (((from_here - to) * i32(share) + (1i << (PARTS - 1u))) >> PARTS);
}

// Where luma goes, what its colours gain, and luma without regard to them.
struct Toned {
    luma: i32,
    gain: i32,
    alone: i32,
}

// What becomes of a colour whose highest channel has so much more than luma. If that got beyond white, or further beyond
// it than by the straight line, it goes back towards what the line makes of it.
fn toned(level: u32, above: i32) -> Toned {
    let alone = curve_at(LUMA, level);
    let plain = curve_at(PLAIN, level);
    let gain = gain_at(level);
    let plain_gain = min(i32(curves[PLAIN_GAIN]), MOST_GAIN);
    let highest = alone + gained(above, gain);
    let highest_plain = plain + gained(above, plain_gain);
    let over = highest - max(highest_plain, white << fine);
    if over <= 0 {
        return Toned(alone, gain, alone);
    }
    let share = (u32(over) << PARTS) / u32(highest - highest_plain);
    return Toned(back(alone, plain, share), back(gain, plain_gain, share), alone);
}

fn highest_of(more: vec3<i32>) -> i32 {
    return max(max(more.x, max(more.y, more.z)), 0);
}

// Whether curves of R, G and B come before the tone.
fn has_channels() -> bool {
    return curves[PLAIN_GAIN + 1u] != 0u;
}

// R, G and B of a pixel, or luma and chroma, as they come to the tone.
fn pixel_at(pixel: vec2<u32>) -> vec3<u32> {
    let channels = vec3(luma_at(pixel.x, pixel.y), chroma_at(pixel));
    if has_channels() {
        return vec3(
            look_up(CHANNELS, channels.x),
            look_up(CHANNELS + 1u, channels.y),
            look_up(CHANNELS + 2u, channels.z),
        );
    }
    return channels;
}

fn luma_before(luma: u32, chroma: vec2<u32>) -> u32 {
    if has_channels() {
        return mixed_luma(CHANNELS, luma, chroma);
    }
    return luma;
}

fn chroma_before(site: vec2<u32>) -> vec2<u32> {
    let chroma = chroma_at(site);
    if has_channels() {
        return mixed_chroma(CHANNELS, mean_at(site), chroma);
    }
    return chroma;
}

// What becomes of the sample `x` of a row, of R, G or B (0, 1 or 2).
fn toned_channel(lane: u32, x: u32, y: u32) -> u32 {
    let channels = pixel_at(vec2(x / step0, y));
    let level = (dot(stream.weights.xyz, channels) + (32768u >> fine)) >> (16u - fine);
    let more = (vec3<i32>(channels) << vec3(fine)) - vec3(i32(level));
    let tone = toned(level, highest_of(more));
    let sum = dithered_at(tone, level, x, y) + gained(more[lane], tone.gain);
    // None gets beyond what luma may come out at, as none does in a stretch.
    let code = (sum + ((1i << fine) >> 1u)) >> fine;
    return u32(min(max(code, i32(look_up(LUMA, 0u))), i32(look_up(LUMA, u32(most)))));
}

// What becomes of the sample `x` of a row, of luma.
fn toned_luma(code: u32, x: u32, y: u32) -> u32 {
    let site = vec2((x / step0) >> shift_x, y >> shift_y);
    let level = luma_before(code, chroma_at(site));
    let tone = toned(level, highest_of(offsets_of(chroma_before(site))));
    return u32(clamp(dithered_at(tone, level, x, y), 0, most));
}

// The same of Cb or Cr (1 or 2).
fn toned_chroma(lane: u32, x: u32, y: u32) -> u32 {
    let site = vec2(x / step1, y);
    let chroma = chroma_before(site);
    let tone = toned(luma_before(mean_at(site), chroma_at(site)), highest_of(offsets_of(chroma)));
    // Within the codes of chroma; samples that were beyond may stay there.
    let came = i32(chroma[lane - 1u]);
    let code = neutral + gained(came - neutral, tone.gain);
    return u32(min(max(code, min(black, came)), max(min(2 * neutral - black, most), came)));
}

// What becomes of the sample `x` of a row.
fn changed(lane: u32, code: u32, x: u32, y: u32) -> u32 {
    if rgb != 0u {
        return toned_channel(lane, x, y);
    } else if lane == LUMA {
        return toned_luma(code, x, y);
    }
    return toned_chroma(lane, x, y);
}

@compute @workgroup_size(8, 4)
fn tone(@builtin(global_invocation_id) id: vec3<u32>) {
    overlay_at(id);
}
