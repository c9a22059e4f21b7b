//! `autolevels bench --kernels`: what the stages take on the GPU itself.

use anyhow::{Result, bail};
use autolevels::frame::{FrameInfo, FrameMemory};
use autolevels::gpu::time_stages;
use serde::Serialize;

use super::frames::{BenchFrame, Content, Memory};

/// One row: µs on the GPU.
#[derive(Serialize)]
struct Row<'a> {
    format: &'a str,
    width: usize,
    height: usize,
    content: String,
    stage: &'a str,
    median_us: f64,
    least_us: f64,
}

/// Prints a row for each stage.
pub fn print(info: &FrameInfo, content: Content, adapter: &str, json: bool, header: &mut bool) -> Result<()> {
    let frame = BenchFrame::new(info, Memory::Plain, content, 0);
    let Some(stages) = time_stages(info, &frame.input(), adapter)? else {
        bail!("this adapter cannot tell how long it takes (no timestamp queries)");
    };
    if std::mem::take(header) {
        println!("{:6} {:>9} {:10} {:8} {:>10} {:>10}", "format", "size", "content", "stage", "median µs", "least µs");
    }
    for time in stages {
        let row = Row {
            format: info.format.name(),
            width: info.width,
            height: info.height,
            content: content.to_string(),
            stage: time.stage,
            median_us: time.median_us,
            least_us: time.least_us,
        };
        if json {
            println!("{}", serde_json::to_string(&row)?);
        } else {
            println!(
                "{:6} {:>9} {:10} {:8} {:10.1} {:10.1}",
                row.format,
                format!("{}x{}", row.width, row.height),
                row.content,
                row.stage,
                row.median_us,
                row.least_us,
            );
        }
    }
    Ok(())
}
