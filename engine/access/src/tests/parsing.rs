//! Whatever bytes come, nothing panics, and nothing that was not signed is accepted.

use proptest::{collection::vec, prelude::*};

use super::*;

/// Pieces of which tokens are made, right and wrong ones.
fn piece() -> impl Strategy<Value = String> {
    let json = prop_oneof![
        Just(r#"{"alg":"HS256"}"#.to_owned()),
        Just(r#"{"alg":"none"}"#.to_owned()),
        Just(r#"{"alg":"ES256","kid":"../x"}"#.to_owned()),
        Just(customer().to_string()),
        Just("{}".to_owned()),
        Just("[[[[".to_owned()),
        ".{0,40}",
    ];
    prop_oneof![
        4 => json.prop_map(encoded),
        1 => "[A-Za-z0-9_=-]{0,60}",
        1 => Just(String::new()),
    ]
}

proptest! {
    #[test]
    fn no_bytes_are_a_credential(
        authorization in vec(any::<u8>(), 0..200),
        key in vec(any::<u8>(), 0..80),
        cookie in vec(any::<u8>(), 0..80),
        role in vec(any::<u8>(), 0..20),
    ) {
        let text = format!("{SHOP_ISSUER}cookie = \"t\"\n{SHOP}");
        let shop = Beside::new().authenticator(&text);
        for (name, value) in [("authorization", &authorization), ("x-api-key", &key), ("cookie", &cookie)] {
            let mut credentials = shop.credentials();
            credentials.header(name, value);
            credentials.header("x-prony-role", &role);
            prop_assert!(matches!(shop.identify(&credentials, None, NOW), Identified::Refused(_)));
        }
        let cookie = [b"t=", &cookie[..]].concat();
        let bearer = [b"Bearer ", &authorization[..]].concat();
        let mut credentials = shop.credentials();
        credentials.header("cookie", &cookie);
        prop_assert!(matches!(shop.identify(&credentials, None, NOW), Identified::Refused(_)));
        let mut credentials = shop.credentials();
        credentials.header("authorization", &bearer);
        prop_assert!(matches!(shop.identify(&credentials, None, NOW), Identified::Refused(_)));
    }

    #[test]
    fn no_pieces_are_a_token(pieces in vec(piece(), 0..5)) {
        let shop = shop();
        let token = pieces.join(".");
        prop_assert!(bearer(&shop, &token, NOW).is_err(), "{token}");
    }

    /// A good token with one byte changed is no token.
    #[test]
    fn no_byte_of_a_token_can_be_changed(index: prop::sample::Index, byte in 33_u8..127) {
        let mut token = token(&customer()).into_bytes();
        let index = index.index(token.len());
        prop_assume!(token[index] != byte);
        token[index] = byte;
        let token = String::from_utf8(token).expect("it is ASCII");
        prop_assert!(bearer(&shop(), &token, NOW).is_err(), "{token}");
    }

    /// Key sets come from somewhere else, too.
    #[test]
    fn no_bytes_are_a_key_set(body in prop_oneof![vec(any::<u8>(), 0..200), piece().prop_map(String::into_bytes)]) {
        let algorithms = [crate::Algorithm::Rs256, crate::Algorithm::Es256, crate::Algorithm::EdDsa];
        prop_assert!(crate::jwt::key_set(&body, &algorithms, crate::jwt::KeyOrigin::Address).is_err());
    }

    /// Configurations of any text are faults or settings.
    #[test]
    fn no_configuration_panics(
        key in "[a-z_.]{1,12}",
        value in prop_oneof![
            Just("1".to_owned()), Just("-1.5".to_owned()), Just("inf".to_owned()), Just("true".to_owned()),
            Just("1979-05-27".to_owned()), Just("[]".to_owned()), Just("[[1]]".to_owned()), Just("{}".to_owned()),
            Just("{ a = { b = [{ c = 1 }] } }".to_owned()), Just("\"$\"".to_owned()), Just("\"é\"".to_owned()),
        ],
        place in 0_usize..8,
    ) {
        let text = match place {
            0 => format!("auth = {value}\nroles = {value}"),
            1 => format!("[auth]\n{key} = {value}"),
            2 => format!("[[auth.jwt]]\n{key} = {value}"),
            3 => format!("[auth.webhook]\n{key} = {value}\n[auth.mtls]\n{key} = {value}"),
            4 => format!("[roles.a]\n{key} = {value}"),
            5 => format!("[roles.a.sources.b]\n{key} = {value}"),
            6 => format!("[roles.a.sources.b.tables.c]\n{key} = {value}"),
            _ => format!("[roles.a.sources.b.tables.c.select]\ncolumns = {value}\nrows = {value}\n{key} = {value}"),
        };
        let (_, _faults) = Beside::new().read(&text);
    }
}
