//! Parquet, written with the reference implementation of Apache Arrow.

use super::{Column, Values};
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use attnlab_core::error::{Error, Result};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

/// Converts columns to the bytes of a Parquet file; a series is a list of doubles.
///
/// # Errors
/// When the columns are not of equal length.
pub fn to_parquet(columns: &[Column]) -> Result<Vec<u8>> {
    let failed = |e: &dyn std::fmt::Display| Error::unwritable("the table (Parquet)", e);
    let arrays = columns.iter().map(|c| (c.name.as_str(), array(&c.values), true));
    let batch = RecordBatch::try_from_iter_with_nullable(arrays).map_err(|e| failed(&e))?;
    let mut bytes = vec![];
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).map_err(|e| failed(&e))?;
    writer.write(&batch).map_err(|e| failed(&e))?;
    writer.close().map_err(|e| failed(&e))?;
    Ok(bytes)
}

fn array(values: &Values) -> ArrayRef {
    match values {
        Values::Whole(v) => Arc::new(UInt64Array::from(v.clone())),
        Values::Number(v) => Arc::new(Float64Array::from(v.clone())),
        Values::Flag(v) => Arc::new(BooleanArray::from(v.clone())),
        Values::Text(v) => Arc::new(StringArray::from(v.clone())),
        Values::Series(v) => {
            let mut lists = ListBuilder::new(Float64Builder::new());
            for series in v {
                match series {
                    Some(series) => lists.append_value(series.iter().map(|x| Some(*x))),
                    None => lists.append_null(),
                }
            }
            Arc::new(lists.finish())
        }
    }
}
