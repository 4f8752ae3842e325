//! NumPy files: bytes that NumPy and the description of the format give, both ways, and malformed files.
//!
//! Sources: [`TOKENS`] and [`LABELS`] are files of `numpy.save`; the other bytes follow the description in
//! `numpy.lib.format`, NEP 1.

use attnlab_core::npy::{self, Element, Header};
use ndarray::{Array3, ArrayD, ArrayRef, Dimension, IxDyn, arr0, array, s};
use proptest::prelude::*;

/// `np.save(np.asfortranarray(z))`, z of float32, (4, 4).
const TOKENS: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<f4', 'fortran_order': True, 'shape': (4, 4), }                                                           \n\x00\x00\x00@\x00\x00\x00?\x00\x00\x80>\x00\x00\x00\xbe\x00\x00\xc0?\x00\x00\x80\xbf\x00\x00\x00>\x00\x00\x80>\x00\x00\x80>\x00\x00\x00>\x00\x00\xe0?\x00\x00\x00?\x00\x00\x00\xbf\x00\x00\x80>\x00\x00\x00\xc0\x00\x00\xa0?";
/// `np.save(np.array([0, 0, 1, 1], 'i4'))`.
const LABELS: &[u8] = b"\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, 'shape': (4,), }                                                            \n\x00\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00";

/// Builds a file of version 1.0 with this header, not padded.
fn file(header: &str, data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(header.len()).unwrap().to_le_bytes();
    [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes(), data].concat()
}

fn header(dtype: &str, order: &str, shape: &str) -> String {
    format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}, }}\n")
}

fn read<T: Element>(bytes: &[u8]) -> ArrayD<T> {
    npy::read(bytes).unwrap()
}

fn refusal<T: Element>(bytes: &[u8]) -> String {
    let error = npy::read::<T>(bytes).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
    error.to_string()
}

fn written<T: Element, D: Dimension>(array: &ArrayRef<T, D>) -> Vec<u8> {
    let mut bytes = vec![];
    npy::write(array, &mut bytes).unwrap();
    bytes
}

#[test]
fn files_of_numpy_are_read() {
    let tokens = array![
        [2.0_f32, 1.5, 0.25, -0.5],
        [0.5, -1.0, 0.125, 0.25],
        [0.25, 0.125, 1.75, -2.0],
        [-0.125, 0.25, 0.5, 1.25]
    ];
    assert_eq!(read::<f32>(TOKENS), tokens.into_dyn());
    assert_eq!(read::<i32>(LABELS), array![0, 0, 1, 1].into_dyn());
    let parsed = Header::read(&mut &LABELS[..]).unwrap();
    assert_eq!(parsed, Header { dtype: "<i4".into(), fortran: false, shape: vec![4], start: 128 });
    assert_eq!((parsed.kind(), parsed.data_bytes()), ("i4", Some(16)));
}

/// Reads the bytes of a number and of its high byte first, as `T` and as an integer where it is one.
fn reads<T: Element + PartialEq + std::fmt::Debug>(little: &[u8], value: T, integer: Option<i128>) {
    let mut big = little.to_vec();
    big.reverse();
    for (order, data) in [("<", little), (">", &big[..])] {
        let header = header(&format!("{order}{}", T::KIND), "False", "(1,)");
        let bytes = file(&header, data);
        assert_eq!(read::<T>(&bytes).first(), Some(&value), "{header}");
        let mut reader = &bytes[..];
        let parsed = Header::read(&mut reader).unwrap();
        let integers = parsed.integers(&mut reader).unwrap();
        assert_eq!(integers.as_ref().and_then(|array| array.first()), integer.as_ref());
    }
}

#[test]
fn every_type_is_read_in_both_byte_orders() {
    reads(&[0x80], -128_i8, Some(-128));
    reads(&[0x80], 128_u8, Some(128));
    reads(&[0x01, 0x80], -32767_i16, Some(-32767));
    reads(&[0x01, 0x80], 32769_u16, Some(32769));
    reads(&[0xfe, 0xff, 0xff, 0xff], -2_i32, Some(-2));
    reads(&[0xfe, 0xff, 0xff, 0xff], 4_294_967_294_u32, Some(4_294_967_294));
    let low = [1, 0, 0, 0, 0, 0, 0, 0x80];
    reads(&low, i64::MIN + 1, Some(-9_223_372_036_854_775_807));
    reads(&low, 9_223_372_036_854_775_809_u64, Some(9_223_372_036_854_775_809));
    // IEEE 754: sign, exponent with bias 127 or 1023, fraction.
    reads(&[0, 0, 0x20, 0xc0], -2.5_f32, None);
    reads(&[0, 0, 0, 0, 0, 0, 0x04, 0xc0], -2.5_f64, None);
    for dtype in ["|u1", "u1"] {
        assert_eq!(read::<u8>(&file(&header(dtype, "False", "()"), &[7])).first(), Some(&7), "{dtype}");
    }
}

