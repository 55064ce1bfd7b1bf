//! What is swept beside plans: addresses, wrk scripts, k6 scripts, JMeter plans.

use super::Trial;

#[test]
fn an_address_gets_messages_as_bodies() {
    let trial = Trial::new();
    trial.write("größe.xml", "<groß>ß</groß>");
    let url = format!("{}/orders", trial.peer.url());
    let swept = trial.demand(&[&url, "--users=2", "--payload=20,@größe.xml"]);
    assert_eq!(swept.column("Message Size (Bytes)"), ["20", "17"]);
    assert_eq!(swept.column("Label"), ["POST /orders", "POST /orders"]);
    let sent = trial.received();
    assert!(
        sent.contains("\r\n\r\n{\"payload\":\"abcdef\"}") && sent.contains("<groß>ß</groß>"),
        "{sent:.600}"
    );
    assert!(swept.json("users-2_payload-20B.prony.json")["plan"]["name"].as_str().unwrap().ends_with("20B"));
}

#[test]
fn a_wrk_script_sees_the_message_as_its_body() {
    let trial = Trial::new();
    trial.write("w.lua", "wrk.headers['X-From'] = 'script'\n");
    let swept = trial.demand(&["w.lua", &trial.peer.url(), "--users=1,2", "--payload=33"]);
    assert_eq!(swept.column("Concurrent Users"), ["1", "2"]);
    let sent = trial.received();
    assert!(sent.contains("POST / ") && sent.contains("Content-Length: 33\r\n"), "{sent:.600}");
    assert!(sent.contains("X-From: script\r\n"), "{sent:.600}");
}

#[test]
fn a_k6_script_reads_message_and_settings_from_its_environment() {
    let trial = Trial::new();
    trial.write(
        "s.js",
        &format!(
            "import http from 'k6/http';\nconst file = open(__ENV.PAYLOAD_FILE);\n\
             export default function () {{\n\
             http.post('{}/' + __ENV.CITY + '/' + __ENV.PAYLOAD_BYTES + '/' + (file === __ENV.PAYLOAD), __ENV.PAYLOAD,\n\
             {{ tags: {{ name: 'post' }} }});\n}}\n",
            trial.peer.url()
        ),
    );
    let swept = trial.demand(&["s.js", "--users=1", "--payload=40", "--set=CITY=Oslo,Bergen"]);
    assert_eq!(swept.column("CITY"), ["Oslo", "Bergen"]);
    let sent = trial.received();
    assert!(sent.contains("POST /Oslo/40/true ") && sent.contains("POST /Bergen/40/true "), "{sent:.600}");
    assert!(sent.contains("Content-Length: 40\r\n"), "{sent:.600}");
}

#[test]
fn a_jmeter_plan_reads_the_message_from_the_file_that_its_property_names() {
    let trial = Trial::new();
    let port = trial.peer.address().port();
    trial.write("p.jmx", &JMX.replace("PORT", &port.to_string()));
    let swept = trial.demand(&["p.jmx", "--users=2,1", "--payload=50", "--set=path=a,b"]);
    assert_eq!(swept.column("Label"), ["post it"; 4]);
    assert_eq!(swept.column("path"), ["a", "b", "a", "b"]);
    let sent = trial.received();
    assert!(sent.contains("POST /a ") && sent.contains("POST /b "), "{sent:.600}");
    assert!(sent.contains("Content-Length: 50\r\n") && sent.contains("{\"payload\":\"abc"), "{sent:.600}");
    let unread = trial.sweep(&["p.jmx", "--users=1", "--set=colour=red"]);
    assert_eq!(unread.code, Some(2));
    assert!(unread.error.contains("never reads `colour`"), "{}", unread.error);
}

/// As JMeter 5.6.3 saves it.
const JMX: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<jmeterTestPlan version="1.2" properties="5.0" jmeter="5.6.3">
<hashTree>
<TestPlan guiclass="TestPlanGui" testclass="TestPlan" testname="Gateway" enabled="true"/>
<hashTree>
<ThreadGroup guiclass="ThreadGroupGui" testclass="ThreadGroup" testname="Group" enabled="true">
<stringProp name="ThreadGroup.num_threads">7</stringProp>
<stringProp name="ThreadGroup.ramp_time">0</stringProp>
<elementProp name="ThreadGroup.main_controller" elementType="LoopController">
<intProp name="LoopController.loops">-1</intProp>
<boolProp name="LoopController.continue_forever">false</boolProp>
</elementProp>
<boolProp name="ThreadGroup.scheduler">true</boolProp>
<stringProp name="ThreadGroup.duration">1</stringProp>
</ThreadGroup>
<hashTree>
<HTTPSamplerProxy guiclass="HttpTestSampleGui" testclass="HTTPSamplerProxy" testname="post it" enabled="true">
<boolProp name="HTTPSampler.postBodyRaw">true</boolProp>
<elementProp name="HTTPsampler.Arguments" elementType="Arguments">
<collectionProp name="Arguments.arguments">
<elementProp name="" elementType="HTTPArgument">
<boolProp name="HTTPArgument.always_encode">false</boolProp>
<stringProp name="Argument.value">${__FileToString(${__P(payload)},,)}</stringProp>
<stringProp name="Argument.metadata">=</stringProp>
</elementProp>
</collectionProp>
</elementProp>
<stringProp name="HTTPSampler.domain">127.0.0.1</stringProp>
<stringProp name="HTTPSampler.port">PORT</stringProp>
<stringProp name="HTTPSampler.protocol">http</stringProp>
<stringProp name="HTTPSampler.path">/${__P(path)}</stringProp>
<stringProp name="HTTPSampler.method">POST</stringProp>
<boolProp name="HTTPSampler.use_keepalive">true</boolProp>
</HTTPSamplerProxy>
<hashTree/>
</hashTree>
</hashTree>
</hashTree>
</jmeterTestPlan>
"#;
