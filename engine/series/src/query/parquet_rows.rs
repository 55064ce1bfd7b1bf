//! Rows as Parquet (<https://parquet.apache.org/docs/file-format/>): one file of row groups, each of which is in memory while it is gathered.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, PoisonError},
};

use parquet::{
    basic::{Compression, ConvertedType, Repetition, Type as PhysicalType},
    data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type},
    errors::ParquetError,
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::Type,
};
use prony_series_store::{Kind, TimeMs, Value};

use super::{
    cell::{COLUMNS, Cell},
    shape::{Output, Stopped},
};

/// Rows of a row group, and bytes of its texts, after which the next begins.
const GROUP_ROWS: usize = 64 << 10;
const GROUP_BYTES: usize = 16 << 20;

/// What a file is written to: what has come since it was last taken.
#[derive(Debug, Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Values of a column that are in no row group yet, with 1 for each row that has one, and 0 for each that has none.
#[derive(Debug)]
struct ParquetColumn {
    kind: Kind,
    levels: Vec<i16>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Doubles(Vec<f64>),
    Integers(Vec<i64>),
    Booleans(Vec<bool>),
    Texts(Vec<ByteArray>),
}

/// A file that is being written.
pub(super) struct ParquetRows {
    writer: SerializedFileWriter<Written>,
    written: Written,
    /// `id`, `type` and `time`, then the attributes.
    columns: Vec<ParquetColumn>,
    rows: usize,
    text_bytes: usize,
}

/// Writing into memory fails only where this file is wrong about the format.
fn impossible(error: &ParquetError) -> Stopped {
    tracing::error!(%error, "a Parquet file cannot be written");
    Stopped::Gone
}

impl ParquetRows {
    /// `attributes` are the columns behind the first three, with their kinds.
    pub(super) fn new(attributes: &[(String, Kind)]) -> Result<Self, Stopped> {
        let first = [Kind::Text, Kind::Text, Kind::Time];
        let own = COLUMNS.iter().zip(first).map(|(name, kind)| (*name, kind));
        let all = own.chain(attributes.iter().map(|(name, kind)| (&**name, *kind)));
        let (fields, columns): (Vec<_>, Vec<_>) =
            all.map(|(name, kind)| (field(name, kind).map(Arc::new), ParquetColumn::new(kind))).unzip();
        let fields = fields.into_iter().collect::<Result<_, _>>().map_err(|error| impossible(&error))?;
        let schema = Type::group_type_builder("rows").with_fields(fields).build();
        let schema = Arc::new(schema.map_err(|error| impossible(&error))?);
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let written = Written::default();
        let writer = SerializedFileWriter::new(written.clone(), schema, Arc::new(properties));
        let writer = writer.map_err(|error| impossible(&error))?;
        Ok(Self { writer, written, columns, rows: 0, text_bytes: 0 })
    }

    /// Adds a row; `cells` are those of the attributes, none where its type has not this one.
    pub(super) fn push<'c>(
        &mut self,
        out: &mut dyn Output,
        (id, type_name, time): (&str, &str, Option<TimeMs>),
        cells: impl Fn(usize) -> Option<Cell<'c>>,
    ) -> Result<(), Stopped> {
        let time = time.map_or(Value::Null, Value::Integer);
        for (place, value) in [Value::Text(id), Value::Text(type_name), time].into_iter().enumerate() {
            let column = &mut self.columns[place];
            self.text_bytes += column.push(Cell { kind: column.kind, value });
        }
        for (place, column) in self.columns[COLUMNS.len()..].iter_mut().enumerate() {
            let none = Cell { kind: column.kind, value: Value::Null };
            self.text_bytes += column.push(cells(place).unwrap_or(none));
        }
        self.rows += 1;
        if self.rows >= GROUP_ROWS || self.text_bytes >= GROUP_BYTES { self.end_group(out) } else { Ok(()) }
    }

    /// Ends the file.
    pub(super) fn end(mut self, out: &mut dyn Output) -> Result<(), Stopped> {
        if self.rows > 0 {
            self.end_group(out)?;
        }
        self.writer.close().map_err(|error| impossible(&error))?;
        out.part().extend_from_slice(&self.written.take());
        Ok(())
    }

    fn end_group(&mut self, out: &mut dyn Output) -> Result<(), Stopped> {
        let columns = &mut self.columns;
        let group = self.writer.next_row_group().and_then(|group| write_group(group, columns));
        group.map_err(|error| impossible(&error))?;
        (self.rows, self.text_bytes) = (0, 0);
        out.part().extend_from_slice(&self.written.take());
        out.hand_over()
    }
}

