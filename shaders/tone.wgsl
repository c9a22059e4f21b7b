// Applies a curve of luma whose colours gain as much as each level of it says, and blends patches in. As in
// src/cpu/tone.rs. What is special of samples of 8 bits is in overlay_bytes.wgsl and tone_bytes.wgsl, and of 16 bits in
// overlay_words.wgsl and tone_words.wgsl.

@group(0) @binding(0) var<uniform> stream: Stream;
// The curves, their entries as wide as samples, of which the first is luma's; and the gains.
@group(0) @binding(4) var<storage, read> curves: array<u32>;

// Whether the lanes are R, G and B.
override rgb: u32 = 0u;
// The codes of black and white.
override black: i32 = 0;
override white: i32 = 255;
// Parts of a code in which all this is done, as their binary logarithm: a mean of luma lies between codes.
override fine: u32 = 2u;

const LUMA = 0u;
const COPIED = 3u;

// What is between two values, at a level that lies between their codes.
fn between(level: u32, here: i32, next: i32) -> i32 {
    return i32(level & ((1u << fine) - 1u)) * (next - here);
}

fn next_code(code: u32) -> u32 {
    return min(code + 1u, u32(most));
}

// Where luma of a level goes, both as fine.
fn toned(level: u32) -> i32 {
    let code = level >> fine;
    let here = i32(look_up(0u, code));
    return (here << fine) + between(level, here, i32(look_up(0u, next_code(code))));
}

fn gain_at(code: u32) -> i32 {
    let entry = entry_of(code);
    return i32((curves[GAINS + entry / 2u] >> (16u * (entry % 2u))) & 0xffffu);
}

// The gain of colours that come with luma of a level, in 1/256.
fn gain_of(level: u32) -> u32 {
    let code = level >> fine;
    let here = gain_at(code);
    return u32(here + (between(level, here, gain_at(next_code(code))) >> fine));
}

// What a channel has more than luma, or a sample of chroma more than neutral, with a gain.
fn gained(more: i32, gain: u32) -> i32 {
    return more * i32(gain >> 8u) + ((more * i32(gain & 255u) + 128) >> 8u);
}

// A gain, or as much of it as there is room for so far from luma.
fn within(gain: u32, far: i32, room: i32) -> u32 {
    let most = u32(max(room, 0)) << 8u;
    if u32(far) * gain > most {
        return most / u32(far);
    }
    return gain;
}

// The gain of a colour whose R, G and B have so much more than luma. Those that were within black and white stay so; if
// some were beyond, none gets further than the furthest of them was.
fn fitted(level: u32, more: vec3<i32>) -> u32 {
    let above = max(max(more.x, max(more.y, more.z)), 0);
    let below = -min(min(more.x, min(more.y, more.z)), 0);
    let gain = within(gain_of(level), above, max(i32(level) + above, white << fine) - toned(level));
    return within(gain, below, toned(level) - min(i32(level) - below, black << fine));
}

// What becomes of the sample `x` of a row, of R, G or B.
fn toned_channel(code: u32, x: u32, y: u32) -> u32 {
    let pixel = vec2(x / step0, y);
    let channels = vec3(luma_at(pixel.x, y), chroma_at(pixel));
    let level = (dot(stream.weights.xyz, channels) + (32768u >> fine)) >> (16u - fine);
    let gain = fitted(level, (vec3<i32>(channels) << vec3(fine)) - vec3(i32(level)));
    let more = (i32(code) << fine) - i32(level);
    let sum = toned_at(level, x, y) + gained(more, gain) + ((1i << fine) >> 1u);
    return u32(clamp(sum >> fine, 0, most));
}

// What becomes of the sample `x` of a row, in Cb's or Cr's lane.
fn toned_chroma(code: u32, x: u32, y: u32) -> u32 {
    let site = vec2(x / step1, y);
    let sums = sums_of(chroma_at(site));
    let gain = fitted(fine_mean_at(site), (sums + vec3(32768 >> fine)) >> vec3(16u - fine));
    return u32(clamp(neutral + gained(i32(code) - neutral, gain), 0, most));
}

// The output of the texel `x` of row `y`, given as four codes.
fn overlay_texel(plane: u32, x: u32, y: u32, codes: vec4<u32>) -> vec4<u32> {
    var texel = codes;
    if !is_kept(plane, x) {
        let unit = stream.lanes[plane];
        let lanes = unpack(unit[x % unit.w]);
        for (var i = 0u; i < 4u; i++) {
            if lanes[i] == COPIED {
                continue;
            } else if rgb != 0u {
                texel[i] = toned_channel(texel[i], 4u * x + i, y);
            } else if lanes[i] == LUMA {
                texel[i] = look_up_at(LUMA, texel[i], 4u * x + i, y);
            } else {
                texel[i] = toned_chroma(texel[i], 4u * x + i, y);
            }
        }
    }
    return drawn(plane, x, y, texel);
}

@compute @workgroup_size(8, 4)
fn tone(@builtin(global_invocation_id) id: vec3<u32>) {
    let plane = id.z;
    if id.x >= quads(plane) || id.y >= stream.planes[plane].rows {
        return;
    }
    let quad = texel_at(plane, id.xy);
    write_quad(plane, id.x, id.y, overlay_quad(plane, id.x, id.y, quad));
}
