//! PostgreSQL's types as discovery needs them: domains resolved, arrays taken apart, enums with their labels.

use std::collections::HashMap;

use tokio_postgres::{
    Client, Error, Row,
    types::{Oid, Type},
};

use prony_sql::catalog::{COMMENT_CHARS_MAX, CatalogEnum, ColumnKind};

/// The types that columns of the served schemas have, and those that these are made of.
pub(super) struct Types {
    by_oid: HashMap<Oid, Entry>,
    enums: Vec<CatalogEnum>,
}

struct Entry {
    /// Ready for a cast: without length or precision, which in a cast would cut values silently.
    name: Box<str>,
    operators: Option<Box<str>>,
    structure: Structure,
}

enum Structure {
    Base(Order),
    Domain {
        of: Oid,
        refuses_null: bool,
        has_default: bool,
    },
    Array {
        of: Oid,
    },
    /// Index into [`Types::enums`].
    Enum(usize),
}

/// What the database does with values of a type that has no mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    None,
    /// It sorts and compares them.
    Sorted,
    /// It also has `max` and `min` for them.
    Extremes,
}

/// What a column's type comes to.
pub(super) struct Described {
    pub(super) kind: ColumnKind,
    pub(super) name: Box<str>,
    /// The schema of its operators, quoted, where the search path does not lead to them.
    pub(super) operators: Option<Box<str>>,
    /// A domain of it is NOT NULL.
    pub(super) refuses_null: bool,
    /// It is a domain that fills columns without a default of their own.
    pub(super) has_default: bool,
}

/// What `COMMENT ON` has said; a text of blanks says nothing.
pub(super) fn comment(row: &Row) -> Option<Box<str>> {
    row.get::<_, Option<&str>>("comment").map(str::trim).filter(|text| !text.is_empty()).map(Into::into)
}

/// Types that columns have, with those that they are made of: `$1` are schemas, `$2` how much of a comment is read.
const READ: &str = "WITH RECURSIVE used (oid) AS (
     SELECT a.atttypid FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
     WHERE c.relnamespace = ANY ($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
       AND a.attnum > 0 AND NOT a.attisdropped
     UNION
     SELECT CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END
     FROM used JOIN pg_type AS t USING (oid) WHERE t.typtype = 'd' OR t.typcategory = 'A'
 ), sorted (oid) AS (
     SELECT o.opcintype FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod
     WHERE m.amname = 'btree' AND o.opcdefault
 ), comparable (oid) AS ( -- a type that is another one by its bytes is sorted as that is: cidr as inet
     SELECT oid FROM sorted
     UNION SELECT c.castsource FROM pg_cast AS c JOIN sorted ON sorted.oid = c.casttarget
     WHERE c.castmethod = 'b' AND c.castcontext = 'i'
 )
 SELECT t.oid, t.typname::text, n.nspname::text, format_type(t.oid, -1) AS name,
        left(obj_description(t.oid, 'pg_type'), $2) AS comment, t.typtype::text, t.typcategory::text, t.typbasetype, t.typelem, t.typnotnull,
        t.typdefault IS NOT NULL AS has_default,
        CASE t.typtype WHEN 'b' THEN t.oid IN (SELECT oid FROM comparable)
             WHEN 'c' THEN NOT EXISTS ( -- a row is compared by its columns
                 SELECT FROM pg_attribute AS a JOIN pg_type AS m ON m.oid = a.atttypid
                 WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped AND m.typtype = 'b'
                   AND m.typcategory <> 'A' AND m.oid NOT IN (SELECT oid FROM comparable))
             ELSE true END AS is_sorted,
        EXISTS (SELECT FROM pg_proc AS p WHERE p.proname = 'max' AND p.prokind = 'a' AND p.pronargs = 1
                AND p.proargtypes[0] = t.oid AND pg_function_is_visible(p.oid)) AS has_extremes,
        (SELECT quote_ident(s.nspname) -- of the equality (3) of btree, beside which the others are
         FROM pg_opclass AS o JOIN pg_am AS m ON m.oid = o.opcmethod
              JOIN pg_amop AS e ON e.amopfamily = o.opcfamily AND e.amoplefttype = t.oid
                                   AND e.amoprighttype = t.oid AND e.amopstrategy = 3
              JOIN pg_operator AS p ON p.oid = e.amopopr
              JOIN pg_namespace AS s ON s.oid = p.oprnamespace
         WHERE m.amname = 'btree' AND o.opcdefault AND o.opcintype = t.oid
           AND NOT pg_operator_is_visible(p.oid)) AS operators
 FROM used JOIN pg_type AS t USING (oid) JOIN pg_namespace AS n ON n.oid = t.typnamespace
 ORDER BY array_position($1, n.oid), n.nspname, t.typname";

