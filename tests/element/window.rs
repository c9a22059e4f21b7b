//! What votes: the region of interest, and pictures between black bars.

use gst::prelude::*;
use gst_video::VideoInfo;

use super::common::*;

const WIDTH: usize = 320;
const HEIGHT: usize = 180;
const BAR: usize = 22;

/// A hazy picture of `height` rows that begins at row `top` of the scene; other rows of the scene are black.
fn buffer_of(info: &VideoInfo, number: usize, top: usize, light: impl Fn(usize, usize) -> u8) -> gst::Buffer {
    let mut bytes = vec![128; info.size()];
    let stride = info.stride()[0] as usize;
    for y in 0..info.height() as usize {
        for x in 0..WIDTH {
            bytes[y * stride + x] = light(x, top + y);
        }
    }
    let mut buffer = gst::Buffer::from_mut_slice(bytes);
    buffer.get_mut().unwrap().set_pts(FRAME * number as u64);
    buffer
}

fn haze(number: usize, x: usize, y: usize) -> u8 {
    let (x, y) = (x as f64 + number as f64, y as f64);
    (125.0 + 35.0 * (x / 40.0).sin() * (y / 30.0).cos() + 15.0 * (x / 9.0 + y / 13.0).sin()) as u8
}

fn default_element(backend: autolevels::settings::BackendChoice) -> gst::Element {
    init();
    gst::ElementFactory::make("autolevels").property("backend", backend).build().unwrap()
}

/// The luma of rows `rows` of what comes out for a buffer.
fn level(
    harness: &mut gst_check::Harness,
    info: &VideoInfo,
    buffer: gst::Buffer,
    rows: std::ops::Range<usize>,
) -> Vec<u8> {
    harness.push(buffer).unwrap();
    let output = samples(&harness.pull().unwrap(), info);
    output[rows.start * WIDTH..rows.end * WIDTH].to_vec()
}

#[test]
fn a_picture_between_bars_is_levelled_as_without_them_from_the_first_frame_on() {
    for backend in backends() {
        for format in ["NV12", "GRAY8"] {
            let boxed = video_info(format, WIDTH as u32, HEIGHT as u32);
            let bare = video_info(format, WIDTH as u32, (HEIGHT - 2 * BAR) as u32);
            let black = if format == "NV12" { 16 } else { 0 };
            let (with, without) = (default_element(backend), default_element(backend));
            without.set_property("letterbox", false);
            let (mut with, mut without) = (harness(&with, &boxed), harness(&without, &bare));
            for number in 0..8 {
                let is_bar = |y: usize| !(BAR..HEIGHT - BAR).contains(&y);
                let noise = |x: usize, y: usize| black + ((x * 7 + y * 3 + number) % 3) as u8;
                let light = |x: usize, y: usize| if is_bar(y) { noise(x, y) } else { haze(number, x, y) };
                let got = buffer_of(&boxed, number, 0, light);
                let got = level(&mut with, &boxed, got, BAR..HEIGHT - BAR);
                let wanted = buffer_of(&bare, number, BAR, light);
                let wanted = level(&mut without, &bare, wanted, 0..HEIGHT - 2 * BAR);
                let apart = got.iter().zip(&wanted).map(|(got, wanted)| got.abs_diff(*wanted)).max().unwrap();
                assert!(apart <= 1, "{format} on {backend:?}, frame {number}: {apart} codes apart");
                let (darkest, brightest) = (got.iter().min().unwrap(), got.iter().max().unwrap());
                assert!(*darkest < black + 5 && *brightest > 230, "{darkest} to {brightest}");
            }
        }
    }
}

#[test]
fn only_the_region_of_interest_votes_and_it_may_change_while_playing() {
    for backend in backends() {
        let info = video_info("GRAY8", WIDTH as u32, HEIGHT as u32);
        let element = element(backend);
        let mut harness = harness(&element, &info);
        // Codes 50 to 130 on the left, 100 to 240 on the right.
        let light = |x: usize, y: usize| {
            if x < WIDTH / 2 { 50 + ((x + y) % 81) as u8 } else { 100 + ((x * 3 + y) % 141) as u8 }
        };
        let mut ends = |roi: &str, columns: std::ops::Range<usize>| {
            element.set_property("roi", roi);
            harness.push(buffer_of(&info, 0, 0, light)).unwrap();
            let output = samples(&harness.pull().unwrap(), &info);
            let inside = output.chunks(WIDTH).flat_map(|row| &row[columns.clone()]);
            (*inside.clone().min().unwrap(), *inside.max().unwrap())
        };
        let all = ends("", 0..WIDTH);
        assert!(all.0 == 0 && all.1 == 255, "{all:?}");
        let right = ends("0.5,0,0.5,1", WIDTH / 2..WIDTH);
        assert!(right.0 == 0 && right.1 == 255, "{right:?}");
        let left = ends("0,0,0.5,1", 0..WIDTH / 2);
        assert!(left.0 == 0 && left.1 == 255, "{left:?}");
    }
}
