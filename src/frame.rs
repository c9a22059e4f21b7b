//! What a frame is: its format, planes, lanes and nominal range, and the memory that holds it.
//!
//! A plane is rows of *samples*: bytes at 8 bit, above that words of 16 bits, little endian, that hold a code
//! somewhere among their bits ([`Packing`]). Its *lanes* say what the samples of a row are, over and
//! over: `YYYY`, `UVUV`, `YUYV`, `RGBA`, … One run through the lanes is a *unit*, a whole number of *texels*
//! of four samples: one texel for every format but packed 24-bit RGB, which takes three (four pixels).
//! Plane 0 is the one that is measured: the luma plane, or the only plane of a packed format.

use std::fmt;

use arrayvec::ArrayVec;

/// Samples a texel holds, in the GPU's textures and everywhere.
pub const TEXEL: usize = 4;

/// Most bins of a histogram.
pub const MOST_BINS: usize = 1024;

/// What one sample is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Luma,
    Cb,
    Cr,
    Red,
    Green,
    Blue,
    Alpha,
    /// Filler (the x of RGBx), copied as it is.
    Unused,
}

impl Lane {
    /// Index of the curve that this lane goes through: luma or red 0, Cb or green 1, Cr or blue 2.
    /// Alpha and filler have none and are copied.
    pub fn curve(self) -> Option<usize> {
        match self {
            Lane::Luma | Lane::Red => Some(0),
            Lane::Cb | Lane::Green => Some(1),
            Lane::Cr | Lane::Blue => Some(2),
            Lane::Alpha | Lane::Unused => None,
        }
    }
}

/// How a sample holds its code. Bits that hold none of it come out as they went in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Packing {
    /// Bits of a code.
    pub depth: u32,
    /// Bits below the code.
    pub shift: u32,
}

impl Packing {
    /// Codes of 8 bits, a byte each.
    pub const BYTE: Packing = Packing { depth: 8, shift: 0 };

    /// Bytes of a sample: 1 or 2.
    pub const fn bytes(self) -> usize {
        if self.depth > 8 { 2 } else { 1 }
    }

    /// The bits of a sample that hold its code.
    pub const fn mask(self) -> u16 {
        (((1 << self.depth) - 1) << self.shift) as u16
    }

    /// The code of a sample.
    pub const fn code(self, sample: u16) -> u16 {
        (sample & self.mask()) >> self.shift
    }

    /// The sample with another code in it.
    pub const fn with_code(self, sample: u16, code: u16) -> u16 {
        (sample & !self.mask()) | (code << self.shift)
    }
}

/// How the samples of a plane lie: `site_samples` samples stand for `site_pixels` pixels of a row, and one
/// row of the plane stands for `row_pixels` rows of the picture.
struct PlaneSort {
    lanes: &'static [Lane],
    site_samples: usize,
    site_pixels: usize,
    row_pixels: usize,
}

use Lane::{Alpha as A, Blue as B, Cb as U, Cr as V, Green as G, Luma as Y, Red as R, Unused as X};

const fn sort(lanes: &'static [Lane], site_samples: usize, site_pixels: usize, row_pixels: usize) -> PlaneSort {
    PlaneSort { lanes, site_samples, site_pixels, row_pixels }
}
const LUMA: PlaneSort = sort(&[Y, Y, Y, Y], 1, 1, 1);

