//! How much of a thread's JavaScript memory is each user's: what came to it while the user ran. Knows no JavaScript.
//!
//! A collection of garbage frees what users have left since the one before, whoever runs when it happens; what it freed is
//! taken from all of them, by what has come to each since then.

/// Of a user, until it is closed. [`MACHINE`] is what no user has taken.
pub(crate) type AccountId = usize;

/// What is allocated while no user runs.
pub(super) const MACHINE: AccountId = 0;

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    bytes: usize,
    bytes_after_collection: usize,
}

/// Totals are bytes of the whole thread at that moment.
#[derive(Debug)]
pub(super) struct Accounts {
    all: Vec<Account>,
    closed: Vec<AccountId>,
    running: AccountId,
    /// The thread's total when the running account was last brought up to date.
    counted_to: usize,
}

impl Accounts {
    pub(super) fn new() -> Self {
        Self { all: vec![Account::default()], closed: Vec::new(), running: MACHINE, counted_to: 0 }
    }

    pub(super) fn open(&mut self) -> AccountId {
        self.closed.pop().unwrap_or_else(|| {
            self.all.push(Account::default());
            self.all.len() - 1
        })
    }

    /// What is left of it is nobody's.
    pub(super) fn close(&mut self, id: AccountId) {
        let left = std::mem::take(&mut self.all[id]);
        self.all[MACHINE].bytes += left.bytes;
        self.closed.push(id);
    }

    /// From now on memory is this account's; returns the one before.
    pub(super) fn switch_to(&mut self, id: AccountId, total: usize) -> AccountId {
        self.count(total);
        std::mem::replace(&mut self.running, id)
    }

    /// What the running account has.
    pub(super) fn running_bytes(&self, total: usize) -> usize {
        (self.all[self.running].bytes + total).saturating_sub(self.counted_to)
    }

    pub(super) const fn running(&self) -> AccountId {
        self.running
    }

    pub(super) const fn has_user(&self) -> bool {
        self.running != MACHINE
    }

    fn count(&mut self, total: usize) {
        self.all[self.running].bytes = self.running_bytes(total);
        self.counted_to = total;
    }

    /// Garbage was collected.
    pub(super) fn collected(&mut self, total_before: usize, total_after: usize) {
        self.count(total_before);
        self.counted_to = total_after;
        let freed = total_before.saturating_sub(total_after);
        let grown = |account: &Account| account.bytes.saturating_sub(account.bytes_after_collection);
        let left = self.take_by(freed, grown);
        self.take_by(left, |account| account.bytes);
        for account in &mut self.all {
            account.bytes_after_collection = account.bytes;
        }
    }

    /// Takes bytes from all accounts in proportion to their shares, from none more than that; returns what is too much.
    fn take_by(&mut self, bytes: usize, share: impl Fn(&Account) -> usize) -> usize {
        let all: usize = self.all.iter().map(&share).sum();
        let taken = bytes.min(all);
        if taken > 0 {
            let part = taken as f64 / all as f64;
            for account in &mut self.all {
                let its_part = (share(account) as f64 * part) as usize;
                account.bytes = account.bytes.saturating_sub(its_part);
            }
        }
        bytes - taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_the_user_that_ran_when_it_was_taken() {
        let mut accounts = Accounts::new();
        let (one, two) = (accounts.open(), accounts.open());
        assert_eq!(accounts.switch_to(one, 100), MACHINE);
        assert_eq!(accounts.running_bytes(150), 50);
        assert_eq!(accounts.switch_to(two, 160), one);
        assert_eq!((accounts.running_bytes(160), accounts.has_user()), (0, true));
        accounts.switch_to(one, 200);
        assert_eq!(accounts.running_bytes(210), 70);
        accounts.switch_to(MACHINE, 210);
        accounts.close(one);
        assert_eq!((accounts.running_bytes(210), accounts.open()), (170, one));
    }

    #[test]
    fn garbage_is_taken_from_those_who_made_it_whoever_runs_when_it_is_collected() {
        let mut accounts = Accounts::new();
        let (one, two) = (accounts.open(), accounts.open());
        let mut total = 0;
        for _ in 0..1_000 {
            for id in [one, two] {
                accounts.switch_to(id, total);
                total += 1_000;
            }
            accounts.collected(total, total - 2_000);
            total -= 2_000;
        }
        for id in [one, two] {
            accounts.switch_to(id, total);
            assert_eq!(accounts.running_bytes(total), 0);
        }
        // One keeps memory, the other collects.
        accounts.switch_to(one, total);
        total += 5_000;
        accounts.switch_to(two, total);
        total += 5_000;
        accounts.collected(total, total - 5_000);
        accounts.collected(total - 5_000, total - 6_000);
        accounts.switch_to(one, total - 6_000);
        assert_eq!(accounts.running_bytes(total - 6_000), 2_000);
    }
}
