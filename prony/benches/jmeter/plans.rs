//! Has JMeter run the compared plans and writes its rows as tables beside them.

use crate::site::Site;
use crate::table::table;
use prony_testkit::JMeter;
use std::fs;
use std::path::Path;

/// All plans, or those that are named.
pub(crate) fn written_by_jmeter(names: &[String]) {
    let jmeter = JMeter::fetch().unwrap_or_else(|error| panic!("{error}"));
    let site = Site::start();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/jmeter/compared");
    let mut plans: Vec<_> = fs::read_dir(&folder)
        .expect("the folder of compared plans")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jmx"))
        .collect();
    plans.sort();
    for plan in plans {
        let name = plan.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !names.is_empty() && !names.contains(&name) {
            continue;
        }
        // Prony reads `user.properties` beside the plan by itself; JMeter's is in its own folder.
        let mut arguments = vec![format!("-Jport={}", site.port())];
        for file in ["user.properties", "more.properties"] {
            arguments.extend(["-q".to_owned(), folder.join(file).display().to_string()]);
        }
        let rows = jmeter.run(&plan, &arguments).unwrap_or_else(|error| panic!("{name}: {error}"));
        let text = table(&rows, &site.port(), &folder, name.starts_with("random"));
        println!("{name}: {} rows", text.lines().filter(|line| line.starts_with("  ")).count());
        fs::write(folder.join(format!("{name}.txt")), text).expect("room for a small file");
    }
}
