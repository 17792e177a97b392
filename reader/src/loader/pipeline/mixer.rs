//! `Mixer`: mixes the rows of a closed batch, and writes the columns for the loss.
//!
//! Draws depend on the seed, the epoch, and where the batch is in it: not on threads or on where a job was resumed. Rows
//! that hold a substitute or are padding are neither mixed nor anyone's partner.

mod batch_draws;
pub(crate) mod mosaicker;
mod object_form;
pub(crate) mod object_mixers;
pub(crate) mod paster;

use std::sync::Arc;

use tarflume_device::batch::Content;
use tarflume_device::slab::Slab;
use tarflume_formats::name;
use tarflume_image::ImageSize;
use tarflume_transforms::device_list::{LIST_BYTES, write_mix};
use tarflume_transforms::mixing::{
    How, Mix, MixPlan, MixTargets, MixedRow, MixedRows, Region, SoftTarget,
};
use tarflume_types::{DType, Error, ErrorKind, Result, RowShape};

use crate::decode::Decode;
use crate::loader::pipeline::columns::{ColumnSet, Columns};

use self::batch_draws::{batch_key, mixed_column, number_of, takers};

/// The name of the column of weights, beside those of both labels.
const LAM: &str = "lam";

/// What is kept of the mix of a row: its partner, or -1, the weight of the row, and the region of CutMix as its top, left,
/// bottom and right; no region of MixUp.
type KeptMix = [f64; 6];

/// The name of the column that has [`KeptMix`] of the rows of column `image`.
pub(crate) fn mix_column(image: &str) -> String {
    format!("{image}_mix")
}

/// How row `row` was mixed; `None` if it was not.
pub(crate) fn mixed_row(row: usize, kept: &[f64]) -> Option<MixedRow> {
    let [partner, lam, top, left, bottom, right] = *kept.as_array::<6>()?;
    if partner < 0.0 {
        return None;
    }
    let [top, left, bottom, right] = [top, left, bottom, right].map(|number| number as u32);
    let region = Region { top, left, bottom, right };
    let how = if bottom == 0 { How::Blend { lam } } else { How::Paste { region, lam } };
    Some(MixedRow { row, partner: partner as usize, how })
}

/// The column of this name.
fn found<'a>(columns: &'a Columns, name: &str) -> Result<&'a Arc<dyn Decode>> {
    let column = columns.iter().find(|(other, _)| other == name);
    column.map(|(_, decode)| decode).ok_or_else(|| {
        let names: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join(", ");
        Error::usage(format!("Mix: there is no column '{name}'; the columns are: {names}"))
    })
}

/// The columns that `mix` adds to `columns`; with `keep`, one of what was drawn among them.
///
/// # Errors
/// A setting is wrong, or a column is missing.
pub(crate) fn added_columns(mix: &Mix, columns: &Columns, keep: bool) -> Result<Columns> {
    mix.validate()?;
    found(columns, &mix.image)?;
    let label = found(columns, &mix.label)?;
    let mut added = match mix.targets {
        MixTargets::Soft => {
            let shape = mix.num_classes.into_iter().collect();
            vec![mixed_column(mix.target.clone(), DType::F32, shape)]
        }
        MixTargets::Pair => {
            let dtype = label.shape().dtype();
            vec![
                mixed_column(format!("{}_a", mix.label), dtype, Vec::new()),
                mixed_column(format!("{}_b", mix.label), dtype, Vec::new()),
                mixed_column(LAM.to_string(), DType::F32, Vec::new()),
            ]
        }
    };
    if keep {
        added.push(mixed_column(mix_column(&mix.image), DType::F64, vec![6]));
    }
    Ok(added)
}

/// The columns that a mixer writes, by their numbers in the slab.
enum Outputs {
    /// The weights of all classes.
    Soft { column: usize, target: SoftTarget },
    /// The label of the row, that of its partner, and the weight of the row.
    Pair { own: usize, other: usize, lam: usize },
}

/// Where rows are mixed.
enum MixedOn {
    /// Here.
    Host(MixedRows),
    /// By a device, to which the lists in pictures of this height and width say how.
    Device([u32; 2]),
}

