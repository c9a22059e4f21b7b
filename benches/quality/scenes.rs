//! Clips drawn in code: made up, but with what makes real footage hard. Colours are R′G′B′ from 0 to 1.

use std::f32::consts::TAU;

use crate::clip::{Clip, HEIGHT, PIXELS, RATE, WIDTH};
use crate::random::{Random, texture, value_noise};

type Colour = [f32; 3];
/// What there is to see at (x, y), `t` seconds into the clip. x goes from 0 to 16/9 and y from 0, the top, to 1.
type Scene = fn(x: f32, y: f32, t: f32) -> Colour;

const WIDE: f32 = WIDTH as f32 / HEIGHT as f32;
/// Standard deviation of the camera's noise.
const GRAIN: f32 = 0.003;

/// Every scene, by name.
pub const SCENES: [(&str, Scene); 6] =
    [("land", land), ("talk", talk), ("street", street), ("ride", ride), ("cuts", cuts), ("colours", colours)];

/// Draws `count` frames of the scene of that name, if there is one.
pub fn draw(name: &str, count: usize) -> Option<Clip> {
    let (_, scene) = SCENES.iter().find(|(known, _)| *known == name)?;
    let mut random = Random(1);
    let frames = (0..count).flat_map(|number| frame(*scene, number as f32 / RATE as f32, &mut random)).collect();
    Some(Clip { name: name.to_owned(), frames })
}

fn frame(scene: Scene, t: f32, random: &mut Random) -> Vec<u8> {
    let mut luma = Vec::with_capacity(PIXELS * 3 / 2);
    let mut chroma = vec![[0f32; 2]; PIXELS / 4];
    for at in 0..PIXELS {
        let (column, row) = (at % WIDTH, at / WIDTH);
        let grain = GRAIN * random.normal();
        let at = |share: f32| {
            // Two samples a pixel, on a diagonal, soften the edges.
            let (x, y) = (column as f32 + share, row as f32 + 1.0 - share);
            scene(x / HEIGHT as f32, y / HEIGHT as f32, t)
        };
        let [r, g, b] = mix(at(0.25), at(0.75), 0.5).map(|value| (value + grain).clamp(0.0, 1.0));
        let y = 0.2126 * r + 0.7152 * g + 0.0722 * b;
        luma.push((16.0 + 219.0 * y).round() as u8);
        let quarter = &mut chroma[row / 2 * (WIDTH / 2) + column / 2];
        quarter[0] += (b - y) / 1.8556 / 4.0;
        quarter[1] += (r - y) / 1.5748 / 4.0;
    }
    for plane in 0..2 {
        luma.extend(chroma.iter().map(|sample| (128.0 + 224.0 * sample[plane]).round() as u8));
    }
    luma
}

/// A camera turns slowly over hills and meadows under a cloudy sky.
fn land(x: f32, y: f32, t: f32) -> Colour {
    let pan = 0.12 * t;
    let clouds = smooth(0.45, 0.75, texture((x + pan) * 1.6, y * 4.0));
    let mut colour = mix(mix([0.22, 0.42, 0.78], [0.75, 0.82, 0.9], y * 1.8), [1.0; 3], clouds);
    // Ridges, the near ones darker and richer in detail.
    for (base, depth, height) in [([0.45, 0.53, 0.64], 0.42, 0.16), ([0.24, 0.36, 0.3], 0.53, 0.12)] {
        let along = x + pan;
        let top = depth - height * (texture(along * 2.3 + depth * 50.0, depth) - 0.4);
        if y > top {
            colour = scale(base, 0.7 + 0.6 * texture(along * 14.0, y * 20.0));
        }
    }
    let ground = x + pan;
    if y > 0.6 + 0.03 * (ground * 3.0).sin() {
        let grass = texture(ground * 30.0, y * 60.0);
        colour = mix([0.09, 0.15, 0.06], [0.52, 0.58, 0.27], grass * smooth(0.4, 1.1, y));
        let path = (ground - 1.2 - 0.4 * y).abs();
        if path < 0.12 * y {
            colour = scale([0.72, 0.64, 0.5], 0.7 + 0.5 * grass);
        }
    }
    // A white cottage with dark windows, and trees.
    let (u, v) = (ground - 0.85, y - 0.56);
    if (0.0..0.2).contains(&u) && (0.0..0.12).contains(&v) {
        let window = (u * 15.0).fract() > 0.5 && (0.03..0.085).contains(&v);
        colour = if window { [0.0; 3] } else { scale([0.95, 0.93, 0.87], 0.9 + 0.1 * texture(u * 60.0, v * 60.0)) };
    } else if v < 0.0 && v > (u - 0.1).abs() - 0.12 && (-0.02..0.22).contains(&u) {
        colour = scale([0.5, 0.2, 0.14], 0.8 + 0.4 * texture(u * 80.0, v * 80.0));
    }
    for tree in 0..5 {
        let (u, v) = (ground - 0.5 * tree as f32 - 0.35, y - 0.58);
        let crown = (u / 0.08).powi(2) + (v / 0.13).powi(2) + 0.9 * (texture(u * 40.0, v * 40.0) - 0.5);
        if crown < 1.0 {
            colour = scale([0.12, 0.2, 0.09], 0.3 + 1.4 * texture(u * 50.0 + 9.0, v * 50.0) * (1.0 - v * 3.0));
        }
    }
    colour
}

