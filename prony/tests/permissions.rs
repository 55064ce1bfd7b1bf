//! `prony permissions test` from outside: a table of results, and an exit code for CI.

use std::{fs, process::Command};

use prony_testkit::{PronyProcess, chinook::sqlite_copy, process::Finished};

const CONFIGURATION: &str = r#"
[auth]
anonymous = "visitor"
[[auth.jwt]]
issuer = "https://login.test/"
audience = "shop"
secret = "a secret of tests that is long enough for HMAC with SHA-256"
algorithms = ["HS256"]
claims = { role = "/role", allowed_roles = "/roles", "user.id" = "/customer" }

[roles.visitor.sources.shop.tables.Genre]
select = { columns = ["GenreId"], limit = 2 }
[roles.customer.sources.shop.tables.Invoice]
select = { columns = ["InvoiceId", "Total"], rows = { CustomerId = { eq = "$user.id" } } }
delete = { rows = { CustomerId = { eq = "$user.id" } } }

[[operation]]
match = "Query.invoices"
scopes = ["invoices"]
"#;

const TESTS: &str = r#"
[[test]]
name = "visitors see genres"
query = "{ genres { GenreId } }"
data = { genres = [{ GenreId = 1 }, { GenreId = 2 }] }

[[test]]
name = "and no invoices"
query = "{ invoices { Total } }"
error = "does not have a field"

[[test]]
name = "customers see their own"
role = "customer"
session = { "user.id" = 2 }
scopes = ["invoices"]
query = "query ($n: Int) { invoices(limit: $n) { InvoiceId } }"
variables = { n = 50 }
rows = { invoices = 7 }

[[test]]
name = "with the scope alone"
role = "customer"
session = { "user.id" = 2 }
query = "{ invoices { InvoiceId } }"
code = "FORBIDDEN"

[[test]]
name = "claims choose a role"
claims = { roles = ["customer", "visitor"], customer = 2, role = "visitor" }
role = "customer"
query = "{ invoices { InvoiceId } }"
code = "FORBIDDEN"

[[test]]
name = "claims of another issuer are nobody's"
claims = { iss = "https://other.test/", role = "customer" }
query = "{ __typename }"
error = "other.test"

[[test]]
name = "mutations are not made unasked"
role = "customer"
session = { "user.id" = 2 }
query = "mutation { deleteInvoice(pk_columns: {InvoiceId: 1}) { result } }"
error = "mutations = true"
"#;

/// The outcome of a file of tests against a copy of the sample database.
fn test(tests: &str) -> Finished {
    let (directory, database) = (tempfile::tempdir().expect("a directory can be made"), sqlite_copy());
    let source = format!("[[source]]\nname = \"shop\"\nurl = \"sqlite:{}\"\n", database.path().display());
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("prony.toml"), format!("{source}{CONFIGURATION}")).expect("it can be written");
    fs::write(path("tests.toml"), tests).expect("it can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prony"));
    command.args(["permissions", "test", &path("tests.toml"), "--config", &path("prony.toml")]);
    PronyProcess::start_command(command).wait()
}

#[test]
fn a_file_of_tests_passes_or_exits_with_1() {
    let passed = test(TESTS);
    assert!(passed.stdout.ends_with("7 tests: 7 passed, 0 failed\n"), "{}\n{}", passed.stdout, passed.stderr);
    assert_eq!(passed.status.code(), Some(0));

    let failed = test(&TESTS.replace("invoices = 7", "invoices = 8").replace("GenreId = 2", "GenreId = 3"));
    assert_eq!(failed.status.code(), Some(1), "{}", failed.stderr);
    for line in [
        "FAIL  visitors see genres                    the data is {\"genres\":[{\"GenreId\":1},{\"GenreId\":2}]}, not ",
        "FAIL  customers see their own                `invoices` has 7 rows, not 8",
        "7 tests: 5 passed, 2 failed",
    ] {
        assert!(failed.stdout.contains(line), "{line} is not in\n{}", failed.stdout);
    }
}

#[test]
fn mutations_are_made_where_the_file_says_so() {
    let tests = r#"mutations = true
[[test]]
name = "their own"
role = "customer"
session = { "user.id" = 2 }
query = "mutation { a: deleteInvoice(pk_columns: {InvoiceId: 3}) { result } }"
data = { a = { result = false } }
"#;
    let passed = test(tests);
    assert_eq!(passed.status.code(), Some(0), "{}\n{}", passed.stdout, passed.stderr);
}

#[test]
fn what_cannot_be_run_exits_with_2() {
    for (tests, expected) in [
        ("[[test]]\nname = \"a\"\n", "missing field `query`"),
        ("", "there are no tests"),
        ("[[test]]\nname = \"a\"\nquery = \"{ a }\"\n", "expects nothing"),
    ] {
        let finished = test(tests);
        assert_eq!(finished.status.code(), Some(2), "{}", finished.stdout);
        assert!(finished.stderr.contains(expected), "{}", finished.stderr);
    }
}
