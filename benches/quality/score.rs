//! How good an output is, in five figures. `README.md` beside this folder gives the same formulas in words.

use crate::clip::{HEIGHT, PIXELS, WIDTH, planes};

/// A pixel lies in a smooth region if the luma of its 3×3 surroundings in the reference spans no more than this,
const SMOOTH_SPAN: u8 = 6;
/// and stays clear of black and white, where clipping would hide what is measured.
const CLEAR: std::ops::RangeInclusive<u8> = 24..=227;
/// Frames with a smaller share of smooth pixels have no say in banding and noise.
const SMOOTH_SHARE: usize = 100;
/// How far R′, G′ or B′ must leave 0…1 to count: what rounding Y′CbCr to 8 bits can do stays below it.
const RGB_TOLERANCE: f32 = 0.01;

/// Scores of one output. `None` where the clip has no region to measure in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scores {
    /// Mean over frames of the luma's PSNR against the reference, in dB. Higher is better.
    pub restoration: f64,
    /// Mean |change of mean luma from frame to frame, less the reference's own change|, in codes.
    pub flicker: f64,
    /// Spacing of the codes in use, less the reference's own, in codes: 0 is none.
    pub banding: Option<f64>,
    /// Noise in the output over noise in the input.
    pub noise_gain: Option<f64>,
    /// Share of pixels outside RGB, less the reference's own; 0.01 is one percent.
    pub outside: f64,
}

/// Scores `output`, made from `input`, against `reference`; all of the same number of frames, at least two.
pub fn score(reference: &[u8], input: &[u8], output: &[u8]) -> Scores {
    let smooth = smooth_regions(reference);
    let spaced = |frames| spacing(frames, &smooth);
    let noise_in = noise(input, &smooth).filter(|&sigma| sigma > 0.05);
    Scores {
        restoration: restoration(reference, output),
        flicker: flicker(reference, output),
        banding: spaced(output).zip(spaced(reference)).map(|(out, own)| out - own),
        noise_gain: noise(output, &smooth).zip(noise_in).map(|(out, own)| out / own),
        outside: outside(output) - outside(reference),
    }
}

/// Mean over frames of 10·log₁₀(255² / mean squared difference of luma); a frame that is equal counts 78 dB.
pub fn restoration(reference: &[u8], output: &[u8]) -> f64 {
    mean(planes(reference).zip(planes(output)).map(|((wanted, _), (got, _))| {
        let squares = wanted.iter().zip(got).map(|(&a, &b)| u64::from(a.abs_diff(b)).pow(2)).sum::<u64>();
        10.0 * (255.0f64.powi(2) / (squares as f64 / PIXELS as f64).max(1e-3)).log10()
    }))
}

pub fn flicker(reference: &[u8], output: &[u8]) -> f64 {
    let means =
        |frames| -> Vec<f64> { planes(frames).map(|(luma, _)| mean(luma.iter().map(|&c| f64::from(c)))).collect() };
    let (wanted, got) = (means(reference), means(output));
    let change = |means: &[f64]| means[1] - means[0];
    mean(wanted.windows(2).zip(got.windows(2)).map(|(wanted, got)| (change(got) - change(wanted)).abs()))
}

/// For every frame of the reference, the positions of the pixels in smooth regions; none where there are too few.
pub fn smooth_regions(reference: &[u8]) -> Vec<Vec<usize>> {
    let region = |luma: &[u8]| -> Vec<usize> {
        let inner = (1..HEIGHT - 1).flat_map(|y| (1..WIDTH - 1).map(move |x| y * WIDTH + x));
        let smooth: Vec<usize> = inner
            .filter(|&at| {
                let around = [at - WIDTH, at, at + WIDTH].into_iter().flat_map(|row| &luma[row - 1..=row + 1]);
                let (low, high) = around.fold((255, 0), |(low, high), &code| (code.min(low), code.max(high)));
                high - low <= SMOOTH_SPAN && CLEAR.contains(&low) && CLEAR.contains(&high)
            })
            .collect();
        if smooth.len() >= PIXELS / SMOOTH_SHARE { smooth } else { Vec::new() }
    };
    planes(reference).map(|(luma, _)| region(luma)).collect()
}

/// Mean spacing of the codes in use in the smooth regions: 1 where all codes are used as much as their neighbours,
/// g where only every g-th is. With h the histogram and h̄ its mean over the 16 codes around (the two ends, 8 codes
/// away, count half), it is Σh / Σmin(h, h̄).
pub fn spacing(frames: &[u8], smooth: &[Vec<usize>]) -> Option<f64> {
    let with_region = planes(frames).zip(smooth).filter(|(_, region)| !region.is_empty());
    mean_of_some(with_region.map(|((luma, _), region)| {
        let mut histogram = [0f64; 256];
        region.iter().for_each(|&at| histogram[usize::from(luma[at])] += 1.0);
        let count = |code: i32| usize::try_from(code).ok().and_then(|code| histogram.get(code)).copied().unwrap_or(0.0);
        let around = |code: i32| {
            let ends = (count(code - 8) + count(code + 8)) / 2.0;
            (ends + (code - 7..=code + 7).map(count).sum::<f64>()) / 16.0
        };
        let kept: f64 = (0..256).map(|code| count(code).min(around(code))).sum();
        region.len() as f64 / kept
    }))
}

/// Standard deviation of the noise in the smooth regions, in codes: the root mean square of a Laplacian that
/// gradients and straight edges do not excite (Immerkær, 1996), scaled so that white noise comes out as it is.
pub fn noise(frames: &[u8], smooth: &[Vec<usize>]) -> Option<f64> {
    let mut squares = 0.0;
    let mut count = 0;
    for ((luma, _), region) in planes(frames).zip(smooth) {
        let code = |at: usize| i32::from(luma[at]);
        // The second difference along a row; the mask is the second difference of these down a column.
        let row = |at: usize| code(at - 1) - 2 * code(at) + code(at + 1);
        let laplacian = |at: usize| f64::from(row(at - WIDTH) - 2 * row(at) + row(at + WIDTH));
        squares += region.iter().map(|&at| laplacian(at).powi(2)).sum::<f64>();
        count += region.len();
    }
    (count > 0).then(|| (squares / count as f64 / 36.0).sqrt())
}

/// Share of pixels of which R′, G′ or B′ lies outside 0…1, by BT.709; chroma is taken from the nearest sample.
pub fn outside(frames: &[u8]) -> f64 {
    mean(planes(frames).map(|(luma, chroma)| {
        let (blue, red) = chroma.split_at(chroma.len() / 2);
        let leaves = |at: usize| {
            let coarse = (at / WIDTH / 2) * (WIDTH / 2) + at % WIDTH / 2;
            let y = (f32::from(luma[at]) - 16.0) / 219.0;
            let (cb, cr) = ((f32::from(blue[coarse]) - 128.0) / 224.0, (f32::from(red[coarse]) - 128.0) / 224.0);
            let rgb = [y + 1.5748 * cr, y - 0.1873 * cb - 0.4681 * cr, y + 1.8556 * cb];
            rgb.into_iter().any(|value| !(-RGB_TOLERANCE..=1.0 + RGB_TOLERANCE).contains(&value))
        };
        (0..PIXELS).filter(|&at| leaves(at)).count() as f64 / PIXELS as f64
    }))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    mean_of_some(values).unwrap_or(f64::NAN)
}

/// The mean, if there are any values.
pub fn mean_of_some(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