impl MixedOn {
    /// Height and width, for which a plan is drawn.
    fn size(&self) -> [u32; 2] {
        match self {
            MixedOn::Host(rows) => rows.size(),
            MixedOn::Device(size) => *size,
        }
    }

    /// Mixes the rows of a column, or writes how they are mixed.
    fn mix(&self, plan: &MixPlan, slab: &mut Slab, column: usize) {
        match self {
            MixedOn::Host(rows) => rows.mix(plan, slab.column_mut(column)),
            MixedOn::Device(_) => {
                for mixed in plan.rows() {
                    write_mix(&mut slab.row_mut(column, mixed.row)[..LIST_BYTES], mixed);
                }
            }
        }
    }
}

/// Mixes the batches of a loader.
pub(crate) struct Mixer {
    mix: Mix,
    seed: u64,
    rows: MixedOn,
    /// The numbers in the slab of the columns of pictures and labels.
    image: usize,
    label: usize,
    dtype: DType,
    outputs: Outputs,
    /// The number of the column of what was drawn, if that is kept.
    kept: Option<usize>,
}

impl Mixer {
    /// The mixer of batches of `columns`, to which [`added_columns`] were added.
    ///
    /// # Errors
    /// The rows of a column cannot be mixed, or are no labels.
    pub(crate) fn new(mix: Mix, seed: u64, columns: &ColumnSet, keep: bool) -> Result<Mixer> {
        let image = number_of(columns, &mix.image);
        let shape = &columns.layout.shapes()[image];
        let rows = match columns.listed(image) {
            Some(ImageSize { width, height }) => MixedOn::Device([height, width]),
            None => MixedOn::Host(mixed_rows(&mix, shape).map_err(|e| e.of_column(&mix.image))?),
        };
        let label = number_of(columns, &mix.label);
        let dtype = label_type(&columns.layout.shapes()[label]);
        let dtype = dtype.map_err(|e| e.of_column(&mix.label))?;
        let outputs = match mix.targets {
            MixTargets::Soft => Outputs::Soft {
                column: number_of(columns, &mix.target),
                target: SoftTarget::new(mix.num_classes.unwrap_or(0), mix.label_smoothing),
            },
            MixTargets::Pair => Outputs::Pair {
                own: number_of(columns, &format!("{}_a", mix.label)),
                other: number_of(columns, &format!("{}_b", mix.label)),
                lam: number_of(columns, LAM),
            },
        };
        let kept = keep.then(|| number_of(columns, &mix_column(&mix.image)));
        Ok(Mixer { mix, seed, rows, image, label, dtype, outputs, kept })
    }

    /// Mixes the rows of a sealed batch, whose first row is the sample at position `first` of the epoch. Returns the bytes
    /// of the column.
    ///
    /// # Errors
    /// A label is no class.
    pub(crate) fn mix(&self, content: &mut Content, plan: &mut MixPlan, first: u64) -> Result<u64> {
        let key = batch_key(content, self.seed, b"mixing  ", first);
        plan.draw(&self.mix, key, self.rows.size(), takers(&content.facts));
        let Content { slab, .. } = content;
        if !plan.is_idle() {
            self.rows.mix(plan, slab, self.image);
        }
        match self.outputs {
            Outputs::Soft { column, target } => self.write_soft(slab, plan, column, target)?,
            Outputs::Pair { own, other, lam } => self.write_pairs(slab, plan, [own, other, lam]),
        }
        if let Some(column) = self.kept {
            keep(slab, plan, column);
        }
        Ok(slab.column(self.image).len() as u64)
    }

    fn write_soft(
        &self,
        slab: &mut Slab,
        plan: &MixPlan,
        column: usize,
        target: SoftTarget,
    ) -> Result<()> {
        for row in 0..slab.rows() {
            let class = self.class(slab, row, target.classes())?;
            target.write(slab.row_mut(column, row), class, class, 1.0);
        }
        for mixed in plan.rows().iter().filter(|mixed| mixed.how != How::Alone) {
            let own = self.class(slab, mixed.row, target.classes())?;
            let other = self.class(slab, mixed.partner, target.classes())?;
            target.write(slab.row_mut(column, mixed.row), own, other, mixed.how.lam());
        }
        Ok(())
    }

