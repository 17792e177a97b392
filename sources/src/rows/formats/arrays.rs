//! Arrays of other formats than NumPy's: in chunks that are decoded (HDF5, Zarr), of MNIST, and of MATLAB.

#[cfg(feature = "hdf5")]
pub(crate) mod hdf5;
pub(crate) mod idx;
pub(crate) mod mat;
pub(crate) mod pickles;
pub(crate) mod zarr;