#[test]
fn orders_and_shapes_are_those_of_the_header() {
    let data = [1, 2, 3, 4, 5, 6];
    let rows = file(&header("|u1", "False", "(2, 3)"), &data);
    assert_eq!(read::<u8>(&rows), array![[1, 2, 3], [4, 5, 6]].into_dyn());
    let columns = file(&header("|u1", "True", "(2, 3)"), &data);
    assert_eq!(read::<u8>(&columns), array![[1, 3, 5], [2, 4, 6]].into_dyn());
    assert_eq!(read::<u16>(&file(&header("<u2", "False", "()"), &[1, 2])), arr0(513).into_dyn());
    for order in ["False", "True"] {
        assert_eq!(read::<f64>(&file(&header("<f8", order, "(2, 0, 3)"), &[])).shape(), &[2, 0, 3]);
    }
    // Any order of the keys, either quotes, no last comma, no newline, no space.
    let other = "{\"shape\":(3,),'fortran_order':True,\"descr\":\"|i1\"}";
    assert_eq!(read::<i8>(&file(other, &[1, 2, 255])), array![1, 2, -1].into_dyn());
    // Versions 2.0 and 3.0 have four bytes for the length.
    for version in [2, 3] {
        let header = header("|u1", "False", "(2,)");
        let length = u32::try_from(header.len()).unwrap().to_le_bytes();
        let begin = [&b"\x93NUMPY"[..], &[version, 0], &length, header.as_bytes()].concat();
        let bytes = [&begin[..], &[8, 9]].concat();
        assert_eq!(read::<u8>(&bytes), array![8, 9].into_dyn());
        let start = Header::read(&mut &bytes[..]).unwrap().start;
        assert_eq!(start, begin.len() as u64);
    }
}

/// More than one piece of the reader and of the writer, 64 KiB.
#[test]
fn long_arrays_are_read_and_written_piece_by_piece() {
    let long = Array3::from_shape_fn((30, 40, 50), |(i, j, k)| (i * 10_000 + j * 100 + k) as f64);
    for layout in [long.view(), long.view().reversed_axes(), long.slice(s![.., ..;-1, ..;2])] {
        assert_eq!(read::<f64>(&written(&layout)), layout.into_dyn());
    }
}

#[test]
fn bytes_of_the_writer_are_fixed() {
    let padded = |dtype: &str, order: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{dtype}', 'fortran_order': {order}, 'shape': {shape}}}");
        file(&format!("{header:<117}\n"), data)
    };
    let rows = array![[1_i16, 2], [3, 258]];
    let data = [1, 0, 2, 0, 3, 0, 2, 1];
    assert_eq!(written(&rows), padded("<i2", "False", "(2, 2)", &data));
    assert_eq!(written(&rows.t()), padded("<i2", "True", "(2, 2)", &data));
    let column = padded("<i2", "False", "(2,)", &[2, 0, 2, 1]);
    assert_eq!(written(&rows.column(1)), column);
    let bytes = padded("|u1", "False", "(2,)", &[7, 8]);
    assert_eq!(written(&array![7_u8, 8]), bytes);
    // 10 + 53 + 1 bytes are a multiple of 64 already: another 64 follow.
    assert_eq!(written(&arr0(-2.5_f64)), padded("<f8", "False", "()", &[0, 0, 0, 0, 0, 0, 0x04, 0xc0]));
    for (axes, start) in [(5, 128), (30, 192)] {
        assert_eq!(written(&ArrayD::<u8>::zeros(IxDyn(&vec![1; axes]))).len(), start + 1);
    }
}

