//! Several elements at once, and properties that change while they play.

use std::sync::atomic::Ordering;
use std::time::Duration;

use autolevels::settings::BackendChoice;
use gst::prelude::*;

use crate::common::*;

fn launch(line: &str) -> gst::Pipeline {
    init();
    gst::parse::launch(line).unwrap().downcast().unwrap()
}

#[test]
fn two_in_a_row_do_what_two_levelers_do() {
    for backend in backends() {
        let backend_name = backend.name();
        let pipeline = launch(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=NV12,width=64,height=48,framerate=25/1 \
             ! autolevels smoothing=0 strength=0.5 backend={backend_name} \
             ! autolevels smoothing=0 white=0.8 backend={backend_name} ! appsink name=out sync=false"
        ));
        let info = video_info("NV12", 64, 48);
        let (mut first, mut second) = (settings(backend), settings(backend));
        (first.strength, second.white) = (0.5, 0.8);
        let (mut first, mut second) = (Reference::new(&info, &first), Reference::new(&info, &second));
        let source = pipeline.by_name("in").unwrap().downcast::<gst_app::AppSrc>().unwrap();
        let sink = pipeline.by_name("out").unwrap().downcast::<gst_app::AppSink>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        for number in 0..4 {
            source.push_buffer(buffer(&info, number)).unwrap();
            let sample = sink.try_pull_sample(gst::ClockTime::from_seconds(10)).unwrap();
            let expected = second.level(first.picture(number), FRAME * number as u64, true);
            assert!(samples(sample.buffer().unwrap(), &info) == plain_samples(expected, &info), "frame {number}");
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn three_behind_a_tee_share_the_input_and_do_not_disturb_each_other() {
    for backend in backends() {
        let branch = |name: &str, strength: f64| {
            format!(
                " t. ! queue ! autolevels smoothing=0 strength={strength} backend={} \
                 ! appsink name={name} sync=false max-buffers=100",
                backend.name()
            )
        };
        let pipeline = launch(&format!(
            "appsrc name=in format=time caps=video/x-raw,format=NV12,width=64,height=48,framerate=25/1 ! tee name=t\
             {}{}{}",
            branch("a", 1.0),
            branch("b", 0.3),
            branch("c", 0.0)
        ));
        let info = video_info("NV12", 64, 48);
        pipeline.set_state(gst::State::Playing).unwrap();
        let source = pipeline.by_name("in").unwrap().downcast::<gst_app::AppSrc>().unwrap();
        for number in 0..10 {
            source.push_buffer(buffer(&info, number)).unwrap();
        }
        source.end_of_stream().unwrap();
        for (name, strength) in [("a", 1.0), ("b", 0.3), ("c", 0.0)] {
            let sink = pipeline.by_name(name).unwrap().downcast::<gst_app::AppSink>().unwrap();
            let mut settings = settings(backend);
            settings.strength = strength;
            let mut reference = Reference::new(&info, &settings);
            for number in 0..10 {
                let sample = sink.try_pull_sample(gst::ClockTime::from_seconds(10)).expect("a frame is missing");
                let expected = plain_samples(reference.picture(number), &info);
                assert!(samples(sample.buffer().unwrap(), &info) == expected, "{name}: frame {number}");
            }
            assert!(sink.try_pull_sample(gst::ClockTime::from_seconds(10)).is_none() && sink.is_eos());
        }
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn properties_may_change_from_another_thread_while_playing() {
    for backend in backends() {
        let pipeline = launch(&format!(
            "videotestsrc num-buffers=200 pattern=ball ! video/x-raw,format=NV12,width=64,height=48,framerate=100/1 \
             ! autolevels name=l backend={} ! fakesink sync=true",
            backend.name()
        ));
        let element = pipeline.by_name("l").unwrap();
        let count = count_buffers(&element);
        pipeline.set_state(gst::State::Playing).unwrap();
        let (stop, stopped) = std::sync::mpsc::channel::<()>();
        let changer = std::thread::spawn(move || {
            let mut round = 0_u32;
            while stopped.recv_timeout(Duration::from_millis(1)) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                element.set_property("strength", f64::from(round % 11) / 10.0);
                element.set_property_from_str("mode", ["stretch", "equalize", "off"][round as usize % 3]);
                element.set_property("freeze", round.is_multiple_of(7));
                element.set_property("smoothing", f64::from(round % 4));
                assert_eq!(element.property::<f64>("smoothing"), f64::from(round % 4));
                assert!(stat::<u64>(&element, "frames") <= 200);
                round += 1;
            }
            round
        });
        wait_for_end(&pipeline);
        drop(stop);
        assert!(changer.join().unwrap() > 10);
        assert!(count.load(Ordering::SeqCst) > 0);
        pipeline.set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn ten_at_a_time_are_fine() {
    for backend in backends() {
        let source = "videotestsrc num-buffers=5 ! video/x-raw,format=NV12,width=64,height=48";
        let line: String =
            (0..10).map(|_| format!("{source} ! autolevels backend={} ! fakesink ", backend.name())).collect();
        play(&line).set_state(gst::State::Null).unwrap();
    }
}

#[test]
fn a_state_change_gets_through_while_frames_flow() {
    for backend in backends() {
        let pipeline = launch(&format!(
            "videotestsrc is-live=true ! video/x-raw,format=I420,width=320,height=240,framerate=100/1 \
             ! autolevels backend={} ! fakesink",
            backend.name()
        ));
        for _ in 0..3 {
            pipeline.set_state(gst::State::Playing).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            let begun = std::time::Instant::now();
            pipeline.set_state(gst::State::Null).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(5));
        }
    }
}

#[test]
fn what_a_program_in_rust_needs_is_registered_statically() {
    init();
    let factory = gst::ElementFactory::find("autolevels").unwrap();
    assert_eq!(factory.metadata("klass"), Some("Filter/Effect/Video"));
    assert_eq!(factory.rank(), gst::Rank::NONE);
    let element = element(BackendChoice::Cpu);
    assert_eq!(element.type_().name(), "GstAutoLevels");
    assert!(element.is::<gst_video::VideoFilter>());
}
