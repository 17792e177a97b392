//! Arrays in chunks that are decoded: data sets of HDF5, arrays of Zarr.

#[cfg(feature = "hdf5")]
pub(crate) mod hdf5;
pub(crate) mod zarr;
