//! What triggers cost those who write: `prony triggers install`, for each statement and for each row, against none.

use prony_testkit::{PronyProcess, postgres::Cluster};

use crate::{
    ROUNDS,
    drivers::{pgbench_times, script_file},
    statistics::{median, median_ratio, print_table},
};

/// Table names are what triggers they have.
const FORMS: [&str; 3] = ["none", "row", "statement"];

/// What is written, how often, and how it is called; `TABLE` stands for the table.
const WRITES: [(&str, u32, &str); 7] = [
    (
        "insert 100,000 rows",
        1,
        "INSERT INTO TABLE SELECT g, 'name ' || g, g, 1 FROM generate_series(1, 100000) AS g",
    ),
    ("update 100,000 rows", 1, "UPDATE TABLE SET score = score + 1"),
    ("delete 100,000 rows", 1, "DELETE FROM TABLE"),
    (
        "insert 1,000 rows",
        20,
        "INSERT INTO TABLE SELECT nextval('ids'), 'name ' || g, g, 1 FROM generate_series(1, 1000) AS g",
    ),
    (
        "update 1,000 rows",
        20,
        "UPDATE TABLE SET score = score + 1 WHERE id IN (SELECT id FROM TABLE ORDER BY id LIMIT 1000)",
    ),
    ("insert a row", 2_000, "INSERT INTO TABLE VALUES (nextval('ids'), 'name', 1, 1)"),
    ("update a row", 2_000, "UPDATE TABLE SET score = score + 1 WHERE id = 1000000"),
];

/// Prints the median time of each write by form.
pub(crate) fn cost() {
    let cluster = Cluster::start_new().unwrap_or_else(|error| panic!("{error}"));
    let execute = |sql: &str| cluster.execute("postgres", sql).unwrap_or_else(|error| panic!("{error}"));
    prepare(&cluster);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = cluster.url("postgres");
    let mut times = vec![vec![Vec::new(); FORMS.len()]; WRITES.len()];
    for round in 0..ROUNDS {
        execute("ALTER SEQUENCE ids RESTART WITH 1000000");
        for turn in 0..FORMS.len() {
            let form = (round + turn) % FORMS.len();
            for (write, (_, count, sql)) in WRITES.iter().enumerate() {
                let sql = sql.replace("TABLE", &format!("\"{}\"", FORMS[form]));
                let script = script_file(folder.path(), "write.sql", &format!("{sql};\n"));
                times[write][form].push(pgbench_times(&cluster.program("pgbench"), &url, &script, *count));
            }
            execute(&format!(
                "TRUNCATE \"{}\"; TRUNCATE prony.change; ALTER SEQUENCE ids RESTART WITH 1000000",
                FORMS[form]
            ));
        }
    }
    let head =
        ["one statement", "none, ms", "row, ms", "statement, ms", "row / statement", "statement / none"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for ((name, ..), times) in WRITES.iter().zip(&times) {
        let [none, row, statement] = [0, 1, 2].map(|form| &times[form]);
        rows.push(vec![
            (*name).to_owned(),
            format!("{:.3}", median(none)),
            format!("{:.3}", median(row)),
            format!("{:.3}", median(statement)),
            format!("{:.2}", median_ratio(row, statement)),
            format!("{:.2}", median_ratio(statement, none)),
        ]);
    }
    print_table(&rows);
}

fn prepare(cluster: &Cluster) {
    let execute = |sql: &str| cluster.execute("postgres", sql).unwrap_or_else(|error| panic!("{error}"));
    execute("CREATE SEQUENCE ids START WITH 1000000");
    for form in FORMS {
        execute(&format!("CREATE TABLE \"{form}\" (id int PRIMARY KEY, name text, score int, venue int)"));
    }
    let arguments = ["triggers", "install", &cluster.url("postgres"), "--tables", "statement"];
    let installed = PronyProcess::start(env!("CARGO_BIN_EXE_prony"), arguments).wait();
    assert!(installed.status.success(), "{}", installed.stderr);
    execute(
        "CREATE TRIGGER by_row AFTER INSERT OR UPDATE OR DELETE ON \"row\"
         FOR EACH ROW EXECUTE FUNCTION prony.row_changed('public', 'row', 'id')",
    );
}
