//! Frames that stand in for missing or damaged ones.

use gst::prelude::*;

use crate::common::*;

#[test]
fn gaps_and_damaged_frames_are_levelled_by_the_present_curve_and_do_not_vote() {
    for backend in backends() {
        for flag in [gst::BufferFlags::GAP, gst::BufferFlags::CORRUPTED] {
            let info = video_info("NV12", 64, 48);
            let element = element(backend);
            element.set_property_from_str("post-messages", "histogram");
            let bus = gst::Bus::new();
            element.set_bus(Some(&bus));
            let mut harness = harness(&element, &info);
            let mut reference = Reference::new(&info, &settings(backend));
            for number in 0..9 {
                let stand_in = number % 3 == 2;
                let mut input = buffer(&info, number);
                let mut bytes = picture(&info, number);
                if stand_in {
                    bytes = vec![100; info.size()];
                    bytes[..64].fill(10);
                    input = gst::Buffer::from_mut_slice(bytes.clone());
                    input.get_mut().unwrap().set_flags(flag);
                    input.get_mut().unwrap().set_pts(FRAME * number as u64);
                }
                let _held = (number > 4).then(|| input.clone());
                harness.push(input).unwrap();
                let output = harness.pull().unwrap();
                let expected = reference.level(bytes, FRAME * number as u64, !stand_in);
                assert!(samples(&output, &info) == plain_samples(expected, &info), "frame {number}, {flag:?}");
                assert_eq!(output.flags().contains(flag), stand_in);
                let message = bus.pop_filtered(&[gst::MessageType::Element]).unwrap();
                assert_eq!(message.structure().unwrap().has_field("histogram"), !stand_in);
            }
        }
    }
}

#[test]
fn a_gap_without_memory_passes_untouched() {
    for backend in backends() {
        let info = video_info("NV12", 64, 48);
        let mut harness = harness(&element(backend), &info);
        harness.push(buffer(&info, 0)).unwrap();
        let mut gap = gst::Buffer::new();
        gap.get_mut().unwrap().set_flags(gst::BufferFlags::GAP);
        gap.get_mut().unwrap().set_pts(FRAME);
        harness.push(gap).unwrap();
        harness.push(buffer(&info, 2)).unwrap();
        let sizes: Vec<_> = std::iter::from_fn(|| harness.try_pull()).map(|buffer| buffer.size()).collect();
        assert_eq!(sizes, [info.size(), 0, info.size()]);
    }
}

#[test]
fn a_gap_event_passes() {
    let info = video_info("NV12", 64, 48);
    let mut harness = harness(&element(backends()[0]), &info);
    harness.push(buffer(&info, 0)).unwrap();
    assert!(harness.push_event(gst::event::Gap::builder(FRAME).duration(FRAME).build()));
    let gap = std::iter::from_fn(|| harness.try_pull_event()).find(|event| event.type_() == gst::EventType::Gap);
    assert!(gap.is_some(), "the gap event is lost");
}
