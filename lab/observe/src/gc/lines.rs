//! Lines of a log to events, whichever of the two formats they have. Where they come from is left to `follow`.

use super::event::Reading;
use super::legacy::{self, Legacy};
use super::unified;

#[derive(Debug, Default)]
pub(super) struct Lines {
    legacy: Legacy,
}

impl Lines {
    pub(super) fn read(&mut self, line: &str) -> Reading {
        let line = line.trim_end_matches(['\r', '\n']);
        // A line of JDK 8 begins with a bracket only inside a collection, and then has no tag of a collector.
        if unified::is_one(line) { unified::read(line) } else { self.legacy.read(line) }
    }
}

/// True where the text holds a line of either format, or nothing yet.
pub(super) fn is_log(text: &str) -> bool {
    text.trim().is_empty() || text.lines().any(|line| unified::is_one(line) || legacy::is_one(line))
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, EventKind, Heap, Stamp};
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write as _;

    fn shown(event: &Event) -> String {
        let mut text = String::new();
        let Stamp { wall_ns, uptime_ns } = event.at;
        if let Some(wall) = wall_ns {
            let _ = write!(text, "wall {} ms ", wall as f64 / 1e6);
        }
        if let Some(uptime) = uptime_ns {
            let _ = write!(text, "up {} ms ", uptime as f64 / 1e6);
        }
        let full = |is_full: bool| if is_full { "full " } else { "" };
        let heap = |heap: Option<Heap>| {
            heap.map_or(String::new(), |heap| format!("{}K->{}K", heap.before >> 10, heap.after >> 10))
        };
        let _ = match event.kind {
            EventKind::Pause { length_ns, is_full, heap: of } => {
                write!(text, "{}pause {} us {}", full(is_full), length_ns as f64 / 1e3, heap(of))
            }
            EventKind::Cycle { is_full, heap: of } => write!(text, "{}cycle {}", full(is_full), heap(of)),
            EventKind::HeapOfPause { heap: of } => write!(text, "its heap {}", heap(Some(of))),
        };
        text.trim_end().to_owned() + "\n"
    }

    fn check(log: &str, expected: &Expect) {
        let mut lines = Lines::default();
        let readings = log.lines().map(|line| match lines.read(line) {
            Reading::Event(event) => shown(&event),
            Reading::Broken => format!("broken {}\n", &line[..line.len().min(20)]),
            Reading::Nothing => String::new(),
        });
        expected.assert_eq(&readings.collect::<String>());
    }

    #[test]
    fn unified_g1() {
        check(
            "[2026-11-21T04:22:32.123+0000][0.010s][info][gc] Using G1\n\
             [2026-11-21T04:22:32.200+0000][0.100s][info][gc,start     ] GC(0) Pause Young (Normal) (G1 Evacuation Pause)\n\
             [2026-11-21T04:22:32.203+0000][0.103s][info][gc,phases    ] GC(0)   Evacuate Collection Set: 2.1ms\n\
             [2026-11-21T04:22:32.203+0000][0.103s][info][gc,heap      ] GC(0) Eden regions: 24->0(20)\n\
             [2026-11-21T04:22:32.203+0000][0.103s][info][gc           ] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 24M->4M(256M) 3.000ms\n\
             [2026-11-21T04:22:32.203+0000][0.103s][info][gc,cpu       ] GC(0) User=0.01s Sys=0.00s Real=0.00s\n\
             [0.500s][info][gc] GC(1) Concurrent Mark Cycle 12.345ms\n\
             [0.400s][info][gc] GC(1) Pause Remark 45M->45M(256M) 0.500ms\n\
             [1.000s][info][gc] GC(2) Pause Full (System.gc()) 100M->50M(256M) 30.250ms\n",
            &expect![[r#"
                wall 1795234952200 ms up 100 ms pause 3000 us 24576K->4096K
                up 399.5 ms pause 500 us 46080K->46080K
                up 969.75 ms full pause 30250 us 102400K->51200K
            "#]],
        );
    }

    #[test]
    fn unified_with_other_decorations() {
        check(
            "[1795234952123ms][100ms] GC(0) Pause Young (Allocation Failure) 24M->4M(256M) 3.000ms\n\
             [100000000ns][gc] GC(1) Pause Full (Ergonomics) 24M->4M(256M) 3,500ms\n\
             [2026-11-21T04:22:32.203+0000][4711][4712][host][info][gc] GC(2) Pause Initial Mark 10M->10M(100M) 0.250ms\n\
             [0.2s][info][safepoint] Safepoint \"Cleanup\", Total: 1000 ns\n\
             [0.2s] GC(3) Pause Young (Allocation Failure) 24M->4M(256M) 1.000ms\n",
            &expect![[r#"
                wall 1795234952120 ms up 97 ms pause 3000 us 24576K->4096K
                up 96.5 ms full pause 3500 us 24576K->4096K
                wall 1795234952202.75 ms pause 250 us 10240K->10240K
                up 199 ms pause 1000 us 24576K->4096K
            "#]],
        );
    }

    #[test]
    fn unified_zgc_and_shenandoah() {
        check(
            "[0.100s][info][gc,phases] GC(0) Pause Mark Start 0.012ms\n\
             [0.101s][info][gc,phases] GC(0) Concurrent Mark 1.000ms\n\
             [0.102s][info][gc       ] GC(0) Garbage Collection (Warmup) 102M(10%)->34M(3%)\n\
             [0.200s][info][gc,phases] GC(1) y: Pause Mark End 0.020ms\n\
             [0.210s][info][gc       ] GC(1) Minor Collection (Allocation Rate) 200M(20%)->40M(4%) 0.010s\n\
             [0.220s][info][gc       ] GC(2) Major Collection (Proactive) 210M(20%)->30M(3%) 0.020s\n\
             [0.300s][info][gc] GC(3) Pause Init Mark (unload classes) 0.100ms\n\
             [0.301s][info][gc] GC(3) Concurrent marking (unload classes) 4.000ms\n\
             [0.302s][info][gc] GC(3) Pause Final Mark (unload classes) 0.200ms\n\
             [0.303s][info][gc] GC(3) Concurrent cleanup 90M->40M(256M) 0.050ms\n",
            &expect![[r#"
                up 99.988 ms pause 12 us
                up 102 ms full cycle 104448K->34816K
                up 199.98 ms pause 20 us
                up 210 ms cycle 204800K->40960K
                up 220 ms full cycle 215040K->30720K
                up 299.9 ms pause 100 us
                up 301.8 ms pause 200 us
                up 303 ms cycle 92160K->40960K
            "#]],
        );
    }

    #[test]
    fn legacy_parallel_and_serial() {
        check(
            "OpenJDK 64-Bit Server VM (25.402-b06) for linux-amd64 JRE (1.8.0_402-b06)\n\
             2026-11-21T04:22:32.123+0000: 0.123: [GC (Allocation Failure) [PSYoungGen: 33280K->5118K(38400K)] 33280K->5126K(125952K), 0.0041234 secs] [Times: user=0.01 sys=0.00, real=0.00 secs] \n\
             0.500: [Full GC (Ergonomics) [PSYoungGen: 5118K->0K(38400K)] [ParOldGen: 8K->4804K(87552K)] 5126K->4804K(125952K), [Metaspace: 2700K->2700K(1056768K)], 0.0151000 secs] [Times: user=0.02 sys=0.00, real=0.02 secs] \n\
             0.600: [GC (Allocation Failure) 0.600: [DefNew: 27328K->3392K(30720K), 0.0110000 secs] 27328K->9000K(99008K), 0.0111000 secs] [Times: user=0.01 sys=0.00, real=0.01 secs] \n\
             0.700: [Full GC (System.gc()) 0.700: [Tenured: 5000K->4000K(68288K), 0.0100000 secs] 9000K->4000K(99008K), [Metaspace: 2700K->2700K(1056768K)], 0.0121000 secs] [Times: user=0.01 sys=0.00, real=0.01 secs] \n\
             0.800: [GC (Allocation Failure) 0.800: [DefNew: 30720K->30720K(30720K), 0.0000200 secs]0.800: [Tenured: 60000K->50000K(68288K), 0.0400000 secs] 90720K->50000K(99008K), [Metaspace: 2700K->2700K(1056768K)], 0.0402000 secs] [Times: user=0.04 sys=0.00, real=0.04 secs] \n\
             2026-11-21T04:22:33.000+0000: [GC (Allocation Failure)  33280K->5126K(125952K), 0,0041000 secs]\n\
             Total time for which application threads were stopped: 0.0001 seconds, Stopping threads took: 0.0000 seconds\n",
            &expect![[r#"
                wall 1795234952123 ms up 123 ms pause 4123.4 us 33280K->5126K
                up 500 ms full pause 15100 us 5126K->4804K
                up 600 ms pause 11100 us 27328K->9000K
                up 700 ms full pause 12100 us 9000K->4000K
                up 800 ms full pause 40200 us 90720K->50000K
                wall 1795234953000 ms pause 4100 us 33280K->5126K
            "#]],
        );
    }

    #[test]
    fn legacy_cms_over_several_lines() {
        check(
            "1.000: [GC (Allocation Failure) 1.000: [ParNew\n\
             Desired survivor size 1638400 bytes, new threshold 1 (max 6)\n\
             - age   1:    3000000 bytes,    3000000 total\n\
             : 27328K->3392K(30720K), 0.0110000 secs] 27328K->9000K(99008K), 0.0112000 secs] [Times: user=0.01 sys=0.00, real=0.01 secs] \n\
             1.100: [GC (CMS Initial Mark) [1 CMS-initial-mark: 10K(20K)] 15K(30K), 0.0010000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs] \n\
             1.101: [CMS-concurrent-mark-start]\n\
             1.111: [CMS-concurrent-mark: 0.010/0.010 secs] [Times: user=0.01 sys=0.00, real=0.01 secs] \n\
             1.120: [GC (CMS Final Remark) [YG occupancy: 5 K (9 K)]1.120: [Rescan (parallel) , 0.0004 secs]1.121: [weak refs processing, 0.0001 secs][1 CMS-remark: 10K(20K)] 15K(30K), 0.0020000 secs] [Times: user=0.00 sys=0.00, real=0.00 secs] \n\
             1.150: [GC (Allocation Failure) 1.150: [ParNew (promotion failed): 30720K->30720K(30720K), 0.0100000 secs]1.160: [CMS: 60000K->50000K(68288K), 0.0900000 secs] 90000K->50000K(99008K), [Metaspace: 2K->2K(9K)], 0.0250000 secs] [Times: user=0.1 sys=0.0, real=0.1 secs] \n\
             1.200: [Full GC (Allocation Failure) 1.200: [CMS (concurrent mode failure): 60000K->50000K(68288K), 0.1 secs] 90000K->50000K(99008K), [Metaspace: 2K->2K(9K)], 0.1100000 secs] [Times: user=0.1 sys=0.0, real=0.1 secs] \n",
            &expect![[r#"
                up 1000 ms pause 11200 us 27328K->9000K
                up 1100 ms pause 1000 us
                up 1120 ms pause 2000 us
                up 1150 ms full pause 25000 us 90000K->50000K
                up 1200 ms full pause 110000 us 90000K->50000K
            "#]],
        );
    }

    #[test]
    fn legacy_g1_with_its_heap_on_a_line_of_its_own() {
        check(
            "0.500: [GC pause (G1 Evacuation Pause) (young), 0.0031000 secs]\n   [Parallel Time: 2.9 ms, GC Workers: 2]\n      [GC Worker Start (ms): Min: 500.0, Avg: 500.1]\n   [Eden: 14.0M(14.0M)->0.0B(13.0M) Survivors: 0.0B->2048.0K Heap: 14.0M(256.0M)->5000.5K(256.0M)]\n [Times: user=0.01 sys=0.00, real=0.00 secs] \n\
             0.600: [GC concurrent-mark-start]\n\
             0.610: [GC concurrent-mark-end, 0.0100000 secs]\n\
             0.620: [GC remark 0.620: [Finalize Marking, 0.0001 secs] 0.621: [GC ref-proc, 0.0001 secs], 0.0030000 secs]\n [Times: user=0.00 sys=0.00, real=0.00 secs] \n\
             0.630: [GC cleanup 10M->9M(256M), 0.0004000 secs]\n\
             0.700: [Full GC (Allocation Failure)  100M->50M(256M), 0.1000000 secs]\n   [Eden: 0.0B(13.0M)->0.0B(14.0M) Survivors: 0.0B->0.0B Heap: 100.0M(256.0M)->50.0M(256.0M)], [Metaspace: 2700K->2700K(1056768K)]\n",
            &expect![[r#"
                up 500 ms pause 3100 us
                its heap 14336K->5000K
                up 620 ms pause 3000 us
                up 630 ms pause 400 us 10240K->9216K
                up 700 ms full pause 100000 us 102400K->51200K
                its heap 102400K->51200K
            "#]],
        );
    }

    #[test]
    fn lines_that_are_cut_off() {
        check(
            "[0.1s][gc] GC(3) Pause Young (Allocation Failure) 24M->4M(25\n\
             [0.2s][gc] GC(3) Pause Young (Allocation Failure) 24M->4M(256M) x.ms\n\
             0.500: [GC (Allocation Failure) [PSYoungGen: 33280K->\n\
             0.600: [GC (Allocation Failure)  3K->1K(9K), 0.0010000 secs]\n\
             0.700: [GC (Allocation Failure)  3K->1K(9K), secs]\n",
            &expect![[r#"
                broken [0.1s][gc] GC(3) Pau
                broken [0.2s][gc] GC(3) Pau
                up 600 ms pause 1000 us 3K->1K
                broken 0.700: [GC (Allocati
            "#]],
        );
    }

    #[test]
    fn a_log_is_told_from_other_files() {
        assert!(is_log("") && is_log("[0.010s][info][gc] Using G1\n"));
        assert!(is_log("0.123: [GC (Allocation Failure)  33280K->5126K(125952K), 0.0041 secs]\n"));
        assert!(!is_log("2026-11-21 ERROR something\n{\"a\": 1}\n"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_strange(text in "(\\PC|[\\[\\]()0-9.:>, KMsn\\-GC]){0,80}") {
            let mut lines = Lines::default();
            for line in [&text, "]", "[GC", &text] {
                lines.read(line);
            }
            for prefix in ["[0.1s][gc] GC(1) ", "[0.1s][gc] GC(1) Pause ", "0.1: [GC ", "   [Eden: "] {
                lines.read(&format!("{prefix}{text}"));
            }
        }
    }
}
