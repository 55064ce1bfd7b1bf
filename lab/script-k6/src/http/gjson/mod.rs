//! GJSON paths, which `response.json(selector)` takes: `friends.#(age>40)#.name`.
//!
//! A tree once parsed is asked as often as a script likes. The crate of this name lacks half of the modifiers and
//! some operators, and puts quotes into keys. <https://github.com/tidwall/gjson/blob/master/SYNTAX.md>

mod modifier;
mod node;
mod query;
mod read;
mod step;

pub(super) use node::Node;
pub(super) use read::parse;

use query::ArrayQuery;
use std::borrow::Cow;
use step::{ArrayStep, Next, ObjectStep};

/// What a path goes on in where nothing was found.
static NOTHING: Node = Node::Null;

/// Paths nest no deeper than this.
const DEPTH_MAX: usize = 100;

/// What the path selects.
pub(super) fn get<'a>(node: &'a Node, path: &str) -> Option<Cow<'a, Node>> {
    Search { depth: 0 }.get(node, path)
}

#[derive(Debug, Clone, Copy)]
struct Search {
    depth: usize,
}

impl Search {
    fn deeper(self) -> Option<Self> {
        (self.depth < DEPTH_MAX).then_some(Self { depth: self.depth + 1 })
    }

    fn get<'a>(self, node: &'a Node, path: &str) -> Option<Cow<'a, Node>> {
        let search = self.deeper()?;
        match path.bytes().next() {
            Some(b'@') => {
                if let Some((result, rest)) = search.modified(node, path) {
                    return search.go_on(Some(Cow::Owned(result?)), rest);
                }
            }
            Some(b'!') => {
                if let Some((literal, rest)) = step::literal(path) {
                    return search.go_on(parse(literal.as_bytes()).map(Cow::Owned), rest);
                }
            }
            Some(b'[' | b'{') => {
                if let Some((parts, rest)) = step::multipath(path) {
                    let made = search.combine(node, &parts, path.starts_with('{'));
                    return search.go_on(Some(Cow::Owned(made)), rest);
                }
            }
            _ => {}
        }
        let mut pipe = None;
        let found = match path.strip_prefix("..") {
            Some(rest) => {
                let lines = Node::Array(vec![node.clone()]);
                search.find(&lines, rest, &mut pipe).map(|found| Cow::Owned(found.into_owned()))
            }
            None => search.find(node, path, &mut pipe),
        };
        match pipe {
            Some(pipe) => match found {
                Some(found) => search.get_in(found, &pipe),
                // What is made of parts is there without them, and a literal is there anyway.
                None if pipe.starts_with(['{', '[', '!']) => search.get(&NOTHING, &pipe),
                None => None,
            },
            None => found,
        }
    }

    /// Goes on behind a modifier, literal or multipath.
    fn go_on<'a>(self, found: Option<Cow<'a, Node>>, rest: &str) -> Option<Cow<'a, Node>> {
        match rest.strip_prefix(['.', '|']) {
            Some(path) => self.get_in(found?, path),
            None => found,
        }
    }

    fn get_in<'a>(self, node: Cow<'a, Node>, path: &str) -> Option<Cow<'a, Node>> {
        match node {
            Cow::Borrowed(node) => self.get(node, path),
            Cow::Owned(node) => self.get(&node, path).map(|found| Cow::Owned(found.into_owned())),
        }
    }

    /// Outer `None`: there is no such modifier.
    fn modified<'p>(self, node: &Node, path: &'p str) -> Option<(Option<Node>, &'p str)> {
        let (name, argument, rest) = step::modifier(path);
        if name == "dig" {
            let mut all = Vec::new();
            self.dig(node, argument, &mut all);
            return Some((Some(Node::Array(all)), rest));
        }
        let result = modifier::apply(name, node, argument)?;
        Some((result, rest))
    }

    fn dig(self, node: &Node, path: &str, all: &mut Vec<Node>) {
        let Some(search) = self.deeper() else { return };
        all.extend(search.get(node, path).map(Cow::into_owned));
        match node {
            Node::Array(items) => items.iter().for_each(|item| search.dig(item, path, all)),
            Node::Object(members) => members.iter().for_each(|(_, value)| search.dig(value, path, all)),
            _ => {}
        }
    }

    fn combine(self, node: &Node, parts: &[(Option<&str>, &str)], is_object: bool) -> Node {
        let found = parts.iter().filter_map(|(name, path)| {
            let value = self.get(node, path)?.into_owned();
            Some((name.map_or_else(|| step::name_of(path), step::name_from), value))
        });
        if is_object {
            Node::Object(found.collect())
        } else {
            Node::Array(found.map(|(_, value)| value).collect())
        }
    }

    fn find<'a>(self, node: &'a Node, path: &str, pipe: &mut Option<String>) -> Option<Cow<'a, Node>> {
        let search = self.deeper()?;
        match node {
            Node::Object(members) => search.in_object(members, path, pipe),
            Node::Array(items) => search.in_array(items, path, pipe),
            _ => None,
        }
    }

    fn in_object<'a>(
        self,
        members: &'a [(String, Node)],
        path: &str,
        pipe: &mut Option<String>,
    ) -> Option<Cow<'a, Node>> {
        let step = ObjectStep::read(path);
        if let Next::Pipe(rest) = step.next {
            *pipe = Some(rest.to_owned());
        }
        for (_, value) in members.iter().filter(|(key, _)| step.matches(key)) {
            let Next::Path(rest) = step.next else { return Some(Cow::Borrowed(value)) };
            if let Some(found) = self.find(value, rest, pipe) {
                return Some(found);
            }
        }
        None
    }

    fn in_array<'a>(self, items: &'a [Node], path: &str, pipe: &mut Option<String>) -> Option<Cow<'a, Node>> {
        let step = ArrayStep::read(path);
        match step {
            ArrayStep::Index { index, next } => {
                if let Next::Pipe(rest) = next {
                    *pipe = Some(rest.to_owned());
                }
                let item = items.get(index?)?;
                match next {
                    Next::Path(rest) => self.find(item, rest, pipe),
                    Next::End | Next::Pipe(_) => Some(Cow::Borrowed(item)),
                }
            }
            ArrayStep::Count { next } => {
                if let Next::Pipe(rest) = next {
                    *pipe = Some(rest.to_owned());
                }
                Some(Cow::Owned(Node::Number(items.len() as f64)))
            }
            ArrayStep::Each { path } => {
                let (path, rest) = step::split_pipe(path);
                *pipe = rest.map(str::to_owned).or(pipe.take());
                let found = items.iter().filter_map(|item| self.get(item, path)).map(Cow::into_owned);
                Some(Cow::Owned(Node::Array(found.collect())))
            }
            ArrayStep::ArrayQuery { query, next } => self.by_query(items, &query, next, pipe),
        }
    }

    fn by_query<'a>(
        self,
        items: &'a [Node],
        query: &ArrayQuery<'_>,
        next: Next<'_>,
        pipe: &mut Option<String>,
    ) -> Option<Cow<'a, Node>> {
        let rest = match next {
            Next::End => None,
            Next::Pipe(rest) => {
                *pipe = Some(rest.to_owned());
                None
            }
            Next::Path(rest) => {
                let (rest, after) = step::split_pipe(rest);
                *pipe = after.map(str::to_owned).or(pipe.take());
                Some(rest)
            }
        };
        let mut matching = items.iter().filter(|item| self.meets(item, query));
        let select = |item: &'a Node| match rest {
            Some(rest) => self.get(item, rest),
            None => Some(Cow::Borrowed(item)),
        };
        if !query.selects_all {
            return matching.next().and_then(select);
        }
        Some(Cow::Owned(Node::Array(matching.filter_map(select).map(Cow::into_owned).collect())))
    }

    fn meets(self, item: &Node, query: &ArrayQuery<'_>) -> bool {
        match item {
            Node::Array(_) | Node::Object(_) => query.matches(self.get(item, query.path).as_deref()),
            _ => query.path.is_empty() && query.matches(Some(item)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const DOCUMENT: &str = r##"{
        "name": {"first": "Tom", "last": "Anderson"}, "age": 37, "children": ["Sara", "Alex", "Jack"],
        "fav.movie": "Deer Hunter",
        "friends": [
            {"first": "Dale", "last": "Murphy", "age": 44, "nets": ["ig", "fb", "tw"]},
            {"first": "Roger", "last": "Craig", "age": 68, "nets": ["fb", "tw"]},
            {"first": "Jane", "last": "Murphy", "age": 47, "nets": ["ig", "tw"]}
        ],
        "vals": [{"a": 1, "b": "data"}, {"a": 2, "b": true}, {"a": 3, "b": false}, {"a": 4, "b": "0"}, {"a": 5, "b": 0},
            {"a": 6, "b": "1"}, {"a": 7, "b": 1}, {"a": 8, "b": "true"}, {"a": 9, "b": false}, {"a": 10, "b": null},
            {"a": 11}],
        "e": "a\"b\u00e9\n", "n": -1.5e3, "nul": null, "arr": [[1, 2], [3, [4]]], "": "empty", "a|b": 1, "#": "hash",
        "*": "star", "x": {"0": "zero", "y": [{"z": 1}, {"z": 2}, {"w": 3}]}, "un": "ü", "dup": 1, "dup": 2
    }"##;

    fn check(paths: &str, expected: &Expect) {
        let document = parse(DOCUMENT.as_bytes()).unwrap();
        let lines: Vec<String> = paths
            .lines()
            .map(str::trim)
            .map(|path| match get(&document, path) {
                Some(found) => format!("{path}\t{}", found.to_json()),
                None => format!("{path}\t-"),
            })
            .collect();
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn keys_indices_and_wildcards() {
        check(
            r"name.last
            children.1
            children.01
            children.a
            friends.1.first
            child*.2
            c?ildren.0
            n*
            name.f*
            *
            fav\.movie
            a\|b
            \#
            \*
            arr.1.1.0
            nul
            nul.x
            name.first.x
            e
            n
            un
            dup

            .
            friends.
            friends..first
            x.0
            nothing",
            &expect![[r#"
                name.last	"Anderson"
                children.1	"Alex"
                children.01	"Alex"
                children.a	-
                friends.1.first	"Roger"
                child*.2	"Jack"
                c?ildren.0	"Sara"
                n*	{"first":"Tom","last":"Anderson"}
                name.f*	"Tom"
                *	{"first":"Tom","last":"Anderson"}
                fav\.movie	"Deer Hunter"
                a\|b	1
                \#	"hash"
                \*	"star"
                arr.1.1.0	4
                nul	null
                nul.x	-
                name.first.x	-
                e	"a\"bé\n"
                n	-1500
                un	"ü"
                dup	1
                	"empty"
                .	-
                friends.	-
                friends..first	-
                x.0	"zero"
                nothing	-"#]],
        );
    }

    #[test]
    fn arrays_and_queries() {
        check(
            r#"friends.#
            friends.#.age
            friends.#.nets.#
            friends.#.nets.0
            friends.#.#
            arr.#.0
            arr.#.#
            friends.#(last=="Murphy").first
            friends.#(last=="Murphy")#.first
            friends.#(last="Murphy")#|first
            friends.#(last="Murphy")#|0
            friends.#(last="Murphy")#.0
            friends.#(last="Murphy")#|#
            friends.#(last=="Murphy")#.nets.#
            friends.#[last=="Murphy"].first
            friends.#(age>45)#.last
            friends.#(age>=47)#.first
            friends.#(age<=47)#.first
            friends.#(age<44)
            friends.#(first>"E")#.first
            friends.#(first%"D*").last
            friends.#(first!%"D*").last
            children.#(!%"*a*")
            children.#(%"*a*")#
            children.#(!="Alex")#
            friends.#(nets.#(=="fb"))#.first
            friends.#(nets.0=="ig")#.first
            friends.#(age==47).nets.1
            friends.#(nets)#.age
            friends.#(none==1)
            friends.#()
            friends.#(
            vals.#(b==~true)#.a
            vals.#(b==~false)#.a
            vals.#(b==~null)#.a
            vals.#(b==~*)#.a
            vals.#(b!=~*)#.a
            vals.#(b==true)#.a
            vals.#(b<true)#.a
            x.y.#(z==2)
            x.y.#.z"#,
            &expect![[r#"
                friends.#	3
                friends.#.age	[44,68,47]
                friends.#.nets.#	[3,2,2]
                friends.#.nets.0	["ig","fb","ig"]
                friends.#.#	[]
                arr.#.0	[1,3]
                arr.#.#	[2,2]
                friends.#(last=="Murphy").first	"Dale"
                friends.#(last=="Murphy")#.first	["Dale","Jane"]
                friends.#(last="Murphy")#|first	-
                friends.#(last="Murphy")#|0	{"first":"Dale","last":"Murphy","age":44,"nets":["ig","fb","tw"]}
                friends.#(last="Murphy")#.0	[]
                friends.#(last="Murphy")#|#	2
                friends.#(last=="Murphy")#.nets.#	[3,2]
                friends.#[last=="Murphy"].first	"Dale"
                friends.#(age>45)#.last	["Craig","Murphy"]
                friends.#(age>=47)#.first	["Roger","Jane"]
                friends.#(age<=47)#.first	["Dale","Jane"]
                friends.#(age<44)	-
                friends.#(first>"E")#.first	["Roger","Jane"]
                friends.#(first%"D*").last	"Murphy"
                friends.#(first!%"D*").last	"Craig"
                children.#(!%"*a*")	"Alex"
                children.#(%"*a*")#	["Sara","Jack"]
                children.#(!="Alex")#	["Sara","Jack"]
                friends.#(nets.#(=="fb"))#.first	["Dale","Roger"]
                friends.#(nets.0=="ig")#.first	["Dale","Jane"]
                friends.#(age==47).nets.1	"tw"
                friends.#(nets)#.age	[44,68,47]
                friends.#(none==1)	-
                friends.#()	-
                friends.#(	-
                vals.#(b==~true)#.a	[2,6,7,8]
                vals.#(b==~false)#.a	[3,4,5,9,10,11]
                vals.#(b==~null)#.a	[10,11]
                vals.#(b==~*)#.a	[1,2,3,4,5,6,7,8,9,10]
                vals.#(b!=~*)#.a	[11]
                vals.#(b==true)#.a	[2,5,8]
                vals.#(b<true)#.a	[1,3,4,6,9]
                x.y.#(z==2)	{"z":2}
                x.y.#.z	[1,2]"#]],
        );
    }

    #[test]
    fn pipes_modifiers_multipaths_and_literals() {
        check(
            r#"friends|0.first
            friends.0|first
            friends|#
            children.@reverse
            children.@reverse.0
            name.@reverse
            name.@this
            name.@keys
            name.@values
            children.@keys
            name|@keys|#
            arr.@flatten
            arr.@flatten:{"deep":true}
            [name,x].@join
            name.@ugly
            name.@pretty:{"indent":""}
            name.@valid.first
            name.@tostr
            name.@tostr.@fromstr.first
            @dig:z
            @dig:first
            {"first":friends.#.first,"age":friends.#.age}.@group
            {name.first,age,"the_murphys":friends.#(last="Murphy")#.first}
            [name.first,age]
            {name.first,age,"company":!"Happysoft","employed":!true}
            friends.#.{first,age}
            friends.#.[first,age]
            friends.#(last=="Murphy")#.{first}
            friends.1.{first,"n":nets.#}
            {"a":nothing,name}
            {children.#}
            !"x"
            !true
            []
            name.@nothing
            nothing|{first,"b":!1}
            nothing|[first]
            nothing|!"x"
            nothing|first"#,
            &expect![[r#"
                friends|0.first	"Dale"
                friends.0|first	"Dale"
                friends|#	3
                children.@reverse	["Jack","Alex","Sara"]
                children.@reverse.0	"Jack"
                name.@reverse	{"last":"Anderson","first":"Tom"}
                name.@this	{"first":"Tom","last":"Anderson"}
                name.@keys	["first","last"]
                name.@values	["Tom","Anderson"]
                children.@keys	[null,null,null]
                name|@keys|#	2
                arr.@flatten	[1,2,3,[4]]
                arr.@flatten:{"deep":true}	[1,2,3,4]
                [name,x].@join	{"first":"Tom","last":"Anderson","0":"zero","y":[{"z":1},{"z":2},{"w":3}]}
                name.@ugly	{"first":"Tom","last":"Anderson"}
                name.@pretty:{"indent":""}	{"first":"Tom","last":"Anderson"}
                name.@valid.first	"Tom"
                name.@tostr	"{\"first\":\"Tom\",\"last\":\"Anderson\"}"
                name.@tostr.@fromstr.first	"Tom"
                @dig:z	[1,2]
                @dig:first	["Tom","Dale","Roger","Jane"]
                {"first":friends.#.first,"age":friends.#.age}.@group	[{"first":"Dale","age":44},{"first":"Roger","age":68},{"first":"Jane","age":47}]
                {name.first,age,"the_murphys":friends.#(last="Murphy")#.first}	{"first":"Tom","age":37,"the_murphys":["Dale","Jane"]}
                [name.first,age]	["Tom",37]
                {name.first,age,"company":!"Happysoft","employed":!true}	{"first":"Tom","age":37,"company":"Happysoft","employed":true}
                friends.#.{first,age}	[{"first":"Dale","age":44},{"first":"Roger","age":68},{"first":"Jane","age":47}]
                friends.#.[first,age]	[["Dale",44],["Roger",68],["Jane",47]]
                friends.#(last=="Murphy")#.{first}	[{"first":"Dale"},{"first":"Jane"}]
                friends.1.{first,"n":nets.#}	{"first":"Roger","n":2}
                {"a":nothing,name}	{"name":{"first":"Tom","last":"Anderson"}}
                {children.#}	{"_":3}
                !"x"	"x"
                !true	true
                []	["empty"]
                name.@nothing	-
                nothing|{first,"b":!1}	{"b":1}
                nothing|[first]	[]
                nothing|!"x"	"x"
                nothing|first	-"#]],
        );
    }

    #[test]
    fn endless_paths_end() {
        let document = parse(b"[[[]]]").unwrap();
        assert!(get(&document, &"@this|".repeat(10_000)).is_none());
        let nested = "[".repeat(10_000);
        assert!(get(&document, &nested).is_none());
    }
}
