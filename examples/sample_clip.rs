//! Makes a clip to try the filter on: a lake under hills, spoiled as cameras and weather do.
//!
//!     cargo run --release --example sample_clip -- OUT.mp4 [SECONDS] [LOOK]
//!
//! LOOK is one of those in [`LOOKS`], by default haze.
//!
//! appsrc (frames drawn below) ! videoconvert ! x264enc ! mp4mux ! filesink, with a soft chord as sound.

use std::env;

use anyhow::{Context, Result, bail};
use gst::prelude::*;

const WIDTH: usize = 640;
const HEIGHT: usize = 360;
const RATE: u64 = 25;

type Colour = [f32; 3];
/// What becomes of the colour at (u, v) on a clear day, `time` seconds into the clip.
type Look = fn(colour: Colour, u: f32, v: f32, time: f32) -> Colour;

/// Ways to spoil the picture, with the amplitude of the noise that comes on top.
const LOOKS: [(&str, Look, f32); 6] = [
    // Lifted and flat, by a camera whose exposure wanders.
    ("haze", |colour, _, _, time| scale(colour.map(|value| 0.24 + 0.36 * value), exposure(time)), 0.012),
    ("dim", |colour, _, _, _| scale(colour, 0.35), 0.01),
    // The sky fills the range; what is not as bright lies in the shade.
    ("backlit", |colour, _, _, _| scale(colour, 0.3 + 0.7 * smooth(0.4, 0.6, colour.iter().sum::<f32>() / 3.0)), 0.006),
    // Under a lamp: little blue, and a red veil.
    ("cast", |[r, g, b], _, _, _| [0.16 + 0.74 * r, 0.08 + 0.62 * g, 0.02 + 0.38 * b], 0.008),
    (
        "letterbox",
        |colour, _, v, _| if (v - 0.5).abs() < 0.38 { colour.map(|value| 0.25 + 0.4 * value) } else { [0.0; 3] },
        0.0,
    ),
    ("night", |colour, _, _, _| scale(colour, 0.11), 0.035),
];

fn main() -> Result<()> {
    let mut arguments = env::args().skip(1);
    let Some(out) = arguments.next() else { bail!("usage: sample_clip OUT.mp4 [SECONDS] [LOOK]") };
    let seconds: u64 = arguments.next().map_or(Ok(6), |text| text.parse()).context("SECONDS is a whole number")?;
    let look = arguments.next().unwrap_or_else(|| LOOKS[0].0.into());
    let names = LOOKS.map(|(name, ..)| name).join(", ");
    let Some((_, look, noise)) = LOOKS.into_iter().find(|(name, ..)| *name == look) else {
        bail!("there is no look '{look}'; there are {names}")
    };
    gst::init()?;

    let line = format!(
        "mp4mux name=mux ! filesink name=out \
         appsrc name=video format=time block=true ! videoconvert ! video/x-raw,format=I420,colorimetry=bt709 ! x264enc pass=quant quantizer=18 ! h264parse ! mux. \
         audiotestsrc wave=sine freq=220 volume=0.1 samplesperbuffer=1024 num-buffers={} ! audio/x-raw,rate=44100 ! audioconvert ! avenc_aac ! aacparse ! mux.",
        seconds * 44100 / 1024
    );
    let pipeline = gst::parse::launch(&line)?.downcast::<gst::Pipeline>().ok().context("the line is a pipeline")?;
    pipeline.by_name("out").context("the sink is in the line")?.set_property("location", &out);
    let source = pipeline.by_name("video").and_downcast::<gst_app::AppSrc>().context("the source is in the line")?;
    let rate = gst::Fraction::new(RATE as i32, 1);
    let info =
        gst_video::VideoInfo::builder(gst_video::VideoFormat::Rgb, WIDTH as u32, HEIGHT as u32).fps(rate).build()?;
    source.set_caps(Some(&info.to_caps()?));
    pipeline.set_state(gst::State::Playing)?;

    for number in 0..seconds * RATE {
        let mut buffer = gst::Buffer::from_mut_slice(frame(look, noise, number as f32 / RATE as f32));
        let times = buffer.get_mut().context("the buffer is new")?;
        times.set_pts(gst::ClockTime::from_seconds(number) / RATE);
        times.set_duration(gst::ClockTime::SECOND / RATE);
        if source.push_buffer(buffer).is_err() {
            break; // the reason is on the bus
        }
    }
    let _ = source.end_of_stream();
    let bus = pipeline.bus().context("a pipeline has a bus")?;
    let end = bus.timed_pop_filtered(gst::ClockTime::NONE, &[gst::MessageType::Eos, gst::MessageType::Error]);
    pipeline.set_state(gst::State::Null)?;
    if let Some(gst::MessageView::Error(error)) = end.as_ref().map(|message| message.view()) {
        bail!("{out}: {}", error.error());
    }
    Ok(())
}

