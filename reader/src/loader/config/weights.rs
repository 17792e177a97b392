//! `Weights`: how often classes or samples come, and where the number of each sample is found.

use std::sync::Arc;

use tarflume_dataset::Dataset;
use tarflume_types::Result;

use crate::order::{Contents, Order, Selection, Shuffle};

/// A whole number for each sample of a data set, such as its class: where it is found.
///
/// Text that begins with `/` is a pointer into the part `json`; other text is a part that contains the number, such as
/// `cls`. Numbers of a program come in the order of ordinals.
///
/// ```
/// use tarflume::Numbers;
///
/// let in_json: Numbers = "/class".into();
/// let computed: Numbers = vec![0, 1, 1, 0].into();
/// ```
#[derive(Debug, Clone)]
pub struct Numbers(Place);

#[derive(Debug, Clone)]
enum Place {
    Part(String),
    Given(Arc<[i64]>),
}

impl From<&str> for Numbers {
    fn from(part: &str) -> Numbers {
        Numbers(Place::Part(part.to_string()))
    }
}

impl From<Vec<i64>> for Numbers {
    fn from(numbers: Vec<i64>) -> Numbers {
        Numbers(Place::Given(numbers.into()))
    }
}

impl From<Arc<[i64]>> for Numbers {
    fn from(numbers: Arc<[i64]>) -> Numbers {
        Numbers(Place::Given(numbers))
    }
}

impl Numbers {
    pub(crate) fn of(&self, dataset: &Dataset) -> Result<Arc<[i64]>> {
        match &self.0 {
            Place::Part(part) => dataset.numbers(part),
            Place::Given(numbers) => Ok(numbers.clone()),
        }
    }
}

/// How often the samples of a data set come; for [`LoaderBuilder::weights`](crate::LoaderBuilder::weights).
///
/// All weights are whole numbers. The order stays a function of data set, seed, epoch and shuffle.
#[derive(Debug, Clone)]
pub struct Weights(WeightKind);

#[derive(Debug, Clone)]
enum WeightKind {
    Balanced(Numbers),
    Classes(Numbers, Arc<[(i64, u64)]>),
    Samples(Numbers),
}

impl Weights {
    /// Every class as often as any other. An epoch has as many samples as without weights: samples of small
    /// classes come several times in it.
    pub fn balanced(classes: impl Into<Numbers>) -> Weights {
        Weights(WeightKind::Balanced(classes.into()))
    }

    /// Each class by its weight; 0 leaves a class out.
    pub fn of_classes(
        classes: impl Into<Numbers>,
        weights: impl IntoIterator<Item = (i64, u64)>,
    ) -> Weights {
        Weights(WeightKind::Classes(classes.into(), weights.into_iter().collect()))
    }

    /// Each sample as often in a pass as its weight; 0 leaves a sample out. Needs [`Shuffle::Full`] or no shuffle.
    pub fn of_samples(weights: impl Into<Numbers>) -> Weights {
        Weights(WeightKind::Samples(weights.into()))
    }

    /// The order of the selected samples.
    ///
    /// # Errors
    /// Those of reading the numbers and of [`Order::by_class`] and [`Order::by_weight`].
    pub(crate) fn order(
        &self,
        dataset: &Dataset,
        contents: Arc<Contents>,
        selection: &Selection,
        shuffle: Shuffle,
    ) -> Result<Order> {
        let order = match &self.0 {
            WeightKind::Balanced(classes) => {
                let classes = classes.of(dataset)?;
                let weights = equal(&classes, selection);
                Order::by_class(contents, selection, &classes, weights, shuffle)
            }
            WeightKind::Classes(classes, weights) => {
                let classes = classes.of(dataset)?;
                let weights = weights.iter().copied();
                Order::by_class(contents, selection, &classes, weights, shuffle)
            }
            WeightKind::Samples(weights) => {
                let weights = weights.of(dataset)?;
                Order::by_weight(contents, selection, &weights, shuffle)
            }
        };
        Ok(order?)
    }
}

/// Weight 1 for every class that a selected sample has.
fn equal(classes: &[i64], selection: &Selection) -> Vec<(i64, u64)> {
    let ordinals = selection.runs().flatten().filter_map(|ordinal| usize::try_from(ordinal).ok());
    let found: std::collections::HashSet<i64> =
        ordinals.filter_map(|ordinal| classes.get(ordinal).copied()).collect();
    found.into_iter().map(|class| (class, 1)).collect()
}
