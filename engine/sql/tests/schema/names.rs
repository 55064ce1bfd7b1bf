//! English inflection and the names made of it.

use prony_source::dialect::{
    inflection::{pluralize, singularize},
    names::{graphql_name, is_graphql_name, list_name, pascal_case, singular_snake, snake_case, type_name},
};
use proptest::prelude::*;

/// Singular and plural, each found from the other and from itself. The first block is what Rails' documented
/// rules and irregulars give; then words of databases; then words for which Rails gives no word.
const PAIRS: &str = "
    search searches|switch switches|fix fixes|box boxes|process processes|address addresses|case cases
    stack stacks|wish wishes|category categories|query queries|ability abilities|agency agencies
    movie movies|archive archives|wife wives|half halves|move moves|person people|salesperson salespeople
    man men|woman women|spokesman spokesmen|basis bases|diagnosis diagnoses|datum data|medium media
    stadium stadia|analysis analyses|node nodes|child children|experience experiences|day days|comment comments
    foobar foobars|newsletter newsletters|old_news old_news|news news|series series|species species|quiz quizzes
    perspective perspectives|ox oxen|photo photos|buffalo buffaloes|tomato tomatoes|potato potatoes|hero heroes
    elf elves|information information|equipment equipment|bus buses|status statuses|mouse mice|louse lice
    house houses|octopus octopi|virus viri|alias aliases|portfolio portfolios|vertex vertices|matrix matrices
    index indices|axis axes|taxi taxis|testis testes|crisis crises|rice rice|shoe shoes|horse horses|prize prizes
    edge edges|cow cows|database databases|sex sexes|zombie zombies|money money|fish fish|sheep sheep|jeans jeans
    police police|parenthesis parentheses|prognosis prognoses|synopsis synopses|thesis theses|hypothesis hypotheses
    hive hives|life lives|knife knives|wolf wolves|shelf shelves|calf calves|self selves|dwarf dwarves
    passive passives|objective objectives|motive motives|soliloquy soliloquies|colloquy colloquies
    venue venues|meetup meetups|member members|album albums|artist artists|customer customers|employee employees
    genre genres|invoice invoices|line lines|type types|playlist playlists|track tracks|user users|role roles
    permission permissions|account accounts|company companies|country countries|city cities|currency currencies
    policy policies|entry entries|inventory inventories|delivery deliveries|history histories|key keys|survey surveys
    journey journeys|boy boys|tag tags|post posts|article articles|image images|file files|message messages
    class classes|business businesses|access accesses|boss bosses|branch branches|batch batches|match matches
    brush brushes|hash hashes|crash crashes|tax taxes|mailbox mailboxes|suffix suffixes|prefix prefixes
    response responses|purchase purchases|lease leases|release releases|license licenses|expense expenses
    course courses|warehouse warehouses|clause clauses|cause causes|phase phases|nurse nurses|page pages
    price prices|service services|device devices|resource resources|source sources|schedule schedules
    event events|log logs|session sessions|token tokens|setting settings|option options|field fields|row rows
    table tables|view views|schema schemas|idea ideas|area areas|camera cameras|video videos|radio radios|menu menus
    cache caches|cookie cookies|drive drives|save saves|wave waves|curve curves|valve valves|slave slaves
    reserve reserves|leave leaves|glove gloves|olive olives|bonus bonuses|campus campuses|canvas canvases|lens lenses
    gas gases|focus focuses|quota quotas|human humans|criterion criteria|safe safes|cafe cafes|calorie calories
    niche niches|radius radiuses|tie ties|toe toes|emphasis emphases|codebase codebases";

fn pairs() -> Vec<(&'static str, &'static str)> {
    let pair = |text: &'static str| text.trim().split_once(' ').unwrap();
    PAIRS.lines().flat_map(|line| line.split('|')).filter(|text| !text.trim().is_empty()).map(pair).collect()
}

#[test]
fn english_words() {
    let pairs = pairs();
    assert!(pairs.len() > 200, "{}", pairs.len());
    let mut wrong = Vec::new();
    for (singular, plural) in pairs {
        let mut check = |what: &str, got: String, expected: &str| {
            if got != expected {
                wrong.push(format!("{what}: {got}, expected {expected}"));
            }
        };
        check("plural", list_name(singular), plural);
        check("plural of plural", list_name(plural), plural);
        check("singular", singular_snake(plural), singular);
        check("singular of singular", singular_snake(singular), singular);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn letters_keep_their_case() {
    for (singular, plural) in [
        ("Person", "People"),
        ("PERSON", "PEOPLE"),
        ("Category", "Categories"),
        ("CATEGORY", "CATEGORIES"),
        ("Status", "Statuses"),
        ("Fish", "Fish"),
        ("Cache", "Caches"),
        ("CACHE", "CACHES"),
        ("Bonus", "Bonuses"),
    ] {
        assert_eq!(pluralize(singular), plural);
        assert_eq!(singularize(plural), singular);
    }
}

#[test]
fn tables_become_types_and_fields() {
    for (table, expected_type, expected_list) in [
        ("venues", "Venue", "venues"),
        ("meetups_members", "MeetupsMember", "meetups_members"),
        ("invoice_line", "InvoiceLine", "invoice_lines"),
        ("InvoiceLine", "InvoiceLine", "invoice_lines"),
        ("invoiceLines", "InvoiceLine", "invoice_lines"),
        ("INVOICE_LINES", "InvoiceLine", "invoice_lines"),
        ("invoice-line", "InvoiceLine", "invoice_lines"),
        ("invoice line", "InvoiceLine", "invoice_lines"),
        ("MediaType", "MediaType", "media_types"),
        ("people", "Person", "people"),
        ("sales_people", "SalesPerson", "sales_people"),
        ("gold_fish", "GoldFish", "gold_fish"),
        ("HTTPServer", "HttpServer", "http_servers"),
        ("address2", "Address2", "address2s"),
        ("OAuth2Tokens", "OAuth2Token", "o_auth2_tokens"),
        ("items_2020", "Items2020", "items_2020s"),
        ("_hidden", "Hidden", "_hiddens"),
        ("trailing_", "Trailing", "trailings_"),
        ("__reserved", "Reserved", "_reserveds"),
        ("2fa_tokens", "_2faToken", "_2fa_tokens"),
        ("straßen", "Strassen", "strassens"),
        ("заказы", "Zakazy", "zakazies"),
        ("\"quoted\"", "Quoted", "quoteds"),
        ("", "_", "_rows"),
    ] {
        assert_eq!(type_name(table), expected_type, "{table}");
        assert_eq!(list_name(table), expected_list, "{table}");
    }
}

proptest! {
    #[test]
    fn any_text_makes_valid_names(text in any::<String>()) {
        for name in [graphql_name(&text), type_name(&text), list_name(&text), singular_snake(&text)] {
            prop_assert!(is_graphql_name(&name), "{name}");
        }
    }

    #[test]
    fn valid_names_stay(name in "_?[A-Za-z][A-Za-z0-9_]{0,20}") {
        prop_assert_eq!(graphql_name(&name), name);
    }

    #[test]
    fn cases_convert_back(words in proptest::collection::vec("[a-z]{2}[a-z0-9]{0,8}", 1..5)) {
        let snake = words.join("_");
        prop_assert_eq!(snake_case(&pascal_case(&snake)), snake);
    }

    #[test]
    fn any_text_inflects(text in any::<String>(), ending in "[a-z]{1,3}") {
        let word = text + &ending;
        prop_assert!(!pluralize(&word).is_empty());
        prop_assert!(!singularize(&word).is_empty());
    }
}
