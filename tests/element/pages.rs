//! Memory that the GPU uses in place: upstream and downstream get it without knowing.

use autolevels::gpu::pages::Pages;
use autolevels::settings::BackendChoice;
use gst::prelude::*;

use crate::common::*;

fn on_pages(buffer: &gst::BufferRef) -> bool {
    Pages::find(buffer.map_readable().unwrap().as_slice()).is_some()
}

#[test]
fn with_a_gpu_frames_lie_on_pages_on_both_sides_and_have_their_usual_size() {
    for backend in backends() {
        init();
        let line = format!(
            "videotestsrc num-buffers=6 pattern=ball background-color=0xff404040 foreground-color=0xff909090 \
             ! video/x-raw,format=NV12,width=320,height=180 ! autolevels name=levels backend={} ! appsink name=out sync=false",
            backend.name()
        );
        let pipeline: gst::Pipeline = gst::parse::launch(&line).unwrap().downcast().unwrap();
        let (sender, seen) = std::sync::mpsc::channel();
        let pad = pipeline.by_name("levels").unwrap().static_pad("sink").unwrap();
        pad.add_probe(gst::PadProbeType::BUFFER, move |_, info| {
            sender.send(on_pages(info.buffer().unwrap())).unwrap();
            gst::PadProbeReturn::Ok
        });
        let sink = pipeline.by_name("out").unwrap().downcast::<gst_app::AppSink>().unwrap();
        pipeline.set_state(gst::State::Playing).unwrap();
        let mut frames = 0;
        while let Ok(sample) = sink.pull_sample() {
            let buffer = sample.buffer().unwrap();
            assert_eq!(buffer.size(), 320 * 180 * 3 / 2);
            assert_eq!(on_pages(buffer), backend == BackendChoice::Gpu, "frame {frames} out");
            frames += 1;
        }
        assert_eq!(frames, 6);
        assert_eq!(seen.try_iter().collect::<Vec<_>>(), [backend == BackendChoice::Gpu; 6], "frames in");
        pipeline.set_state(gst::State::Null).unwrap();
    }
}
