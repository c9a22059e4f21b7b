//! Every format on every backend comes out as a leveler alone gives it, in place or beside the input.

use autolevels::frame::Format;
use autolevels::settings::{BackendChoice, Mode};
use gst::prelude::*;

use crate::common::*;

const FRAMES: usize = 3;

#[test]
fn every_format_comes_out_as_the_leveler_gives_it() {
    for backend in backends() {
        for format in Format::ALL {
            for shared in [false, true] {
                let what = format!("{} on {backend:?}, shared: {shared}", format.name());
                // Odd, so that every kind of remainder occurs.
                let info = video_info(format.name(), 67, 35);
                let element = element(backend);
                let mut harness = harness(&element, &info);
                let mut reference = Reference::new(&info, &settings(backend));
                for number in 0..FRAMES {
                    let input = buffer(&info, number);
                    let _held = shared.then(|| input.clone());
                    assert_eq!(harness.push(input), Ok(gst::FlowSuccess::Ok), "{what}");
                    let output = harness.try_pull().unwrap_or_else(|| panic!("{what}: nothing came out"));
                    let expected = plain_samples(reference.picture(number), &info);
                    assert!(samples(&output, &info) == expected, "{what}: frame {number} differs");
                    assert_eq!(output.pts(), Some(FRAME * number as u64), "{what}");
                }
                assert!(harness.try_pull().is_none(), "{what}: more came out than went in");
                assert_eq!(stat::<u64>(&element, "frames"), FRAMES as u64, "{what}");
                assert_eq!(stat::<String>(&element, "backend"), backend.name(), "{what}");
            }
        }
    }
}

#[test]
fn the_cpu_writes_a_writable_buffer_in_place() {
    let info = video_info("NV12", 64, 48);
    let mut harness = harness(&element(BackendChoice::Cpu), &info);
    let input = buffer(&info, 0);
    let (before, address) = (samples(&input, &info), input.as_ptr());
    harness.push(input).unwrap();
    let output = harness.pull().unwrap();
    assert_eq!(output.as_ptr(), address, "another buffer came out");
    assert!(samples(&output, &info) != before, "nothing was done");
}

#[test]
fn a_buffer_that_others_hold_is_left_alone() {
    for backend in backends() {
        let info = video_info("I420", 64, 48);
        let mut harness = harness(&element(backend), &info);
        let input = buffer(&info, 0);
        harness.push(input.clone()).unwrap();
        let output = harness.pull().unwrap();
        assert_ne!(output.as_ptr(), input.as_ptr());
        assert!(samples(&output, &info) != samples(&input, &info), "nothing was done");
        assert!(samples(&input, &info) == plain_samples(picture(&info, 0), &info), "the input was written to");
    }
}

#[test]
fn with_strength_0_or_mode_off_the_very_buffer_goes_on_and_is_measured() {
    for backend in backends() {
        for off in [false, true] {
            for shared in [false, true] {
                let info = video_info("NV12", 64, 48);
                let element = element(backend);
                match off {
                    true => element.set_property("mode", Mode::Off),
                    false => element.set_property("strength", 0.0),
                }
                element.set_property_from_str("post-messages", "histogram");
                let bus = gst::Bus::new();
                element.set_bus(Some(&bus));
                let mut harness = harness(&element, &info);
                for number in 0..FRAMES {
                    let input = buffer(&info, number);
                    let address = input.as_ptr();
                    let _held = shared.then(|| input.clone());
                    harness.push(input).unwrap();
                    let output = harness.pull().unwrap();
                    assert_eq!(output.as_ptr(), address, "off: {off}, shared: {shared}");
                    assert!(samples(&output, &info) == plain_samples(picture(&info, number), &info));
                    let message = bus.pop_filtered(&[gst::MessageType::Element]).unwrap();
                    let structure = message.structure().unwrap();
                    assert_eq!(structure.get::<bool>("changed"), Ok(false));
                    let histogram = structure.get::<gst::glib::ValueArray>("histogram").unwrap();
                    let votes: u32 = histogram.iter().map(|count| count.get::<u32>().unwrap()).sum();
                    assert_eq!(votes, 64 * 48, "not measured");
                }
            }
        }
    }
}

#[test]
fn strength_can_be_turned_up_and_down_while_frames_pass() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let mut harness = harness(&element, &info);
        let mut reference = Reference::new(&info, &settings(backend));
        for (number, strength) in [0.0, 1.0, 0.0, 0.5, 1.0].into_iter().enumerate() {
            element.set_property("strength", strength);
            let mut settings = settings(backend);
            settings.strength = strength;
            reference.leveler.set_settings(&settings);
            let input = buffer(&info, number);
            harness.push(input.clone()).unwrap();
            let output = harness.pull().unwrap();
            assert!(samples(&output, &info) == plain_samples(reference.picture(number), &info));
            assert_eq!(output.as_ptr() == input.as_ptr(), strength == 0.0, "strength {strength}");
        }
    }
}

#[test]
fn large_frames_are_equal_on_every_backend() {
    for (width, height) in [(1920, 1080), (3840, 2160)] {
        for format in ["NV12", "I420", "RGBA"] {
            let info = video_info(format, width, height);
            let outputs = backends().into_iter().map(|backend| {
                let mut harness = harness(&element(backend), &info);
                for number in 0..2 {
                    harness.push(buffer(&info, number)).unwrap();
                }
                [harness.pull().unwrap(), harness.pull().unwrap()].map(|output| samples(&output, &info))
            });
            let mut reference = Reference::new(&info, &settings(BackendChoice::Cpu));
            let expected = [0, 1].map(|number| plain_samples(reference.picture(number), &info));
            for output in outputs {
                assert!(output == expected, "{format} {width}×{height}");
            }
        }
    }
}