impl Types {
    pub(super) async fn read(client: &Client, schemas: &[Oid]) -> Result<Self, Error> {
        let rows = client.query(READ, &[&schemas, &i32::from(COMMENT_CHARS_MAX)]).await?;
        let mut types = Self { by_oid: HashMap::with_capacity(rows.len()), enums: Vec::new() };
        let mut enum_oids = Vec::new();
        for row in &rows {
            let structure = match (row.get("typtype"), row.get("typcategory")) {
                ("d", _) => {
                    let (refuses_null, has_default) = (row.get("typnotnull"), row.get("has_default"));
                    Structure::Domain { of: row.get("typbasetype"), refuses_null, has_default }
                }
                ("e", _) => {
                    types.enums.push(CatalogEnum {
                        schema: Some(row.get::<_, &str>("nspname").into()),
                        name: row.get::<_, &str>("typname").into(),
                        comment: comment(row),
                        labels: Vec::new(),
                    });
                    enum_oids.push(row.get::<_, Oid>("oid"));
                    Structure::Enum(types.enums.len() - 1)
                }
                (_, "A") => Structure::Array { of: row.get("typelem") },
                _ => Structure::Base(match (row.get("is_sorted"), row.get("has_extremes")) {
                    (false, _) => Order::None,
                    (true, false) => Order::Sorted,
                    (true, true) => Order::Extremes,
                }),
            };
            let name = row.get::<_, &str>("name").into();
            let operators = row.get::<_, Option<&str>>("operators").map(Into::into);
            types.by_oid.insert(row.get("oid"), Entry { name, operators, structure });
        }
        types.read_labels(client, &enum_oids).await?;
        Ok(types)
    }

    async fn read_labels(&mut self, client: &Client, enum_oids: &[Oid]) -> Result<(), Error> {
        if enum_oids.is_empty() {
            return Ok(());
        }
        let rows = client
            .query(
                "SELECT enumtypid, enumlabel::text FROM pg_enum WHERE enumtypid = ANY ($1)
                 ORDER BY enumtypid, enumsortorder",
                &[&enum_oids],
            )
            .await?;
        for row in &rows {
            let oid: Oid = row.get(0);
            if let Some(index) = enum_oids.iter().position(|known| *known == oid) {
                self.enums[index].labels.push(row.get::<_, &str>(1).into());
            }
        }
        Ok(())
    }

    /// Follows domains down to the type that they restrict.
    pub(super) fn describe(&self, oid: Oid) -> Described {
        let Some(entry) = self.by_oid.get(&oid) else {
            let (kind, name) = (ColumnKind::OtherText, "text".into());
            return Described { kind, name, operators: None, refuses_null: false, has_default: false };
        };
        let kind = match entry.structure {
            Structure::Domain { of, refuses_null, has_default } => {
                let below = self.describe(of);
                // Of a domain over another one, PostgreSQL has taken over the default of that.
                let refuses_null = refuses_null || below.refuses_null;
                return Described { refuses_null, has_default, ..below };
            }
            Structure::Array { of } => ColumnKind::Array(Box::new(self.describe(of).kind)),
            Structure::Enum(index) => ColumnKind::Enum(index),
            Structure::Base(order) => base_kind(oid, &entry.name, order),
        };
        let (name, operators) = (entry.name.clone(), entry.operators.clone());
        Described { kind, name, operators, refuses_null: false, has_default: false }
    }

    pub(super) fn into_enums(self) -> Vec<CatalogEnum> {
        self.enums
    }
}

fn base_kind(oid: Oid, name: &str, order: Order) -> ColumnKind {
    let other = match order {
        Order::None => ColumnKind::UnorderedText,
        Order::Sorted => ColumnKind::OrderedText,
        Order::Extremes => ColumnKind::OtherText,
    };
    let Some(known) = Type::from_oid(oid) else {
        // `citext` is an extension's type, so its oid differs between databases.
        return if name.ends_with("citext") { ColumnKind::Text } else { other };
    };
    match known {
        Type::INT2 | Type::INT4 => ColumnKind::Int,
        Type::INT8 | Type::OID => ColumnKind::BigInt,
        Type::FLOAT4 | Type::FLOAT8 => ColumnKind::Float,
        Type::NUMERIC => ColumnKind::Numeric,
        Type::BOOL => ColumnKind::Boolean,
        Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => ColumnKind::Text,
        Type::TIMESTAMP | Type::TIMESTAMPTZ => ColumnKind::Timestamp,
        Type::UUID => ColumnKind::Uuid,
        Type::JSON | Type::JSONB => ColumnKind::Json,
        Type::BYTEA => ColumnKind::Bytes,
        _ => other,
    }
}
