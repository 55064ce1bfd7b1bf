//! Fetches a root field's levels, parents before children, and has them spliced into its answer.

use std::{collections::HashMap, rc::Rc, sync::Arc};

use futures_util::future::{LocalBoxFuture, try_join_all};
use prony_graphql::{error::GraphqlError, response::FieldResult, variables::Variables};

use crate::nest::{
    Fetch, Gatherer, Key, LevelRows, Limits, NestPlan, splice,
    tree::{Answer, Branch, Tree},
};

/// Answers a root field; with a gatherer, statements are shared with concurrent operations.
pub async fn resolve<F: Fetch>(
    fetch: &F,
    plan: Arc<NestPlan>,
    variables: Rc<Variables>,
    gatherer: Option<Rc<Gatherer>>,
    limits: Limits,
) -> FieldResult {
    let resolver = Resolver { fetch: fetch.clone(), plan: Arc::clone(&plan), variables, gatherer };
    let root_keys: Rc<[Key]> = Rc::from([Key::default()]);
    match Rc::new(resolver).level(0, root_keys).await {
        Ok(tree) => splice::splice(&plan, &tree, limits),
        Err(error) => FieldResult::failed(splice::at_root(&plan, error)),
    }
}

struct Resolver<F> {
    fetch: F,
    plan: Arc<NestPlan>,
    variables: Rc<Variables>,
    gatherer: Option<Rc<Gatherer>>,
}

impl<F: Fetch> Resolver<F> {
    fn level(
        self: Rc<Self>,
        level: usize,
        keys: Rc<[Key]>,
    ) -> LocalBoxFuture<'static, Result<Tree, GraphqlError>> {
        Box::pin(async move {
            if keys.is_empty() {
                let rows = Rc::new(LevelRows::new(self.plan.levels[level].children.len()));
                return self.below(level, Answer { rows, places: None }, 0).await;
            }
            let count = keys.len();
            let answer = self.fetch(level, keys).await?;
            self.below(level, answer, count).await
        })
    }

    async fn fetch(&self, level: usize, keys: Rc<[Key]>) -> Result<Answer, GraphqlError> {
        if let Some(gatherer) = &self.gatherer {
            return gatherer.fetch(&self.fetch, level, &keys, &self.variables).await;
        }
        let rows = self.fetch.fetch(level, keys, Rc::clone(&self.variables)).await?;
        Ok(Answer { rows, places: None })
    }

    /// The children of a level side by side, so that a gatherer sees them at the same time.
    async fn below(self: &Rc<Self>, level: usize, answer: Answer, keys: usize) -> Result<Tree, GraphqlError> {
        let children = self.plan.levels[level].children.iter().enumerate();
        let branches = children.map(|(index, child)| {
            let (keys, key_of_row) = child_keys(&answer, keys, index);
            let tree = Rc::clone(self).level(child.level, keys);
            async move { Ok::<_, GraphqlError>(Branch { tree: tree.await?, key_of_row }) }
        });
        let below = try_join_all(branches).await?;
        Ok(Tree { answer, below })
    }
}

/// The distinct keys of one child, in the order of the rows, and which row has which.
fn child_keys(answer: &Answer, parent_keys: usize, child: usize) -> (Rc<[Key]>, HashMap<usize, usize>) {
    let mut indexes: HashMap<&Key, usize> = HashMap::new();
    let mut keys: Vec<Key> = Vec::new();
    let mut key_of_row = HashMap::new();
    for row in (0..parent_keys).flat_map(|key| answer.of_key(key)) {
        let Some(key) = answer.rows.key(row, child) else { continue };
        let index = *indexes.entry(key).or_insert_with(|| {
            keys.push(key.clone());
            keys.len() - 1
        });
        key_of_row.insert(row, index);
    }
    (keys.into(), key_of_row)
}