/// Somebody talks before a plain wall with a shelf.
fn talk(x: f32, y: f32, t: f32) -> Colour {
    let (u, v) = (x - WIDE / 2.0, y - 0.42);
    let mut colour = scale([0.72, 0.68, 0.62], 1.0 - 0.35 * (u * u + v * v) - 0.1 * x);
    if (0.0..0.5).contains(&(x - 1.2)) && (0.1..0.62).contains(&y) {
        let (shelf, book) = ((y - 0.1) / 0.173, (x - 1.2) * 32.0);
        let height = 0.25 + 0.4 * value_noise(book.floor() * 7.3, shelf.floor() * 3.1);
        let tint = value_noise(book.floor() * 3.7, shelf.floor() * 9.1);
        colour = if shelf.fract() > 0.9 {
            [0.3, 0.2, 0.12]
        } else if shelf.fract() > 1.0 - height - 0.1 && book.fract() > 0.12 {
            scale(
                mix([0.6, 0.15, 0.1], [0.15, 0.3, 0.5], tint),
                0.4 + 0.9 * value_noise(book.floor() * 1.9, shelf.floor()),
            )
        } else {
            [0.0; 3]
        };
    }
    if (0.12..0.42).contains(&x) && (0.12..0.5).contains(&y) {
        let inside = (0.15..0.39).contains(&x) && (0.15..0.47).contains(&y);
        let painting = mix([0.2, 0.45, 0.6], [0.9, 0.75, 0.4], texture(x * 9.0, y * 9.0));
        colour = if inside { painting } else { [0.97, 0.96, 0.94] };
    }
    let sway = 0.05 * (TAU * t / 2.3).sin() + 0.02 * (TAU * t / 0.9).sin();
    let nod = 0.012 * (TAU * t / 1.1).sin();
    // Shoulders in a dark jacket, a white collar.
    let (su, sv) = (u - sway * 0.4, y - 0.68);
    if sv > 0.9 * su * su {
        colour = scale([0.05, 0.06, 0.1], 0.5 + 1.2 * texture(su * 30.0, sv * 12.0));
        if su.abs() < 0.09 - 0.28 * sv.max(0.0) {
            colour = [1.0; 3];
        }
    }
    let (u, v) = (u - sway, v - nod);
    if u.abs() < 0.075 && (0.12..0.3).contains(&v) {
        colour = scale([0.72, 0.5, 0.4], 0.75 - u * 2.0);
    }
    let face = (u / 0.15).powi(2) + (v / 0.21).powi(2);
    let hair = (u / 0.175).powi(2) + ((v + 0.05) / 0.22).powi(2);
    if hair < 1.0 && v < 0.05 {
        colour = scale([0.14, 0.09, 0.06], 0.4 + 1.2 * texture(u * 60.0, v * 12.0));
    }
    if face < 1.0 && v > -0.11 - 0.05 * (u * 9.0).cos() {
        colour = scale([0.86, 0.63, 0.52], 0.95 - 1.3 * u - 0.25 * face + 0.08 * texture(u * 25.0, v * 25.0));
        let blink = if (t / 1.7).fract() < 0.07 { 0.2 } else { 1.0 };
        let eye = ((u.abs() - 0.06) / 0.028).powi(2) + ((v + 0.02) / (0.014 * blink)).powi(2);
        if eye < 1.0 {
            colour = if (u.abs() - 0.06).abs() < 0.012 { [0.05, 0.04, 0.04] } else { [0.93, 0.92, 0.9] };
        }
        let open = 0.008 + 0.022 * (TAU * t * 2.7).sin().abs() * value_noise(t * 3.0, 0.0);
        if (u / 0.05).powi(2) + ((v - 0.12) / open).powi(2) < 1.0 {
            colour = [0.3, 0.08, 0.08];
        }
    }
    colour
}

