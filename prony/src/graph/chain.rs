//! Chains of backups on the command line: what was added, what was restored, and which moments there are.

use super::RestoreArguments;
use super::place::Place;
use super::say;
use anyhow::Context as _;
use jiff::Timestamp;
use prony_graph_store::{ChainLink, ChainLinkKind, Moment, Taken, Until, restore, take_backup};
use prony_model::units::counted;
use std::path::Path;

/// Milliseconds since 1970 of a time as RFC 3339 has it.
pub(super) fn moment(text: &str) -> Result<u64, String> {
    let time: Timestamp = text.parse().map_err(|_| {
        format!("`{text}` is no time; write it as 2026-11-24T12:00:00Z or 2026-11-24T13:00:00.250+01:00")
    })?;
    u64::try_from(time.as_millisecond()).map_err(|_| format!("`{text}` is before 1970"))
}

pub(super) fn run_backup(place: &Place, chain: &Path) -> anyhow::Result<String> {
    let directory = place.directory();
    let taken = take_backup(directory, chain).with_context(|| {
        format!("nothing was added to the backups of {} in {}", directory.display(), chain.display())
    })?;
    Ok(match taken {
        Taken::Nothing { next } => {
            format!("{}: nothing was written since frame {}\n", chain.display(), next.saturating_sub(1))
        }
        Taken::Link { link, bytes, gap } => {
            if let Some((from, to)) = gap {
                say(&format!(
                    "the frames from {from} to {to} are not in the log any more, as a snapshot has taken their place, so this is a whole \
                     copy; the graph cannot be restored as it was between them. Take backups more often than snapshots are taken"
                ));
            }
            format!("{}: {}\n", chain.join(&link.name).display(), added(&link, bytes))
        }
    })
}

fn added(link: &ChainLink, bytes: u64) -> String {
    let bytes = counted(bytes, "byte", "bytes");
    let (last, time) = (link.next.saturating_sub(1), Moment(link.time_ms));
    match link.kind {
        ChainLinkKind::Base => format!("a whole copy of {bytes}, up to frame {last}, {time}"),
        ChainLinkKind::Increment => {
            let frames = counted(link.next - link.from, "frame", "frames");
            format!("{frames} of {bytes}, up to frame {last}, {time}")
        }
    }
}

pub(super) fn run_restore(arguments: &RestoreArguments) -> anyhow::Result<String> {
    let RestoreArguments { backup, directory, until, until_sequence } = arguments;
    let until = match (until, until_sequence) {
        (Some(time), _) => Until::Time(*time),
        (None, Some(sequence)) => Until::Sequence(*sequence),
        (None, None) => Until::End,
    };
    let made = restore(backup, directory, until)
        .with_context(|| format!("there is no graph of {} in {}", backup.display(), directory.display()))?;
    if made.earlier_behind > 0 {
        say(&format!(
            "{} behind the first that is later than this time have an earlier one, as the clock was set back; none of them is in the graph. \
             --until-sequence NUMBER goes by numbers",
            counted(made.earlier_behind, "frame", "frames")
        ));
    }
    let up_to = match (made.sequence, made.time_ms) {
        (Some(sequence), Some(time)) => format!(", up to frame {sequence}, {}", Moment(time)),
        (Some(sequence), None) => format!(", up to frame {sequence}"),
        (None, _) => String::new(),
    };
    Ok(format!(
        "{}: {} and {}{up_to}; everything fits together\n",
        directory.display(),
        counted(made.report.nodes, "node", "nodes"),
        counted(made.report.relationships, "relationship", "relationships")
    ))
}

#[cfg(test)]
mod tests {
    use super::moment;

    #[test]
    fn times_are_those_of_rfc_3339() {
        assert_eq!(moment("2026-11-24T12:00:00Z"), Ok(1_795_521_600_000));
        assert_eq!(moment("2026-11-24T13:00:00.250+01:00"), Ok(1_795_521_600_250));
        for text in ["", "yesterday", "2026-11-24", "2026-11-24T12:00:00", "2026-13-24T12:00:00Z"] {
            assert!(moment(text).unwrap_err().contains("is no time"), "{text}");
        }
        assert!(moment("1969-11-24T12:00:00Z").unwrap_err().contains("before 1970"));
    }
}
