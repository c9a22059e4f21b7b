//! Properties, controllers, statistics and messages.

use autolevels::settings::{BackendChoice, Change, Kind, Mode, Offered, SETTINGS, Settings, Value};
use gst::glib;
use gst::prelude::*;
use gst_controller::prelude::*;
use gst_controller::{DirectControlBinding, InterpolationControlSource, InterpolationMode};

use crate::common::*;

#[test]
fn each_setting_that_the_element_offers_is_a_property_and_no_other() {
    let element = element(BackendChoice::Cpu);
    for setting in SETTINGS {
        let spec = element.find_property(setting.name);
        if setting.offered == Offered::Programs {
            assert!(spec.is_none(), "{} is for programs", setting.name);
            continue;
        }
        let spec = spec.unwrap_or_else(|| panic!("no property {}", setting.name));
        assert!(spec.blurb().unwrap().starts_with(setting.blurb), "{}", setting.name);
        assert!(spec.flags().contains(glib::ParamFlags::READWRITE));
        let playing = setting.change == Change::Playing;
        let controllable = playing && !matches!(setting.kind, Kind::Text { .. } | Kind::Rectangle { .. });
        assert_eq!(spec.flags().contains(gst::PARAM_FLAG_CONTROLLABLE), controllable, "{}", setting.name);
        assert_eq!(spec.flags().contains(gst::PARAM_FLAG_MUTABLE_PLAYING), playing, "{}", setting.name);
        assert_eq!(spec.flags().contains(gst::PARAM_FLAG_MUTABLE_READY), !playing, "{}", setting.name);
        let default = spec.default_value();
        match (setting.kind, setting.kind.default()) {
            (Kind::Number { min, max, default: wanted }, _) => {
                let spec = spec.downcast_ref::<glib::ParamSpecDouble>().unwrap();
                assert_eq!((spec.minimum(), spec.maximum(), spec.default_value()), (min, max, wanted));
            }
            (Kind::Switch { default: wanted }, _) => assert_eq!(default.get(), Ok(wanted)),
            (Kind::Choice { choices, .. }, Value::Text(wanted)) => {
                let (class, value) = glib::EnumValue::from_value(default).unwrap();
                assert_eq!(value.nick(), wanted);
                let nicks: Vec<_> = class.values().iter().map(|value| value.nick()).collect();
                assert_eq!(nicks, choices.iter().map(|choice| choice.0).collect::<Vec<_>>());
            }
            (_, Value::Text(wanted)) => assert_eq!(default.get(), Ok(wanted.as_str())),
            other => panic!("no test for {other:?}"),
        }
    }
}

#[test]
fn properties_read_back_what_was_set() {
    let element = element(BackendChoice::Cpu);
    element.set_property("clip-low", 2.5);
    element.set_property("mode", Mode::Equalize);
    element.set_property_from_str("chroma", "keep");
    element.set_property("freeze", true);
    element.set_property("adapter", "llvmpipe");
    element.set_property("roi", "0.25,0,0.5,1");
    element.set_property("roi", "0,0,9,9");
    assert_eq!(element.property::<f64>("clip-low"), 2.5);
    assert_eq!(element.property::<Mode>("mode"), Mode::Equalize);
    assert_eq!(element.property_value("chroma").serialize().unwrap(), "keep");
    assert!(element.property::<bool>("freeze"));
    assert_eq!(element.property::<String>("adapter"), "llvmpipe");
    assert_eq!(element.property::<String>("roi"), "0.25,0,0.5,1", "what is beyond the picture is refused");
}

#[test]
fn a_controller_ramps_the_strength_in_stream_time() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let source = InterpolationControlSource::new();
        source.set_mode(InterpolationMode::Linear);
        // Over ten frames from the fifth second of the stream on.
        let start = gst::ClockTime::from_seconds(5);
        source.set(start, 0.0);
        source.set(start + FRAME * 10, 1.0);
        element.add_control_binding(&DirectControlBinding::new(&element, "strength", &source)).unwrap();
        let mut harness = harness(&element, &info);
        // Running time is zero where stream time is five seconds.
        let mut segment = gst::FormattedSegment::<gst::ClockTime>::new();
        segment.set_time(start);
        assert!(harness.push_event(gst::event::Segment::new(&segment)));
        let mut reference = Reference::new(&info, &settings(backend));
        let mut seen = Vec::new();
        for number in 0..=10 {
            harness.push(buffer(&info, number)).unwrap();
            let strength: f64 = element.property("strength");
            assert!((strength - number as f64 / 10.0).abs() < 1e-9, "frame {number}: {strength}");
            let settings = Settings { strength, ..settings(backend) };
            reference.leveler.set_settings(&settings);
            let output = samples(&harness.pull().unwrap(), &info);
            assert!(output == plain_samples(reference.picture(number), &info), "frame {number}");
            seen.push(output);
        }
        assert!(seen[0] != seen[10], "the ramp changed nothing");
    }
}