/// A crossing seen from above. A dark lorry that fills a third of the picture comes by and leaves.
fn street(x: f32, y: f32, t: f32) -> Colour {
    let rough = texture(x * 40.0, y * 40.0);
    let mut colour = scale([0.34, 0.34, 0.36], 0.75 + 0.5 * rough);
    if y < 0.32 {
        // Houses in the shade, lit windows, awnings.
        colour = scale([0.42, 0.32, 0.26], 0.5 + 0.5 * texture(x * 60.0, y * 20.0));
        let (u, v) = ((x * 5.0).fract(), (y * 8.0).fract());
        if (0.2..0.7).contains(&u) && (0.25..0.8).contains(&v) {
            let lit = value_noise((x * 5.0).floor() * 5.1, (y * 8.0).floor() * 3.3);
            colour = mix([0.0; 3], [0.8, 0.72, 0.5], smooth(0.55, 0.8, lit));
        }
    } else if y < 0.4 {
        colour = scale([0.62, 0.6, 0.56], 0.8 + 0.3 * rough);
    } else if (0.55..1.15).contains(&x) && (x * 9.0).fract() < 0.5 {
        colour = scale([1.0; 3], 0.85 + 0.2 * rough);
    }
    // People walk along the pavement.
    for person in 0..5 {
        let speed = 0.1 + 0.05 * person as f32;
        let at = (0.37 * person as f32 + speed * t).rem_euclid(WIDE);
        let (u, v) = (x - at, y - 0.33 - 0.01 * person as f32);
        if (u / 0.018).powi(2) + (v / 0.05).powi(2) < 1.0 {
            let tint = value_noise(person as f32 * 4.7, 2.0);
            colour = if v < -0.03 { [0.75, 0.55, 0.45] } else { mix([0.08, 0.08, 0.12], [0.75, 0.2, 0.15], tint) };
        }
    }
    let (u, v) = (x + 1.25 - 1.05 * (t - 0.4), y - 0.3);
    if (0.0..1.05).contains(&u) && (0.0..0.6).contains(&v) {
        let cab = u > 0.82;
        colour = scale(
            if cab { [0.4, 0.1, 0.08] } else { [0.2, 0.24, 0.33] },
            0.8 + 0.2 * texture(u * 20.0, v * 4.0) + 0.2 * (0.3 - v),
        );
        if cab && (0.88..1.03).contains(&u) && (0.08..0.25).contains(&v) {
            colour = [0.12, 0.15, 0.18];
        }
        if v > 0.5 {
            let wheel = [0.12, 0.27, 0.72, 0.93].iter().any(|at| (u - at).powi(2) + (v - 0.53).powi(2) < 0.0045);
            colour = if wheel { [0.04, 0.04, 0.04] } else { [0.12, 0.12, 0.12] };
        }
    }
    colour
}

