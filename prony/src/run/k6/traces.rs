//! `--traces-output` as k6 reads it. k6 makes spans of `k6/browser` alone and none of other modules, so that there are none to send.

/// What is said where traces are asked for.
pub(super) const NO_SPANS: &str = "--traces-output has no effect: k6 makes spans of `k6/browser` alone, which is not there, and sets no `traceparent`";

/// Whether traces are asked for: `none`, or `otel`, `otel=URL` and behind it `proto=grpc|http` and `header.NAME=VALUE`.
///
/// # Errors
/// What k6 says of anything else.
pub(super) fn is_wanted(line: &str) -> Result<bool, String> {
    if line == "none" {
        return Ok(false);
    }
    let output = line.split('=').next().unwrap_or_default();
    if output != "otel" {
        return Err(format!("invalid traces output \"{output}\""));
    }
    let (mut is_grpc, mut has_path) = (true, false);
    for setting in line.split(',').filter(|setting| *setting != "otel") {
        match setting.split_once('=').unwrap_or((setting, "")) {
            ("otel", url) => {
                has_path =
                    has_url_path(url).map_err(|error| format!("couldn't parse the otel URL: {error}"))?;
                is_grpc = false;
            }
            ("proto", protocol @ ("grpc" | "http")) => is_grpc = protocol == "grpc",
            ("proto", protocol) => {
                return Err(format!("couldn't parse the otel proto: invalid protocol: \"{protocol}\""));
            }
            (name, _) if name.starts_with("header.") => {}
            (name, _) => return Err(format!("unknown otel config key {name}")),
        }
    }
    if is_grpc && has_path {
        return Err("grpc protocol does not support URL path".to_owned());
    }
    Ok(true)
}

fn has_url_path(url: &str) -> Result<bool, String> {
    let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
    if !["http", "https"].contains(&scheme) {
        return Err(format!("invalid URL scheme: \"{scheme}\""));
    }
    Ok(rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_k6_reads_them() {
        for (line, expected) in [
            ("none", Ok(false)),
            ("otel", Ok(true)),
            ("otel=http://localhost:4444/custom/traces", Ok(true)),
            ("otel=https://localhost,proto=grpc", Ok(true)),
            ("otel=https://localhost,header.Authorization=token a,header.other=test", Ok(true)),
            ("", Err("invalid traces output \"\"")),
            ("jaeger=http://a", Err("invalid traces output \"jaeger\"")),
            ("otel=tcp://a:1", Err("couldn't parse the otel URL: invalid URL scheme: \"tcp\"")),
            ("otel=http://a,proto=udp", Err("couldn't parse the otel proto: invalid protocol: \"udp\"")),
            ("otel=http://a/b,proto=grpc", Err("grpc protocol does not support URL path")),
            ("otel=http://a,b=c", Err("unknown otel config key b")),
        ] {
            assert_eq!(is_wanted(line), expected.map_err(str::to_owned), "{line}");
        }
    }
}