#[test]
fn black_and_white_the_wrong_way_round_are_passed_over_with_one_warning() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        let mut harness = harness(&element, &info);
        let warnings = || std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Warning])).count();
        let mut number = 0;
        let mut output = |black: f64, white: f64| {
            let mut reference = Reference::new(&info, &Settings { black, white, ..settings(backend) });
            harness.push(buffer(&info, number)).unwrap();
            let same = samples(&harness.pull().unwrap(), &info) == plain_samples(reference.picture(number), &info);
            number += 1;
            same
        };
        element.set_property("white", 0.5);
        assert!(output(0.0, 0.5), "the pair that was set");
        assert_eq!(warnings(), 0);
        element.set_property("black", 0.6);
        assert!(output(0.0, 0.5) && output(0.0, 0.5), "the last good pair");
        element.set_property("black", 0.7);
        assert!(output(0.0, 0.5), "the last good pair");
        assert_eq!(warnings(), 1);
        element.set_property("white", 0.9);
        assert!(output(0.7, 0.9), "the pair that was set");
        assert_eq!(warnings(), 0);
        element.set_property("white", 0.2);
        assert!(output(0.7, 0.9), "the last good pair");
        assert_eq!(warnings(), 1, "a new mistake is a new warning");
    }
}

#[test]
fn stats_tell_what_was_done_and_start_over_with_the_element() {
    for backend in backends() {
        let info = video_info("NV12", 320, 240);
        let element = element(backend);
        assert_eq!(stat::<u64>(&element, "frames"), 0);
        assert_eq!(stat::<String>(&element, "backend"), "");
        let mut harness = harness(&element, &info);
        for number in 0..5 {
            harness.push(buffer(&info, number)).unwrap();
        }
        assert_eq!(stat::<u64>(&element, "frames"), 5);
        assert_eq!(stat::<String>(&element, "backend"), backend.name());
        assert!(!stat::<String>(&element, "adapter").is_empty());
        assert_eq!((stat::<u64>(&element, "late"), stat::<u64>(&element, "failovers")), (0, 0));
        assert!(stat::<u64>(&element, "measure-time") > 0);
        assert!(stat::<u64>(&element, "decide-time") > 0);
        assert!(stat::<u64>(&element, "apply-time") > 0);
        assert!(stat::<u64>(&element, "cuts") <= 5);
        drop(harness);
        element.set_state(gst::State::Null).unwrap();
        element.set_state(gst::State::Paused).unwrap();
        assert_eq!(stat::<u64>(&element, "frames"), 0);
        element.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn messages_tell_of_each_frame_when_asked() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let element = element(backend);
        let bus = gst::Bus::new();
        element.set_bus(Some(&bus));
        let mut harness = harness(&element, &info);
        let messages = || std::iter::from_fn(|| bus.pop_filtered(&[gst::MessageType::Element])).collect::<Vec<_>>();
        harness.push(buffer(&info, 0)).unwrap();
        assert!(messages().is_empty(), "nobody asked");
        element.set_property_from_str("post-messages", "levels");
        harness.push(buffer(&info, 1)).unwrap();
        harness.push(buffer(&info, 2)).unwrap();
        let posted = messages();
        let times: Vec<_> = posted
            .iter()
            .map(|message| message.structure().unwrap().get::<gst::ClockTime>("running-time").unwrap())
            .collect();
        assert_eq!(times, [FRAME, FRAME * 2]);
        let structure = posted[0].structure().unwrap();
        assert_eq!(structure.name(), "autolevels");
        for name in ["black", "white", "gain", "exposure", "cut", "mean"] {
            assert!(structure.get::<f64>(name).unwrap().is_finite(), "{name}");
        }
        assert_eq!(structure.get::<bool>("changed"), Ok(true));
        assert!(!structure.has_field("histogram"));
        element.set_property_from_str("post-messages", "histogram");
        harness.push(buffer(&info, 3)).unwrap();
        let message = messages().pop().unwrap();
        let histogram = message.structure().unwrap().get::<glib::ValueArray>("histogram").unwrap();
        let mut counts = [0_u32; 256];
        picture(&info, 3)[..64 * 48].iter().for_each(|code| counts[usize::from(*code)] += 1);
        assert_eq!(histogram.iter().map(|count| count.get::<u32>().unwrap()).collect::<Vec<_>>(), counts);
    }
}
