//! Decodes pictures whose coefficients come in several scans: reads all scans, then draws with the
//! same code as for other pictures.

use crate::error::Result;
use crate::picture::job::{Job, Report};
use crate::picture::layout::Layout;
use crate::picture::lines::Color;
use crate::picture::planes::McuRow;
use crate::picture::slot::Slot;
use crate::several_scans::coefficients::Grid;
use crate::several_scans::scans::{Needed, Scans};
use crate::simd::Simd;

/// Decodes a job on its own.
///
/// # Errors
/// Returns an error if the job is invalid, the picture is damaged, or memory is exhausted.
pub(crate) fn decode(
    scans: &mut Scans,
    slot: &mut Slot,
    simd: &Simd,
    job: &mut Job<'_>,
) -> Result<Report> {
    slot.open_several(job)?;
    draw(scans, slot, simd, job).inspect_err(|_| scans.coefficients.wipe())?;
    Ok(slot.report)
}

fn draw(scans: &mut Scans, slot: &mut Slot, simd: &Simd, job: &mut Job<'_>) -> Result<()> {
    let rows = slot.layout.rows.clone();
    let first = slot.layout.columns.start;
    let grid = Grid::kept(job.header, &rows, &slot.layout.columns);
    let read = grid.counts().0;
    let wanted = wanted(&slot.layout, job);
    slot.divisors = scans.read(job.bytes, job.header, grid, wanted)?;
    for row in rows {
        let (coefficients, last) = scans.coefficients.row(row);
        slot.put(simd, job, McuRow { row, first, coefficients, last });
    }
    scans.coefficients.release();
    slot.note(scans.irregular);
    slot.report.decoded = read;
    slot.report.several_scans = true;
    Ok(())
}

/// Returns the coefficients that the pixels depend on.
fn wanted(layout: &Layout, job: &Job<'_>) -> [Needed; 4] {
    let luma = job.color == Color::Gray && job.header.ycc && layout.count == 3;
    let mut wanted = [Needed::Nothing; 4];
    for (n, (wanted, part)) in wanted.iter_mut().zip(layout.parts()).enumerate() {
        *wanted = match part.block {
            1 => Needed::Dc,
            _ => Needed::All,
        };
        if luma && n > 0 {
            *wanted = Needed::Nothing;
        }
    }
    wanted
}
