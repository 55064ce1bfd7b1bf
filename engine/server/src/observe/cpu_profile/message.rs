//! The message of a profile: the part of pprof's `profile.proto` that samples of addresses need. Texts are named by their places in a table, whose
//! first one is empty.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

const NANOSECONDS_A_SECOND: i64 = 1_000_000_000;

/// What was seen so often: of a thread, where it was, and where it was called from.
#[derive(Debug)]
pub(super) struct Stack {
    /// The innermost first.
    pub(super) addresses: Vec<u64>,
    pub(super) thread: String,
    pub(super) count: i64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    pub(super) began: SystemTime,
    pub(super) lasted: Duration,
    pub(super) hertz: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ProfileMessage {
    /// Of the values of each sample.
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<ProfileSample>,
    /// Of the program first.
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<ProfileMapping>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<ProfileLocation>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    kind: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ProfileSample {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    label: Vec<ProfileLabel>,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ProfileLabel {
    #[prost(int64, tag = "1")]
    key: i64,
    #[prost(int64, tag = "2")]
    text: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ProfileMapping {
    /// From 1 on.
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    memory_start: u64,
    #[prost(uint64, tag = "3")]
    memory_limit: u64,
    #[prost(uint64, tag = "4")]
    file_offset: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct ProfileLocation {
    /// From 1 on.
    #[prost(uint64, tag = "1")]
    id: u64,
    /// 0 where it is in no file.
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
}

/// Texts by their places.
struct Texts {
    all: Vec<String>,
    places: HashMap<String, i64>,
}

impl Texts {
    fn new() -> Self {
        Self { all: vec![String::new()], places: HashMap::from([(String::new(), 0)]) }
    }

    fn place(&mut self, text: &str) -> i64 {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = i64::try_from(self.all.len()).unwrap_or(i64::MAX);
        self.all.push(text.to_owned());
        self.places.insert(text.to_owned(), place);
        place
    }
}

/// `maps` is what the system says of the process's memory (`proc_pid_maps(5)`).
pub(super) fn profile(stacks: impl Iterator<Item = Stack>, maps: &str, times: Times) -> ProfileMessage {
    let mut texts = Texts::new();
    let samples = ValueType { kind: texts.place("samples"), unit: texts.place("count") };
    let cpu = ValueType { kind: texts.place("cpu"), unit: texts.place("nanoseconds") };
    let period = NANOSECONDS_A_SECOND / times.hertz;
    let mapping = mappings(maps, &mut texts);
    let mut location = Vec::new();
    let mut ids = HashMap::new();
    let thread_key = texts.place("thread");
    let sample = stacks.map(|stack| {
        let location_id = instructions(&stack.addresses).map(|address| {
            *ids.entry(address).or_insert_with(|| {
                let id = location.len() as u64 + 1;
                location.push(ProfileLocation { id, mapping_id: mapping_of(&mapping, address), address });
                id
            })
        });
        ProfileSample {
            location_id: location_id.collect(),
            value: vec![stack.count, stack.count * period],
            label: vec![ProfileLabel { key: thread_key, text: texts.place(&stack.thread) }],
        }
    });
    let sample = sample.collect();
    ProfileMessage {
        sample_type: vec![samples, cpu],
        sample,
        mapping,
        location,
        string_table: texts.all,
        time_nanos: times.began.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64,
        duration_nanos: times.lasted.as_nanos() as i64,
        period_type: Some(cpu),
        period,
    }
}

/// The addresses of instructions: behind the first one, a call stands before where it returns to.
fn instructions(addresses: &[u64]) -> impl Iterator<Item = u64> {
    addresses.iter().enumerate().map(|(place, address)| address.saturating_sub(u64::from(place > 0)))
}

fn mapping_of(mappings: &[ProfileMapping], address: u64) -> u64 {
    let is_in = |mapping: &&ProfileMapping| (mapping.memory_start..mapping.memory_limit).contains(&address);
    mappings.iter().find(is_in).map_or(0, |mapping| mapping.id)
}

/// Code that is in files.
fn mappings(maps: &str, texts: &mut Texts) -> Vec<ProfileMapping> {
    let code = maps.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (start, limit) = words.next()?.split_once('-')?;
        let is_code = words.next()?.contains('x');
        let offset = words.next()?;
        // Device and inode stand before it; a name may have blanks.
        let name = line.find('/').map(|begin| &line[begin..]).filter(|_| is_code)?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok();
        Some((number(start)?, number(limit)?, number(offset)?, name))
    });
    (1..)
        .zip(code)
        .map(|(id, (memory_start, memory_limit, file_offset, name))| ProfileMapping {
            id,
            memory_start,
            memory_limit,
            file_offset,
            filename: texts.place(name),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        55d000000000-55d000001000 r--p 00000000 fe:00 42    /opt/my prony\n\
        55d000001000-55d000009000 r-xp 00001000 fe:00 42    /opt/my prony\n\
        7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n\
        7f0000002000-7f0000004000 r-xp 00026000 fe:00 43    /lib/libc.so.6\n\
        7fff00000000-7fff00002000 r-xp 00000000 00:00 0     [vdso]\n";

    fn profile_of(stacks: Vec<Stack>) -> ProfileMessage {
        let times = Times { began: UNIX_EPOCH, lasted: Duration::from_secs(2), hertz: 100 };
        profile(stacks.into_iter(), MAPS, times)
    }

    fn stack(addresses: &[u64], thread: &str, count: i64) -> Stack {
        Stack { addresses: addresses.to_vec(), thread: thread.to_owned(), count }
    }

    #[test]
    fn code_is_found_in_its_files() {
        let made =
            profile_of(vec![stack(&[0x7f00_0000_2004, 0x55d0_0000_1000, 0x7fff_0000_0010], "core-0", 3)]);
        let files: Vec<&str> =
            made.mapping.iter().map(|mapping| &*made.string_table[mapping.filename as usize]).collect();
        assert_eq!(files, ["/opt/my prony", "/lib/libc.so.6"]);
        assert_eq!(made.mapping[1].file_offset, 0x26000);
        // The call before where it returns to is in no file there.
        let found: Vec<(u64, u64)> =
            made.location.iter().map(|location| (location.mapping_id, location.address)).collect();
        assert_eq!(found, [(2, 0x7f00_0000_2004), (0, 0x55d0_0000_0fff), (0, 0x7fff_0000_000f)]);
    }

    #[test]
    fn samples_count_and_have_their_thread_and_time() {
        let made = profile_of(vec![
            stack(&[0x55d0_0000_1000], "core-0", 3),
            stack(&[0x55d0_0000_1000], "core-1", 4),
        ]);
        assert_eq!(made.location.len(), 1, "a place stands once");
        let seen: Vec<(&[u64], &[i64], &str)> = made
            .sample
            .iter()
            .map(|sample| {
                let thread = &*made.string_table[sample.label[0].text as usize];
                (&*sample.location_id, &*sample.value, thread)
            })
            .collect();
        assert_eq!(
            seen,
            [(&[1][..], &[3, 30_000_000][..], "core-0"), (&[1][..], &[4, 40_000_000][..], "core-1")]
        );
        assert_eq!((made.period, made.duration_nanos), (10_000_000, 2_000_000_000));
        assert_eq!(made.string_table[0], "");
    }
}