macro_rules! formats {
    ($($(#[$only:meta])? $variant:ident $name:literal $(($depth:literal, $shift:literal))?: $($sort:expr),+;)+) => {
        /// The pixel formats, named as GStreamer names them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Format { $($(#[$only])? #[doc = $name] $variant,)+ }
        impl Format {
            /// All formats, in the order in which the element prefers them: 8 bit before more, native YUV first.
            pub const ALL: &'static [Format] = &[$($(#[$only])? Format::$variant),+];
            /// GStreamer's name of the format.
            pub fn name(self) -> &'static str {
                match self { $($(#[$only])? Format::$variant => $name),+ }
            }
            /// How its samples hold their codes.
            pub fn packing(self) -> Packing {
                match self { $($(#[$only])? Format::$variant => packing(&[$(($depth, $shift))?])),+ }
            }
            fn sorts(self) -> &'static [PlaneSort] {
                match self { $($(#[$only])? Format::$variant => { const SORTS: &[PlaneSort] = &[$($sort),+]; SORTS }),+ }
            }
        }
    };
}

/// A byte for each code, unless depth and shift are given.
const fn packing(given: &[(u32, u32)]) -> Packing {
    match *given {
        [(depth, shift), ..] => Packing { depth, shift },
        [] => Packing::BYTE,
    }
}

formats! {
    Nv12 "NV12": LUMA, sort(&[U, V, U, V], 2, 2, 2);
    I420 "I420": LUMA, sort(&[U, U, U, U], 1, 2, 2), sort(&[V, V, V, V], 1, 2, 2);
    Yv12 "YV12": LUMA, sort(&[V, V, V, V], 1, 2, 2), sort(&[U, U, U, U], 1, 2, 2);
    Nv21 "NV21": LUMA, sort(&[V, U, V, U], 2, 2, 2);
    Y42b "Y42B": LUMA, sort(&[U, U, U, U], 1, 2, 1), sort(&[V, V, V, V], 1, 2, 1);
    Y444 "Y444": LUMA, sort(&[U, U, U, U], 1, 1, 1), sort(&[V, V, V, V], 1, 1, 1);
    Yuy2 "YUY2": sort(&[Y, U, Y, V], 4, 2, 1);
    Uyvy "UYVY": sort(&[U, Y, V, Y], 4, 2, 1);
    Gray8 "GRAY8": LUMA;
    Rgba "RGBA": sort(&[R, G, B, A], 4, 1, 1);
    Bgra "BGRA": sort(&[B, G, R, A], 4, 1, 1);
    Argb "ARGB": sort(&[A, R, G, B], 4, 1, 1);
    Abgr "ABGR": sort(&[A, B, G, R], 4, 1, 1);
    Rgbx "RGBx": sort(&[R, G, B, X], 4, 1, 1);
    Bgrx "BGRx": sort(&[B, G, R, X], 4, 1, 1);
    Xrgb "xRGB": sort(&[X, R, G, B], 4, 1, 1);
    Xbgr "xBGR": sort(&[X, B, G, R], 4, 1, 1);
    Rgb "RGB": sort(&[R, G, B, R, G, B, R, G, B, R, G, B], 3, 1, 1);
    Bgr "BGR": sort(&[B, G, R, B, G, R, B, G, R, B, G, R], 3, 1, 1);
    P010 "P010_10LE" (10, 6): LUMA, sort(&[U, V, U, V], 2, 2, 2);
    I420p10 "I420_10LE" (10, 0): LUMA, sort(&[U, U, U, U], 1, 2, 2), sort(&[V, V, V, V], 1, 2, 2);
    I422p10 "I422_10LE" (10, 0): LUMA, sort(&[U, U, U, U], 1, 2, 1), sort(&[V, V, V, V], 1, 2, 1);
    Y444p10 "Y444_10LE" (10, 0): LUMA, sort(&[U, U, U, U], 1, 1, 1), sort(&[V, V, V, V], 1, 1, 1);
    I420p12 "I420_12LE" (12, 0): LUMA, sort(&[U, U, U, U], 1, 2, 2), sort(&[V, V, V, V], 1, 2, 2);
    I422p12 "I422_12LE" (12, 0): LUMA, sort(&[U, U, U, U], 1, 2, 1), sort(&[V, V, V, V], 1, 2, 1);
    Y444p12 "Y444_12LE" (12, 0): LUMA, sort(&[U, U, U, U], 1, 1, 1), sort(&[V, V, V, V], 1, 1, 1);
    Gray16 "GRAY16_LE" (16, 0): LUMA;
    Rgba64 "RGBA64_LE" (16, 0): sort(&[R, G, B, A], 4, 1, 1);
    Argb64 "ARGB64_LE" (16, 0): sort(&[A, R, G, B], 4, 1, 1);
    #[cfg(target_endian = "little")]
    Argb64Native "ARGB64" (16, 0): sort(&[A, R, G, B], 4, 1, 1);
}

impl Format {
    /// The format of that name.
    pub fn find(name: &str) -> Option<Format> {
        Format::ALL.iter().copied().find(|format| format.name() == name)
    }

    /// Whether the measured plane holds R, G and B rather than luma.
    pub fn is_rgb(self) -> bool {
        self.sorts()[0].lanes.contains(&R)
    }
}

/// The nominal range in codes: where black and white are, the neutral chroma, and the largest code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub black: u16,
    pub white: u16,
    pub neutral: u16,
    pub max: u16,
}

impl Range {
    /// Limited ("video", 16–235) range at 8 bit.
    pub const LIMITED: Range = Range { black: 16, white: 235, neutral: 128, max: 255 };
    /// Full ("PC", 0–255) range at 8 bit.
    pub const FULL: Range = Range { black: 0, white: 255, neutral: 128, max: 255 };

    /// The same range at another depth, in bits.
    pub fn at(self, depth: u32) -> Range {
        let max = ((1u32 << depth) - 1) as u16;
        let scale = |code: u16| match code {
            code if code == self.max => max,
            code => (u64::from(code) * (u64::from(max) + 1) / self.codes() as u64) as u16,
        };
        Range { black: scale(self.black), white: scale(self.white), neutral: scale(self.neutral), max }
    }

    /// Number of codes.
    pub fn codes(&self) -> usize {
        usize::from(self.max) + 1
    }

    /// Codes from one bin of a histogram, or one entry of a curve, to the next, as their binary logarithm: 0 up to
    /// 10 bits.
    pub fn bin_shift(&self) -> u32 {
        self.codes().ilog2().saturating_sub(MOST_BINS.ilog2())
    }

    /// Bins of a histogram and entries of a curve: one for each code up to 10 bits, 1024 above.
    pub fn bins(&self) -> usize {
        self.codes() >> self.bin_shift()
    }
}

/// Luma weights of R, G and B in 1/65536, which sum to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LumaWeights(pub [u32; 3]);

impl LumaWeights {
    pub const BT709: LumaWeights = LumaWeights([13933, 46871, 4732]);
    pub const BT601: LumaWeights = LumaWeights([19595, 38470, 7471]);
    pub const BT2020: LumaWeights = LumaWeights([17216, 44434, 3886]);
}

/// How one plane of a frame lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneShape {
    /// One unit of lanes; their number is a multiple of [`TEXEL`].
    pub lanes: &'static [Lane],
    /// Samples of a row, padding not counted.
    pub samples: usize,
    /// Bytes of these.
    pub bytes: usize,
    /// Rows of the plane.
    pub rows: usize,
    /// Pixels of the picture that a whole unit covers in its row.
    pub unit_pixels: usize,
}

impl PlaneShape {
    /// Units that a row spans, the last one perhaps in part.
    pub fn units(&self) -> usize {
        self.samples.div_ceil(self.lanes.len())
    }

    /// Texels that hold a row's units.
    pub fn texels(&self) -> usize {
        self.units() * self.lanes.len() / TEXEL
    }
}

/// Format, size, range and planes of the frames of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameInfo {
    pub format: Format,
    /// Pixels of a row, 1 and up.
    pub width: usize,
    /// Rows, 1 and up.
    pub height: usize,
    pub range: Range,
    /// How R, G and B make luma: the matrix of the caps, and of RGB formats, whose caps carry none, that of their
    /// primaries.
    pub weights: LumaWeights,
    pub planes: Vec<PlaneShape>,
}

impl FrameInfo {
    /// Describes frames of `width` × `height` pixels, both at least 1. `range` may be that of another depth.
    pub fn new(format: Format, width: usize, height: usize, range: Range, weights: LumaWeights) -> FrameInfo {
        assert!(width > 0 && height > 0, "a frame has at least one pixel, not {width}×{height}");
        let packing = format.packing();
        let shape = |sort: &PlaneSort| {
            let samples = width.div_ceil(sort.site_pixels) * sort.site_samples;
            PlaneShape {
                lanes: sort.lanes,
                samples,
                bytes: samples * packing.bytes(),
                rows: height.div_ceil(sort.row_pixels),
                unit_pixels: sort.lanes.len() / sort.site_samples * sort.site_pixels,
            }
        };
        let range = range.at(packing.depth);
        let planes = format.sorts().iter().map(shape).collect();
        FrameInfo { format, width, height, range, weights, planes }
    }

    /// The plane that is measured.
    pub fn measured(&self) -> &PlaneShape {
        &self.planes[0]
    }

    /// Where in the measured plane's unit the alpha sample lies, if there is one.
    pub fn alpha(&self) -> Option<usize> {
        self.measured().lanes.iter().position(|lane| *lane == Lane::Alpha)
    }

    /// Checks that the memory of a frame holds what this description says.
    ///
    /// # Errors
    /// If there are fewer planes, a stride is smaller than its row, or a plane ends before its last row does.
    pub fn check(&self, planes: &Planes) -> Result<(), FrameError> {
        if planes.len() != self.planes.len() {
            return Err(FrameError::Planes { planes: planes.len(), wanted: self.planes.len() });
        }
        for (index, (plane, shape)) in planes.iter().zip(&self.planes).enumerate() {
            if plane.stride < shape.bytes {
                return Err(FrameError::Stride { plane: index, stride: plane.stride, row: shape.bytes });
            }
            let wanted = (shape.rows - 1).checked_mul(plane.stride).and_then(|bytes| bytes.checked_add(shape.bytes));
            if wanted.is_none_or(|wanted| plane.data.len() < wanted) {
                return Err(FrameError::Short {
                    plane: index,
                    bytes: plane.data.len(),
                    rows: shape.rows,
                    stride: plane.stride,
                });
            }
        }
        Ok(())
    }
}

impl fmt::Display for FrameInfo {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} {}×{}", self.format.name(), self.width, self.height)
    }
}

/// Why the memory of a frame cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("the frame has {planes} planes, not {wanted}")]
    Planes { planes: usize, wanted: usize },
    #[error("plane {plane} has a stride of {stride} bytes, less than its row of {row}")]
    Stride { plane: usize, stride: usize, row: usize },
    #[error("plane {plane} has {bytes} bytes, too few for {rows} rows of stride {stride}")]
    Short { plane: usize, bytes: usize, rows: usize, stride: usize },
    /// The owner of the memory could not give it (no buffer, no mapping, flushing).
    #[error("no memory for the frame: {0}")]
    Memory(String),
}

/// One plane to read.
#[derive(Clone, Copy, Debug)]
pub struct Plane<'a> {
    pub data: &'a [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// One plane to write.
#[derive(Debug)]
pub struct PlaneMut<'a> {
    pub data: &'a mut [u8],
    /// Bytes from one row to the next.
    pub stride: usize,
}

/// The planes of a frame to read.
pub type Planes<'a> = ArrayVec<Plane<'a>, 4>;
/// The planes of a frame to write.
pub type PlanesMut<'a> = ArrayVec<PlaneMut<'a>, 4>;

/// The memory that a frame is applied to.
pub enum Access<'a> {
    /// Input and output are the same memory.
    InPlace(PlanesMut<'a>),
    /// The output is written beside the input, every sample of every row.
    Copy { input: Planes<'a>, output: PlanesMut<'a> },
}

/// One frame on its way through the leveler: owns its memory, keeps it mapped, and provides its output.
///
/// The input stays readable and unchanged until the output is complete.
pub trait FrameMemory: Send {
    /// The input's planes, one for each of [`FrameInfo::planes`].
    fn input(&self) -> Planes<'_>;

    /// Input and output together: the same memory only where `in_place` is true and it is the owner's alone.
    /// First called when the frame is applied, so that the owner may put off finding memory for the output
    /// until it is known to be needed; called again, it gives the same output.
    ///
    /// # Errors
    /// If no memory can be had ([`FrameError::Memory`]).
    fn access(&mut self, in_place: bool) -> Result<Access<'_>, FrameError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(format: Format, width: usize, height: usize) -> FrameInfo {
        FrameInfo::new(format, width, height, Range::LIMITED, LumaWeights::BT709)
    }

    #[test]
    fn planes_of_odd_sizes_keep_every_sample() {
        let shapes = |format| {
            let planes = info(format, 5, 3).planes;
            planes.iter().map(|p| (p.samples, p.rows, p.units(), p.texels(), p.unit_pixels)).collect::<Vec<_>>()
        };
        assert_eq!(shapes(Format::Nv12), [(5, 3, 2, 2, 4), (6, 2, 2, 2, 4)]);
        assert_eq!(shapes(Format::I420), [(5, 3, 2, 2, 4), (3, 2, 1, 1, 8), (3, 2, 1, 1, 8)]);
        assert_eq!(shapes(Format::Y42b), [(5, 3, 2, 2, 4), (3, 3, 1, 1, 8), (3, 3, 1, 1, 8)]);
        assert_eq!(shapes(Format::Y444), [(5, 3, 2, 2, 4); 3]);
        assert_eq!(shapes(Format::Yuy2), [(12, 3, 3, 3, 2)]);
        assert_eq!(shapes(Format::Bgra), [(20, 3, 5, 5, 1)]);
        assert_eq!(shapes(Format::Rgb), [(15, 3, 2, 6, 4)]);
        assert_eq!(shapes(Format::P010), shapes(Format::Nv12));
        let bytes = |format| info(format, 5, 3).planes.iter().map(|plane| plane.bytes).collect::<Vec<_>>();
        assert_eq!(bytes(Format::Nv12), [5, 6]);
        assert_eq!(bytes(Format::P010), [10, 12]);
        assert_eq!(bytes(Format::Rgba64), [40]);
    }

    #[test]
    fn ranges_are_the_same_at_every_depth() {
        let limited = |depth| Range::LIMITED.at(depth);
        assert_eq!(limited(8), Range::LIMITED);
        assert_eq!(limited(10), Range { black: 64, white: 940, neutral: 512, max: 1023 });
        assert_eq!(limited(12), Range { black: 256, white: 3760, neutral: 2048, max: 4095 });
        assert_eq!(Range::FULL.at(16), Range { black: 0, white: 65535, neutral: 32768, max: 65535 });
        assert_eq!(limited(12).at(10).at(8), Range::LIMITED);
        assert_eq!(info(Format::P010, 4, 4).range, limited(10));
        let bins = [8, 10, 12, 16].map(|depth| (limited(depth).bins(), limited(depth).bin_shift()));
        assert_eq!(bins, [(256, 0), (1024, 0), (1024, 2), (1024, 6)]);
    }

    #[test]
    fn bits_that_hold_no_code_stay() {
        let packing = Format::P010.packing();
        assert_eq!(packing.code(0xFFC7), 1023);
        assert_eq!(packing.with_code(0xFFC7, 1), 0x0047);
        let packing = Format::I420p10.packing();
        assert_eq!((packing.code(0xFC05), packing.with_code(0xFC05, 7)), (5, 0xFC07));
        assert!((0..=u16::MAX).all(|sample| packing.with_code(sample, packing.code(sample)) == sample));
    }

    #[test]
    fn luma_weights_sum_to_one() {
        for LumaWeights(weights) in [LumaWeights::BT601, LumaWeights::BT709, LumaWeights::BT2020] {
            assert_eq!(weights.iter().sum::<u32>(), 65536);
        }
    }

    #[test]
    fn memory_that_does_not_hold_the_frame_is_refused() {
        let info = info(Format::Gray8, 5, 3);
        let check = |bytes: usize, stride| info.check(&Planes::from_iter([Plane { data: &vec![0; bytes], stride }]));
        assert_eq!(check(8 * 2 + 5, 8), Ok(()));
        assert!(matches!(check(8 * 2 + 4, 8), Err(FrameError::Short { .. })));
        assert!(matches!(check(100, 4), Err(FrameError::Stride { .. })));
        assert!(matches!(check(100, usize::MAX), Err(FrameError::Short { .. })));
        assert!(matches!(info.check(&Planes::new()), Err(FrameError::Planes { .. })));
    }
}
