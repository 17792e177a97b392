//! Headers of arrays as written by NumPy 2.4.6, byte for byte, each with the expression that made
//! it.

/// A readable header: expression, bytes, type, Fortran order, shape.
pub(super) type Golden = (&'static str, &'static [u8], &'static str, bool, &'static [u64]);

pub(super) const READ: [Golden; 16] = [
    (
        "np.zeros((2, 3), '<f4')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                          \n",
        "<f4",
        false,
        &[2, 3],
    ),
    (
        "np.zeros((), '<i8')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (), }                                                              \n",
        "<i8",
        false,
        &[],
    ),
    (
        "np.zeros(5, '?')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }                                                            \n",
        "|b1",
        false,
        &[5],
    ),
    (
        "np.zeros((0, 4), '>f8')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '>f8', 'fortran_order': False, 'shape': (0, 4), }                                                          \n",
        ">f8",
        false,
        &[0, 4],
    ),
    (
        "np.zeros((2, 3), '<f2', order='F')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f2', 'fortran_order': True, 'shape': (2, 3), }                                                           \n",
        "<f2",
        true,
        &[2, 3],
    ),
    (
        "np.zeros((1, 1, 1, 1, 1, 1, 1, 1), 'i1')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|i1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1), }                                        \n",
        "|i1",
        false,
        &[1, 1, 1, 1, 1, 1, 1, 1],
    ),
    (
        "np.zeros(2, '<c16')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<c16', 'fortran_order': False, 'shape': (2,), }                                                           \n",
        "<c16",
        false,
        &[2],
    ),
    (
        "np.zeros(3, '<u2')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (3,), }                                                            \n",
        "<u2",
        false,
        &[3],
    ),
    (
        "np.array(['ab'], '<U2')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }                                                            \n",
        "<U2",
        false,
        &[1],
    ),
    (
        "np.array([b'xyz'])",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|S3', 'fortran_order': False, 'shape': (1,), }                                                            \n",
        "|S3",
        false,
        &[1],
    ),
    (
        "np.zeros(2, 'V5')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|V5', 'fortran_order': False, 'shape': (2,), }                                                            \n",
        "|V5",
        false,
        &[2],
    ),
    (
        "np.broadcast_to(np.float32(0), (1000, 1000, 10))",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1000, 1000, 10), }                                                \n",
        "<f4",
        false,
        &[1000, 1000, 10],
    ),
    (
        "np.zeros((12345678, 1), 'u1')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (12345678, 1), }                                                   \n",
        "|u1",
        false,
        &[12345678, 1],
    ),
    (
        "np.broadcast_to(np.uint8(0), (1, 1, 1, 1, 1, 1, 12345, 1))",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 12345, 1), }                                    \n",
        "|u1",
        false,
        &[1, 1, 1, 1, 1, 1, 12345, 1],
    ),
    (
        "np.zeros((2, 3), '<f4'), version=(2, 0)",
        b"\x93NUMPY\x02\x00t\x00\x00\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                        \n",
        "<f4",
        false,
        &[2, 3],
    ),
    (
        "np.zeros((2, 3), '<f4'), version=(3, 0)",
        b"\x93NUMPY\x03\x00t\x00\x00\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }                                                        \n",
        "<f4",
        false,
        &[2, 3],
    ),
];

/// Headers that are refused, and a word that the error must contain.
pub(super) const REFUSED: [(&str, &[u8], &str); 4] = [
    (
        "np.array([None])",
        b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }                                                             \n",
        "objects",
    ),
    (
        "np.zeros(3, [('a', '<f4'), ('b', 'u1')])",
        b"\x93NUMPY\x01\x00v\x00{'descr': [('a', '<f4'), ('b', '|u1')], 'fortran_order': False, 'shape': (3,), }                                     \n",
        "structured",
    ),
    (
        "np.zeros(2, 'M8[ns]')",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (2,), }                                                        \n",
        "dates",
    ),
    (
        "np.zeros((1,) * 9)",
        b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1), }                                     \n",
        "dimensions",
    ),
];
