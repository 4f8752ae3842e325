//! Parquet, written with the reference implementation of Apache Arrow.

use super::{Column, Layout, Values};
use crate::run::files::Sink;
use crate::run::store::Stored;
use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt64Array};
use attnlab_core::error::{Error, Result};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// Converts columns to the bytes of a Parquet file; a series is a list of doubles.
///
/// # Errors
/// When the columns are not of equal length.
pub fn to_parquet(columns: &[Column]) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let batch = batch(columns)?;
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).map_err(|e| failed(&e))?;
    writer.write(&batch).map_err(|e| failed(&e))?;
    writer.close().map_err(|e| failed(&e))?;
    Ok(bytes)
}

/// Number of rows of a group of the file, which is held in memory until it is complete.
const GROUP: usize = 1 << 17;

/// Writes stored rows as Parquet, as [`to_parquet`] does, one group of rows in memory at a time.
///
/// # Errors
/// When the rows cannot be read, or the file not written; the latter names no path.
pub fn write_parquet(stored: &Stored, to: &mut Sink) -> Result<()> {
    let layout = Layout::scan(stored)?;
    let schema = batch(&layout.columns(&[])?)?.schema();
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(GROUP));
    let mut writer = ArrowWriter::try_new(to, schema, Some(groups.build())).map_err(|e| failed(&e))?;
    layout.for_each_block(stored, |columns, _| writer.write(&batch(columns)?).map_err(|e| failed(&e)))?;
    writer.close().map_err(|e| failed(&e))?;
    Ok(())
}

fn batch(columns: &[Column]) -> Result<RecordBatch> {
    let arrays = columns.iter().map(|c| (c.name.as_str(), array(&c.values), true));
    RecordBatch::try_from_iter_with_nullable(arrays).map_err(|e| failed(&e))
}

fn failed(e: &dyn std::fmt::Display) -> Error {
    Error::unwritable("the table (Parquet)", e)
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