/// Down a street between houses, fast, with a camera that shakes: nothing stays where it was.
fn ride(x: f32, y: f32, t: f32) -> Colour {
    let shake = |row: f32| 0.05 * (value_noise(t * 5.0, row) - 0.5);
    let (u, v) = (x - WIDE / 2.0 - shake(1.0) - 0.1 * (t * 0.9).sin(), y - 0.42 - shake(5.0));
    let distance = 0.45 / u.abs().max(1e-3);
    let along = distance + 4.0 * t;
    // Houses stand on both sides, each of its own height and paint.
    let house = (along * 0.5).floor() + if u < 0.0 { 100.0 } else { 0.0 };
    let roof = -0.5 - 0.9 * value_noise(house * 3.7, 1.0);
    let height = v * distance;
    if v > 0.0 && 0.2 / v < distance {
        let along = 0.2 / v + 4.0 * t;
        let across = u / v * 0.2;
        let stripe = across.abs() < 0.015 && along.fract() < 0.5;
        let stone = texture(across * 40.0, along * 14.0);
        return if stripe { [1.0; 3] } else { scale([0.3, 0.3, 0.32], 0.6 + 0.7 * stone) };
    }
    if height < roof || distance > 12.0 {
        return mix([0.5, 0.66, 0.9], [1.0; 3], smooth(0.3, 0.7, texture(x + 0.2 * t, y * 3.0)));
    }
    let paint = value_noise(house * 5.3, 7.0);
    let wall =
        scale(mix([0.25, 0.14, 0.1], [0.98, 0.94, 0.85], paint), 0.75 + 0.3 * texture(along * 9.0, height * 9.0));
    let window = (along * 2.5).fract() > 0.55 && (height * 4.0).rem_euclid(1.0) > 0.5;
    mix(if window { [0.0; 3] } else { wall }, [0.62, 0.68, 0.76], distance / 14.0)
}

/// A room with a lamp, the hills, the room again.
fn cuts(x: f32, y: f32, t: f32) -> Colour {
    if (1.6..2.8).contains(&t) {
        return land(x, y, t - 1.6);
    }
    let (u, v) = (x - 1.3, y - 0.3);
    let glow = 1.0 / (1.0 + 9.0 * (u * u + v * v));
    let mut colour = scale([0.62, 0.47, 0.33], 0.1 + 1.05 * glow + 0.04 * texture(x * 30.0, y * 30.0));
    if y > 0.7 {
        colour = scale([0.4, 0.24, 0.13], (0.15 + 1.1 * glow) * (0.6 + 0.8 * texture(x * 6.0, y * 70.0)));
    }
    if v > -0.1 && v < 0.08 && u.abs() < 0.1 + 0.35 * (v + 0.1) {
        colour = [1.0, 1.0, 0.96];
    } else if u.abs() < 0.015 && (0.08..0.42).contains(&v) {
        colour = [0.3, 0.22, 0.12];
    }
    let (u, v) = (x - 0.5 - 0.03 * (TAU * t / 3.0).sin(), y - 0.55);
    if (u / 0.2).powi(2) + (v / 0.24).powi(2) < 1.0 {
        colour = scale([0.12, 0.2, 0.24], 2.0 * u.max(-0.15) + 0.4 * texture(u * 12.0, v * 12.0));
    }
    colour
}

/// Balls and a rainbow as colourful as RGB allows, before dark cloth.
fn colours(x: f32, y: f32, t: f32) -> Colour {
    let mut colour = scale([0.16, 0.15, 0.17], 0.3 + 1.2 * texture(x * 18.0, y * 18.0));
    if y < 0.16 {
        colour = hue(x / WIDE + 0.02 * t);
    } else if y > 0.9 {
        colour = [1.1 * x / WIDE - 0.05; 3];
    }
    for ball in 0..7 {
        let phase = ball as f32;
        let (cx, cy) =
            (0.25 + 0.21 * phase + 0.05 * (t * 1.3 + phase).sin(), 0.52 + 0.16 * (t * 1.1 + 2.0 * phase).cos());
        let (u, v) = ((x - cx) / 0.13, (y - cy) / 0.13);
        let square = u * u + v * v;
        if square < 1.0 {
            let light = (0.55 * (1.0 - square).sqrt() - 0.45 * u - 0.6 * v).clamp(0.05, 1.0);
            let shine = (-((u + 0.35).powi(2) + (v + 0.45).powi(2)) * 30.0).exp();
            colour = mix(scale(hue(phase / 7.0), 0.15 + 0.85 * light), [1.0; 3], shine);
        }
    }
    colour
}

/// The pure colour at that share of the way round the circle.
fn hue(share: f32) -> Colour {
    [0.0, 2.0, 4.0].map(|shift: f32| (2.0 - ((share * 6.0 - shift + 3.0).rem_euclid(6.0) - 3.0).abs()).clamp(0.0, 1.0))
}

fn mix(a: Colour, b: Colour, share: f32) -> Colour {
    let share = share.clamp(0.0, 1.0);
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * share)
}

fn scale(colour: Colour, factor: f32) -> Colour {
    colour.map(|value| value * factor)
}

/// Rises from 0 to 1 between `from` and `to`.
fn smooth(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
