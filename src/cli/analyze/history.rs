//! Histograms and levels over time in bounded memory, for the plot.

use autolevels::levels::curves::Curves;

use super::measure::Measured;

/// Most columns that are kept; with more, two become one.
const COLUMNS: usize = 2048;
/// Seconds that a column covers at first.
const FIRST_WIDTH: f64 = 1.0 / 60.0;
/// Luma bins of a column.
pub const BINS: usize = 256;

/// What happened in one stretch of time.
#[derive(Clone)]
pub struct Column {
    /// Frames in it; a column without one looks like the one before it.
    pub frames: u32,
    /// Share of the pixels at each luma, summed over the frames.
    pub histogram: Box<[f32; BINS]>,
    /// Sums over the frames: levels as shares of all codes.
    pub black: f64,
    pub white: f64,
    pub gain: f64,
    /// Largest of the frames.
    pub cut: f64,
}

impl Column {
    fn empty() -> Column {
        Column { frames: 0, histogram: Box::new([0.0; BINS]), black: 0.0, white: 0.0, gain: 0.0, cut: 0.0 }
    }

    fn add(&mut self, other: &Column) {
        self.frames += other.frames;
        self.histogram.iter_mut().zip(other.histogram.iter()).for_each(|(sum, share)| *sum += share);
        self.black += other.black;
        self.white += other.white;
        self.gain += other.gain;
        self.cut = self.cut.max(other.cut);
    }
}

/// All frames so far.
pub struct History {
    pub columns: Vec<Column>,
    /// Seconds that a column covers.
    pub width: f64,
    /// Pixels at each luma in all frames, as they came and as they would go.
    pub before: Vec<u64>,
    pub after: Vec<u64>,
}

impl History {
    pub fn new() -> History {
        History { columns: Vec::new(), width: FIRST_WIDTH, before: vec![0; BINS], after: vec![0; BINS] }
    }

    /// Adds a frame.
    pub fn add(&mut self, measured: &Measured) {
        let (codes, shift) = (measured.info.range.codes(), measured.info.range.bin_shift());
        let bin = |code: usize| code * BINS / codes;
        let pixels: u64 = measured.histogram.iter().map(|count| u64::from(*count)).sum();
        let mut column = Column::empty();
        column.frames = 1;
        for (entry, &count) in measured.histogram.iter().enumerate() {
            let code = entry << shift;
            column.histogram[bin(code)] += count as f32 / pixels.max(1) as f32;
            self.before[bin(code)] += u64::from(count);
            self.after[bin(out(measured.curves, entry))] += u64::from(count);
        }
        let report = &measured.report;
        let share = |level: f64| level / (codes - 1) as f64;
        (column.black, column.white) = (share(report.black), share(report.white));
        (column.gain, column.cut) = (report.gain, report.cut);
        self.place(measured.time.as_secs_f64(), &column);
    }

    fn place(&mut self, time: f64, column: &Column) {
        while time / self.width >= COLUMNS as f64 {
            self.halve();
        }
        let index = (time / self.width) as usize;
        if self.columns.len() <= index {
            self.columns.resize_with(index + 1, Column::empty);
        }
        self.columns[index].add(column);
    }

    fn halve(&mut self) {
        let half = self.columns.chunks(2).map(|pair| {
            let mut sum = Column::empty();
            pair.iter().for_each(|column| sum.add(column));
            sum
        });
        self.columns = half.collect();
        self.width *= 2.0;
    }

    /// Columns made of means, with the gaps filled by the column before.
    pub fn means(&self) -> Vec<Column> {
        let mut last = Column::empty();
        let mean = |column: &Column| {
            if column.frames > 0 {
                let n = f64::from(column.frames);
                last = Column {
                    histogram: Box::new(column.histogram.map(|share| share / n as f32)),
                    black: column.black / n,
                    white: column.white / n,
                    gain: column.gain / n,
                    ..column.clone()
                };
                return last.clone();
            }
            Column { frames: 0, cut: 0.0, ..last.clone() }
        };
        self.columns.iter().map(mean).collect()
    }

    /// Seconds from the start to the end.
    pub fn seconds(&self) -> f64 {
        self.columns.len() as f64 * self.width
    }
}

fn out(curves: &Curves, entry: usize) -> usize {
    usize::from(curves.tables[0][entry])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(gain: f64) -> Column {
        let mut column = Column::empty();
        column.histogram[7] = 1.0;
        Column { frames: 1, gain, cut: gain / 10.0, ..column }
    }

    #[test]
    fn long_files_take_no_more_columns_and_lose_no_frame() {
        let mut history = History::new();
        for frame in 0..100_000 {
            history.place(f64::from(frame) / 25.0, &column(2.0));
        }
        assert!(history.columns.len() <= COLUMNS && history.columns.len() > COLUMNS / 2);
        assert_eq!(history.columns.iter().map(|column| column.frames).sum::<u32>(), 100_000);
        assert!((history.seconds() - 4000.0).abs() < history.width * 2.0);
        assert!(history.means().iter().all(|mean| mean.gain == 2.0 && (mean.histogram[7] - 1.0).abs() < 1e-6));
    }

    #[test]
    fn gaps_look_like_what_was_before_and_cuts_are_kept() {
        let mut history = History::new();
        history.place(0.0, &column(3.0));
        history.place(10.0 * FIRST_WIDTH + 0.001, &column(5.0));
        let means = history.means();
        assert_eq!(means.len(), 11);
        assert_eq!((means[9].gain, means[9].cut, means[9].frames), (3.0, 0.0, 0));
        assert_eq!((means[10].gain, means[10].cut), (5.0, 0.5));
    }
}
