//! Fetches a root field's levels, parents before children, and has them spliced into its value.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use futures_util::future::{LocalBoxFuture, try_join_all};
use prony_graphql::{
    budget::ResponseMeter, error::GraphqlError, response::FieldResult, variables::Variables,
};

use crate::levels::{
    Fetched, FieldLevels, Gatherer, Key, LevelRows, MergeKey,
    splice::{Branch, Tree, splice},
};

/// Fetches levels of one prepared root field on the core it lives on; cheap to clone.
pub trait Fetch: Clone + 'static {
    type Statement: 'static;

    fn levels(&self) -> &FieldLevels<Self::Statement>;

    /// The rows of a level for these keys, which are distinct. The root level has one key without parts.
    ///
    /// Rows come in ascending order of their key's index and, for one key, in the level's order, with `limit`
    /// and `offset` applied for each key on its own.
    fn fetch(
        &self,
        level: usize,
        keys: Arc<[Key]>,
        variables: Rc<Variables>,
    ) -> LocalBoxFuture<'static, Result<Rc<LevelRows>, GraphqlError>>;

    /// Which fetches of other operations a fetch of this level can share a statement with.
    ///
    /// # Errors
    /// What binding the level's parameters reports: a wrong value, a limit above the highest.
    fn merge_key(&self, level: usize, variables: &Variables) -> Result<MergeKey, GraphqlError>;
}

/// Answers a root field; with a gatherer, statements are shared with concurrent operations.
///
/// # Errors
/// What a fetch has failed with, or a response that is larger than it may be.
pub async fn resolve<F: Fetch>(
    fetch: F,
    variables: Rc<Variables>,
    gatherer: Option<Rc<Gatherer>>,
    meter: ResponseMeter,
) -> Result<FieldResult, GraphqlError> {
    let resolver = Rc::new(Resolver { fetch, variables, gatherer });
    let root_keys: Arc<[Key]> = Arc::from([Key::default()]);
    let tree = Rc::clone(&resolver).level(0, root_keys).await?;
    splice(resolver.fetch.levels(), &tree, meter)
}

struct Resolver<F> {
    fetch: F,
    variables: Rc<Variables>,
    gatherer: Option<Rc<Gatherer>>,
}

impl<F: Fetch> Resolver<F> {
    fn level(
        self: Rc<Self>,
        level: usize,
        keys: Arc<[Key]>,
    ) -> LocalBoxFuture<'static, Result<Tree, GraphqlError>> {
        Box::pin(async move {
            let count = keys.len();
            let fetched = if count == 0 {
                // A wrong value is refused whether there are rows above or not, as it is in one statement.
                self.fetch.merge_key(level, &self.variables)?;
                Fetched::new(LevelRows::new(self.fetch.levels().levels[level].children.len()).into())
            } else {
                self.fetch(level, keys).await?
            };
            self.below(level, fetched, count).await
        })
    }

    async fn fetch(&self, level: usize, keys: Arc<[Key]>) -> Result<Fetched, GraphqlError> {
        match &self.gatherer {
            Some(gatherer) => gatherer.fetch(&self.fetch, level, &keys, &self.variables).await,
            None => self.fetch.fetch(level, keys, Rc::clone(&self.variables)).await.map(Fetched::new),
        }
    }

    /// The children of a level side by side, so that a gatherer sees them at the same time.
    async fn below(
        self: &Rc<Self>,
        level: usize,
        fetched: Fetched,
        keys: usize,
    ) -> Result<Tree, GraphqlError> {
        let children = self.fetch.levels().levels[level].children.iter().enumerate();
        let branches = children.map(|(index, child)| {
            let (keys, key_of_row) = child_keys(&fetched, keys, index);
            let tree = Rc::clone(self).level(child.level, keys);
            async move { Ok::<_, GraphqlError>(Branch { tree: tree.await?, key_of_row }) }
        });
        let below = try_join_all(branches).await?;
        Ok(Tree { fetched, below })
    }
}

/// The distinct keys of one child, in the order of the rows, and which row has which.
fn child_keys(fetched: &Fetched, parent_keys: usize, child: usize) -> (Arc<[Key]>, HashMap<usize, usize>) {
    let mut indexes: HashMap<&Key, usize> = HashMap::new();
    let mut keys: Vec<Key> = Vec::new();
    let mut key_of_row = HashMap::new();
    for row in (0..parent_keys).flat_map(|key| fetched.of_key(key)) {
        let Some(key) = fetched.rows.key(row, child) else { continue };
        let index = *indexes.entry(key).or_insert_with(|| {
            keys.push(key.clone());
            keys.len() - 1
        });
        key_of_row.insert(row, index);
    }
    (keys.into(), key_of_row)
}