#[test]
fn malformed_headers_are_refused() {
    let good = header("|u1", "False", "(2,)");
    for bytes in [&b""[..], b"\x93NUMPY", b"PK\x03\x04 and more", b"\x93NUMPY\x02\x00\x10\x00"] {
        let expected = "first bytes = others: must be those of numpy.save. Write the file again";
        assert_eq!(refusal::<u8>(bytes), expected);
    }
    let mut version = file(&good, &[1, 2]);
    version[6] = 4;
    let expected = "version = 4.0: must be 1.0, 2.0 or 3.0. Write the file again";
    assert_eq!(refusal::<u8>(&version), expected);
    let long = [&b"\x93NUMPY\x02\x00\xff\xff\xff\xff"[..], &[b' '; 100]].concat();
    assert!(refusal::<u8>(&long).starts_with("header = 4294967295 bytes: must be in the file"));
    let whole = file(&good, &[]);
    let cut = refusal::<u8>(&whole[..whole.len() - 1]);
    assert!(cut.starts_with(&format!("header = {} bytes", good.len())), "{cut}");
    let structured = header("|u1", "False", "(2,)").replace("'|u1'", "[('a', '<f8'), ('b', '<f8')]");
    let nested = ["[".repeat(60_000), "{".repeat(60_000), structured];
    for text in nested {
        let expected = "header = nested: must be that of a simple array. Write one array of numbers";
        assert_eq!(refusal::<u8>(&file(&text, &[])), expected);
    }
    for text in [
        "",
        "no header",
        "{",
        "{}",
        "{'descr': '|u1', 'fortran_order': False}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': '|u1' 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} 1",
        "{'descr': 1, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|\u{1b}1', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': None, 'shape': (2,)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': 2}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (2, -1)}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (18446744073709551616,)}",
    ] {
        let refused = refusal::<u8>(&file(text, &[1, 2]));
        assert!(refused.starts_with("header = \""), "{text}: {refused}");
        assert!(!refused.contains('\u{1b}'), "{text}: {refused:?}");
    }
    let mut noise = file(&good, &[1, 2]);
    noise[12] = 0xff;
    assert!(refusal::<u8>(&noise).starts_with("header = \""));
}

#[test]
fn data_that_do_not_fit_the_header_are_refused() {
    let type_of = |dtype: &str| refusal::<f64>(&file(&header(dtype, "False", "()"), &[0; 8]));
    for dtype in ["<f4", "<i8", "|O", "=f8", "|f8", "f8", "<<f8", "<U2", "<M8[s]"] {
        let expected = format!("type = {dtype}: must be f8 of a byte order, < or >");
        assert!(type_of(dtype).starts_with(&expected), "{dtype}");
    }
    let shaped = |shape: &str| refusal::<u8>(&file(&header("|u1", "False", shape), &[1, 2]));
    assert!(shaped("(3,)").starts_with("data = fewer bytes: must be 3"));
    assert!(shaped("(1,)").starts_with("data = more bytes: must be 1"));
    assert!(shaped("(0,)").starts_with("data = more bytes: must be 0"));
    // No memory is taken for what is announced.
    assert!(shaped("(18446744073709551615, 2, 2)").starts_with("data = fewer bytes"));
    assert!(shaped("(1000000, 1000000, 1000000)").starts_with("data = fewer bytes"));
    let empty = file(&header("|u1", "False", "(9223372036854775808, 4, 0)"), &[]);
    assert!(refusal::<u8>(&empty).contains("must fit into memory"));
    let announced = |dtype: &str, shape: &str| {
        let bytes = file(&header(dtype, "False", shape), &[]);
        Header::read(&mut &bytes[..]).unwrap().data_bytes()
    };
    assert_eq!(announced("<c16", "(2, 3)"), Some(96));
    assert_eq!(announced(">f8", "()"), Some(8));
    assert_eq!(announced("<f8", "(18446744073709551615, 2)"), Some(u64::MAX));
    assert_eq!(announced("|O", "(2,)"), None);
    assert_eq!(announced("", "(2,)"), None);
}

proptest! {
    /// A file with some bytes changed, cut or appended is read or refused.
    #[test]
    fn no_bytes_bring_the_reader_down(
        changes in prop::collection::vec((0_usize..150, any::<u8>()), 0..4),
        length in 0_usize..170,
    ) {
        let mut bytes = written(&array![[1.0_f64, 2.0], [3.0, 4.0]]);
        for (place, byte) in changes {
            bytes[place] = byte;
        }
        bytes.resize(length, b' ');
        let _ = npy::read::<f64>(&bytes[..]);
        let mut reader = &bytes[..];
        if let Ok(header) = Header::read(&mut reader) {
            let _ = header.integers(&mut reader);
        }
    }
}
