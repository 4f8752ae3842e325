"""Reads what `attnlab export` wrote with pandas and polars, and compares the two formats.

    cargo run --release --features parquet -- export runs/map --format csv
    cargo run --release --features parquet -- export runs/map --format parquet
    python3 experiments/read_exports.py runs/map

Needs pandas, polars and pyarrow; run by hand, no part of the tests.
"""

import json
import re
import sys
from pathlib import Path

import pandas
import polars


def as_list(value):
    return json.loads(value) if isinstance(value, str) else list(value)


def as_written(value):
    """The text of a cell without the apostrophe that keeps it from being a formula."""
    return re.sub(r"\A'(?='*[=+\-@\t\r\n])", "", value) if isinstance(value, str) else value


def main(folder: Path) -> None:
    csv, parquet = folder / "rows.csv", folder / "rows.parquet"
    # The default parser of pandas before 3 may be off by one unit in the last place.
    old = int(pandas.__version__.split(".")[0]) < 3
    exact = {"float_precision": "round_trip"} if old else {}
    a = pandas.read_csv(csv, dtype={"cell": str}, **exact)
    b = pandas.read_parquet(parquet)
    c = polars.read_csv(csv, infer_schema_length=None, schema_overrides={"cell": polars.String})
    d = polars.read_parquet(parquet)
    assert list(a.columns) == list(b.columns) == c.columns == d.columns, "columns"
    assert len(a) == len(b) == len(c) == len(d), "rows"
    for name in a.columns:
        csv_columns = ([as_written(v) for v in column] for column in (a[name].tolist(), c[name].to_list()))
        columns = [*csv_columns, b[name].tolist(), d[name].to_list()]
        for values in zip(*columns):
            missing = [v is None or (isinstance(v, float) and v != v) for v in values]
            if any(missing):
                assert all(missing), (name, values)
            elif isinstance(d[name].dtype, polars.List):
                lists = [as_list(v) for v in values]
                assert all(repr(list(map(float, x))) == repr(list(map(float, lists[0]))) for x in lists), (name, values)
            else:
                assert all(v == values[0] for v in values), (name, values)
    print(f"{len(a)} rows, {len(a.columns)} columns: pandas and polars agree on CSV and Parquet")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
