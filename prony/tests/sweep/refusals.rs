//! What cannot be swept is said before anything is measured, and leaves nothing behind.

use super::{Trial, plan};

#[test]
fn what_makes_no_sense_is_exit_2_and_leaves_no_folder() {
    let trial = Trial::new();
    let url = trial.peer.url();
    trial.write("plan.toml", &plan(&url, "item = { list = [1] }", "path = \"/${item}\""));
    trial.write(
        "rate.toml",
        &format!("target = \"{url}\"\nrate = 5\nduration = \"1s\"\nusers = 2\n[[requests]]\npath = \"/\"\n"),
    );
    trial.write("w.lua", "");
    trial.write("s.js", "export default function () {}\n");
    for (arguments, part) in [
        (vec![url.as_str()], "a URL says nothing of its load; write for example --users 50,100,200"),
        (vec![url.as_str(), "--users=1", "-d", "5s"], "in the place of -d write --hold"),
        (vec!["plan.toml"], "nothing is swept; write for example --users 50,100,200"),
        (vec![url.as_str(), "--users=1", "--set=a=b"], "`a` cannot be set: a URL has nothing of that kind"),
        (vec!["w.lua", &url, "--users=1", "--set=a=b"], "`a` cannot be set: a wrk script has nothing"),
        (
            vec!["plan.toml", "--set=colour=red"],
            "the plan has no variable `colour` that could be set; it has `item`",
        ),
        (vec!["plan.toml", "--users=1", "--payload=50"], "the plan takes no message"),
        (vec!["plan.toml", "--users=1", "--payload=50B"], "`50B` is no size of a message"),
        (vec!["plan.toml", "--users=1", "--payload=@none"], "cannot read the message none"),
        (vec!["plan.toml", "--users=0"], "0 is not in 1.."),
        (vec!["plan.toml", "--users=1,1"], "`1` is given twice for `--users`"),
        (vec!["rate.toml", "--users=1"], "starts requests at a rate, so its users are not its load"),
        (vec!["plan.toml", "--set=item"], "write NAME=VALUE,VALUE"),
        (vec!["plan.toml", "--set=item=1", "--set=item=2"], "`item` is set twice"),
        (vec!["plan.toml", "--set=target.heap=1g"], "--target-start 'java -Xmx{heap}"),
        (
            vec!["plan.toml", "--set=target.heap=1g", "--target-start=true"],
            "{heap} stands neither in --target-start nor",
        ),
        (vec!["-", "--users=1", "--set=A=b"], "a script on standard input can be read once only"),
        (vec!["none.toml", "--users=1"], "cannot read the plan none.toml"),
        (vec!["s.js", "w.lua", "--users=1"], "needs a URL"),
        (vec!["plan.toml", "--users=1", "--resume=results"], "results is not the folder of a sweep"),
    ] {
        let ended = trial.sweep(&arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {}{}", ended.out, ended.error);
        assert!(ended.error.contains(part), "{part} in {}", ended.error);
    }
    let left: Vec<_> = std::fs::read_dir(trial.folder.path().join("results"))
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    assert_eq!(left, Vec::<std::path::PathBuf>::new());
}