/// One RGB frame, `time` seconds into the clip, spoiled.
fn frame(look: Look, noise: f32, time: f32) -> Vec<u8> {
    let mut grain = 0x9E37_79B9_u32 ^ (time * 1000.0) as u32;
    let mut bytes = Vec::with_capacity(WIDTH * HEIGHT * 3);
    for y in 0..HEIGHT {
        for x in 0..WIDTH {
            let (u, v) = (x as f32 / WIDTH as f32, y as f32 / HEIGHT as f32);
            for value in look(scene(u, v, time), u, v, time) {
                grain = grain.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let noisy = value + ((grain >> 16) as f32 / 65536.0 - 0.5) * noise;
                bytes.push((noisy * 255.0).clamp(0.0, 255.0) as u8);
            }
        }
    }
    bytes
}

/// The exposure of a camera that cannot decide.
fn exposure(time: f32) -> f32 {
    1.0 + 0.12 * (time * 2.1).sin() + 0.25 * smooth(2.0, 2.4, time) - 0.25 * smooth(4.0, 4.6, time)
}

/// What is there to see at (u, v), both 0 to 1, on a clear day.
fn scene(u: f32, v: f32, time: f32) -> Colour {
    const SHORE: f32 = 0.66;
    if v < SHORE {
        return land(u, v, time);
    }
    // The lake mirrors the land, darker and rippled; a boat crosses it.
    let depth = (v - SHORE) / (1.0 - SHORE);
    let ripple = 0.006 * (v * 400.0 / (0.3 + depth) + time * 5.0 + (u * 21.0).sin()).sin() * (0.3 + depth);
    let mirrored = land(u + ripple, SHORE - (v - SHORE) * 0.9 + ripple, time);
    let water = mix(scale(mirrored, 0.62), [0.02, 0.12, 0.16], 0.25 + 0.4 * depth);
    let (bx, by) = (u - 0.1 - time * 0.06, v - 0.8);
    if by.abs() < 0.012 && bx.abs() < 0.05 - by.max(0.0) * 2.0 {
        return [0.45, 0.08, 0.05];
    }
    if (-0.12..-0.012).contains(&by) && (0.0..0.004 + (by + 0.12) * 0.35).contains(&bx) {
        return [0.97, 0.96, 0.92];
    }
    water
}

/// Sky, sun and three ridges, nearer ones passing by faster.
fn land(u: f32, v: f32, time: f32) -> Colour {
    let (sun_x, sun_y) = (u - 0.72, (v - 0.2) * HEIGHT as f32 / WIDTH as f32);
    let sun = (-(sun_x * sun_x + sun_y * sun_y) * 500.0).exp();
    let sky = mix([0.25, 0.5, 0.86], [0.95, 0.83, 0.66], v / 0.6);
    let mut colour = mix(sky, [1.0, 0.98, 0.9], sun.min(1.0));
    let ridges = [
        ([0.42, 0.5, 0.66], 0.40, 0.10, 2.0, 0.010),
        ([0.2, 0.34, 0.36], 0.52, 0.07, 3.1, 0.022),
        ([0.05, 0.16, 0.07], 0.63, 0.045, 5.3, 0.045),
    ];
    for (ridge, level, height, rate, speed) in ridges {
        let w = u + time * speed;
        let top = level
            - height
                * ((w * rate * 2.9).sin() * 0.6 + (w * rate * 7.3 + 1.0).sin() * 0.3 + (w * rate * 23.0).sin() * 0.1);
        let trees = 0.006 * (w * 260.0 * rate.sqrt()).sin().abs();
        if v > top - trees {
            let light = 0.75 + 0.5 * (w * rate * 11.0 + v * 30.0).sin() * (v - top).min(0.1) * 5.0;
            colour = scale(ridge, light);
        }
    }
    colour
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