    /// The class of a row.
    fn class(&self, slab: &mut Slab, row: usize, classes: usize) -> Result<usize> {
        let label = SoftTarget::class(self.dtype, slab.row_mut(self.label, row)).unwrap_or(-1);
        let class = usize::try_from(label).ok().filter(|&class| class < classes);
        class.ok_or_else(|| {
            let text = format!(
                "the label is {label}, and classes are 0 to {} with {classes} of them: pass the num_classes of the data set",
                classes - 1
            );
            let error = Error::new(ErrorKind::Decode, text).of_column(&self.mix.label);
            match slab.offsets(0) {
                Some(at) => {
                    let keys = slab.column(0);
                    error.with_key(name::shown(&keys[at[row] - at[0]..at[row + 1] - at[0]]))
                }
                None => error,
            }
        })
    }

    /// Writes the columns of the label, of the partner's label and of the weight.
    fn write_pairs(&self, slab: &mut Slab, plan: &MixPlan, [own, other, lam]: [usize; 3]) {
        for row in 0..slab.rows() {
            self.copy_label(slab, row, own, row);
            self.copy_label(slab, row, other, row);
            slab.row_mut(lam, row).copy_from_slice(&1f32.to_ne_bytes());
        }
        for mixed in plan.rows().iter().filter(|mixed| mixed.how != How::Alone) {
            self.copy_label(slab, mixed.partner, other, mixed.row);
            let weight = (mixed.how.lam() as f32).to_ne_bytes();
            slab.row_mut(lam, mixed.row).copy_from_slice(&weight);
        }
    }

    /// Copies the label of row `from` to row `row` of column `to`.
    fn copy_label(&self, slab: &mut Slab, from: usize, to: usize, row: usize) {
        let mut label = [0; 8];
        let label = &mut label[..self.dtype.size()];
        label.copy_from_slice(slab.row_mut(self.label, from));
        slab.row_mut(to, row).copy_from_slice(label);
    }
}

/// Writes what was drawn for each row.
fn keep(slab: &mut Slab, plan: &MixPlan, column: usize) {
    const ALONE: KeptMix = [-1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    for row in 0..slab.rows() {
        slab.row_mut(column, row).copy_from_slice(bytemuck::bytes_of(&ALONE));
    }
    for mixed in plan.rows() {
        let region = match mixed.how {
            How::Alone => continue,
            How::Blend { .. } => [0; 4],
            How::Paste { region, .. } => [region.top, region.left, region.bottom, region.right],
        };
        let [top, left, bottom, right] = region.map(f64::from);
        let kept = [mixed.partner as f64, mixed.how.lam(), top, left, bottom, right];
        slab.row_mut(column, mixed.row).copy_from_slice(bytemuck::bytes_of(&kept));
    }
}

/// The rows of a column of pictures.
fn mixed_rows(mix: &Mix, shape: &RowShape) -> Result<MixedRows> {
    match shape {
        RowShape::Fixed(dtype, shape) => MixedRows::new(*dtype, shape, mix.cutmix_alpha.is_some()),
        RowShape::Variable(_) | RowShape::Padded(_) | RowShape::Packed(_) => Err(Error::usage(
            "its rows have different sizes, and rows of one size can be mixed: give its pictures a size, as with \
             RandomResizedCrop, or leave Mix out",
        )),
    }
}

/// The type of a column of one integer a row.
fn label_type(shape: &RowShape) -> Result<DType> {
    match shape {
        RowShape::Fixed(dtype, dims) if dims.iter().product::<usize>() == 1 => {
            if SoftTarget::class(*dtype, &[0; 8][..dtype.size()]).is_some() {
                return Ok(*dtype);
            }
            Err(Error::usage(format!(
                "its elements are {dtype}, and labels are numbers of classes: take a column of integers, such as int64"
            )))
        }
        _ => Err(Error::usage(format!(
            "its rows are {shape:?}, and a label is one integer: take a column of numbers of classes"
        ))),
    }
}