fn write_group(
    mut group: SerializedRowGroupWriter<'_, Written>,
    columns: &mut [ParquetColumn],
) -> Result<(), ParquetError> {
    for column in columns {
        let Some(mut writer) = group.next_column()? else { break };
        let ParquetColumn { levels, values, .. } = column;
        match values {
            Values::Doubles(of) => writer.typed::<DoubleType>().write_batch(of, Some(levels), None)?,
            Values::Integers(of) => writer.typed::<Int64Type>().write_batch(of, Some(levels), None)?,
            Values::Booleans(of) => writer.typed::<BoolType>().write_batch(of, Some(levels), None)?,
            Values::Texts(of) => writer.typed::<ByteArrayType>().write_batch(of, Some(levels), None)?,
        };
        writer.close()?;
        column.clear();
    }
    group.close().map(drop)
}

fn field(name: &str, kind: Kind) -> Result<Type, ParquetError> {
    let (physical, converted) = match kind {
        Kind::Double => (PhysicalType::DOUBLE, ConvertedType::NONE),
        Kind::Integer => (PhysicalType::INT64, ConvertedType::NONE),
        Kind::Boolean => (PhysicalType::BOOLEAN, ConvertedType::NONE),
        Kind::Time => (PhysicalType::INT64, ConvertedType::TIMESTAMP_MILLIS),
        Kind::Text => (PhysicalType::BYTE_ARRAY, ConvertedType::UTF8),
        Kind::Structured | Kind::Geometry => (PhysicalType::BYTE_ARRAY, ConvertedType::JSON),
    };
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_converted_type(converted)
        .build()
}

impl ParquetColumn {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Double => Values::Doubles(Vec::new()),
            Kind::Integer | Kind::Time => Values::Integers(Vec::new()),
            Kind::Boolean => Values::Booleans(Vec::new()),
            Kind::Text | Kind::Structured | Kind::Geometry => Values::Texts(Vec::new()),
        };
        Self { kind, levels: Vec::new(), values }
    }

    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Doubles(of) => of.clear(),
            Values::Integers(of) => of.clear(),
            Values::Booleans(of) => of.clear(),
            Values::Texts(of) => of.clear(),
        }
    }

    /// Adds what a row has; gives the bytes of its text.
    fn push(&mut self, cell: Cell<'_>) -> usize {
        let mut bytes = 0;
        // A sum that 64 bits do not hold is none of the column's numbers.
        let is_beyond = matches!((&self.values, cell.value), (Values::Integers(_), Value::Double(_)));
        let is_there = !cell.is_null() && !is_beyond;
        match (&mut self.values, cell.value) {
            _ if !is_there => {}
            (Values::Doubles(of), Value::Double(value)) => of.push(value),
            (Values::Integers(of), Value::Integer(value)) => of.push(value),
            (Values::Booleans(of), Value::Boolean(value)) => of.push(value),
            (Values::Texts(of), _) => {
                let text = cell.text();
                bytes = text.len();
                of.push(text.into());
            }
            _ => unreachable!("a column has the kind of its cells"),
        }
        self.levels.push(i16::from(is_there));
        bytes
    }
}
